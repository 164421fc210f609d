#include "coterie/mtmkl/part_solver.hpp"

#include <algorithm>
#include <utility>

namespace coterie {

PartSolver::PartSolver(const MtmklProblem& problem, const Part& part, const FitSettings& settings,
                       Workspace& workspace, KeepGoing keep_going)
    : problem_(problem),
      part_(part),
      settings_(settings),
      penalty_(part.graph.empty() ? 0 : problem.lambda),
      svms_(problem, part.tasks, part.unit, settings, workspace, std::move(keep_going)) {
  kappa_.resize(std::ssize(part.graph));
  for (std::size_t i = 0; i < part.graph.size(); ++i)
    kappa_[static_cast<Index>(i)] = penalty_ * part.graph[i].weight;
}

Iterate PartSolver::evaluate(Matrix theta, Groups groups, const std::vector<Vector>& start,
                             double svm_tolerance) {
  std::vector<TaskState> states = svms_.evaluate(theta, start, svm_tolerance);
  return gather(std::move(theta), std::move(groups), std::move(states));
}

Iterate PartSolver::resume(Matrix theta, const std::vector<Vector>& start, double svm_tolerance) {
  std::vector<TaskState> states = svms_.resume(theta, start, svm_tolerance);
  return gather(std::move(theta), singletons(), std::move(states));
}

void PartSolver::count_left_out(Iterate& x, TaskSvm::Outside who) {
  x.left_out = svms_.count_left_out(x.tasks, who);
  x.counted = who == TaskSvm::Outside::all || svms_.has_all();
}

double PartSolver::dual(const Iterate& x, const Matrix& nu) const {
  Matrix c = x.g;
  for (std::size_t i = 0; i < part_.graph.size(); ++i) {
    c.row(part_.graph[i].t) += nu.row(static_cast<Index>(i));
    c.row(part_.graph[i].s) -= nu.row(static_cast<Index>(i));
  }
  double sum = 0;
  for (const TaskState& task : x.tasks) sum += task.svm.alpha.sum();
  for (Index u = 0; u < part_.units; ++u) sum += problem_.weights.smallest(c.row(u).transpose());
  return sum;
}

double PartSolver::svm_gap(const Iterate& x) const {
  double sum = 0;
  for (const TaskState& task : x.tasks) sum += task.svm.primal - task.svm.dual;
  return sum;
}

double PartSolver::ridge_cost(const Iterate& x) const {
  double sum = 0;
  for (std::size_t k = 0; k < x.tasks.size(); ++k)
    sum += 0.5 * svms_.ridges()[static_cast<Index>(k)] * x.tasks[k].svm.alpha.squaredNorm();
  return sum;
}

PartProof PartSolver::rounded_proof(const Iterate& x, const Matrix& nu) const {
  return joined(svms_.rounded_proofs(x.theta, x.tasks), x, nu);
}

PartProof PartSolver::careful_proof(const Iterate& x, const Matrix& nu) const {
  return joined(svms_.careful_proofs(x.theta, x.tasks), x, nu);
}

std::vector<Matrix> PartSolver::curvatures(Iterate& x, double mu) {
  const Index M = problem_.M();
  std::vector<Matrix> B(static_cast<std::size_t>(part_.units), mu * Matrix::Identity(M, M));
  if (settings_.solver != Solver::newton) return B;
  svms_.add_curvatures(x.tasks);
  for (std::size_t k = 0; k < x.tasks.size(); ++k)
    B[static_cast<std::size_t>(part_.unit[k])] += x.tasks[k].H;
  return B;
}

ThetaResult PartSolver::theta_step(const Iterate& x, const std::vector<Matrix>& B,
                                   ThetaState& state, const ThetaSettings& limits) {
  Matrix c = x.g;
  for (Index u = 0; u < part_.units; ++u)
    c.row(u) -= x.theta.row(u) * B[static_cast<std::size_t>(u)];
  ThetaResult step = solve_theta({c, B, part_.graph, kappa_, problem_.weights}, state, limits);
  pull_inside(step.nu, kappa_);
  put_inside(step.theta, problem_.weights);
  theta_iterations += step.iterations;
  return step;
}

double PartSolver::predicted_decrease(const Iterate& x, const std::vector<Matrix>& B,
                                      const Matrix& theta) const {
  const Matrix d = theta - x.theta;
  double change = x.g.cwiseProduct(d).sum();
  for (Index u = 0; u < part_.units; ++u)
    change += 0.5 * d.row(u).dot(d.row(u) * B[static_cast<std::size_t>(u)]);
  return x.penalty - penalty_at(theta) - change;
}

double PartSolver::penalty_at(const Matrix& theta) const {
  return penalty_ > 0 ? penalty_ * pairwise_distance(part_.graph, theta) : 0;
}

double PartSolver::least_curvature(Iterate& x) {
  svms_.add_curvatures(x.tasks);
  double mu = 1e-6 * x.g.cwiseAbs().maxCoeff();
  for (const TaskState& task : x.tasks)
    mu = std::max(mu, 1e-6 * task.H.trace() / static_cast<double>(problem_.M()));
  return mu;
}

void PartSolver::set_ridges(const Iterate& x, double share) {
  Vector ridge(std::ssize(x.tasks));
  for (std::size_t k = 0; k < x.tasks.size(); ++k) {
    const double cost = x.tasks[k].svm.alpha.dot(svms_.costs(k));
    ridge[static_cast<Index>(k)] = cost > 0 ? share * x.tasks[k].svm.plain / cost : 0;
  }
  svms_.set_ridges(std::move(ridge));
}

Groups PartSolver::singletons() const {
  Groups groups;
  for (Index u = 0; u < part_.units; ++u) groups.push_back({u});
  return groups;
}

Groups PartSolver::equal_weights(const Matrix& theta) const {
  std::vector<bool> equal;
  for (const Edge& edge : part_.graph) equal.push_back(theta.row(edge.t) == theta.row(edge.s));
  return connected_parts(part_.units, part_.graph, equal);
}

PartProof PartSolver::joined(const std::vector<TaskProof>& tasks, const Iterate& x,
                             const Matrix& nu) const {
  PartProof proof{
      join_proofs(tasks, part_.unit, x.theta, {part_.graph, kappa_, none_, problem_.weights}, nu),
      Vector(std::ssize(tasks))};
  for (std::size_t k = 0; k < tasks.size(); ++k)
    proof.objective[static_cast<Index>(k)] = tasks[k].primal;
  return proof;
}

Iterate PartSolver::gather(Matrix theta, Groups groups, std::vector<TaskState> states) const {
  Iterate x;
  x.theta = std::move(theta);
  x.groups = std::move(groups);
  x.tasks = std::move(states);
  x.primal = x.plain = x.penalty = penalty_at(x.theta);
  x.counted = svms_.has_all();
  x.g = Matrix::Zero(part_.units, problem_.M());
  for (std::size_t k = 0; k < x.tasks.size(); ++k) {  // in task order, whatever the threads
    x.primal += x.tasks[k].svm.primal;
    x.plain += x.tasks[k].svm.plain;
    x.g.row(part_.unit[k]) += x.tasks[k].g;
  }
  return x;
}

}  // namespace coterie
