#include "coterie/mtmkl/outer_loop.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "coterie/mtmkl/evaluator.hpp"
#include "coterie/mtmkl/theta_step.hpp"

namespace coterie {

namespace {

class PartSolver {
 public:
  PartSolver(const MtmklProblem& problem, const Part& part, const FitSettings& settings,
             double floor, Workspace& workspace)
      : problem_(problem),
        part_(part),
        settings_(settings),
        floor_(floor),
        penalty_(part.graph.empty() ? 0 : problem.lambda),
        svms_(problem, part.tasks, part.unit, settings, workspace) {
    kappa_.resize(std::ssize(part.graph));
    for (std::size_t i = 0; i < part.graph.size(); ++i)
      kappa_[static_cast<Index>(i)] = penalty_ * part.graph[i].weight;
  }

  const Evaluator& svms() const { return svms_; }
  Vector admit(std::size_t k, const Vector& alpha) { return svms_.admit(k, alpha); }

  Iterate evaluate(Matrix theta, Groups groups, const std::vector<Vector>& start,
                   double svm_tolerance) {
    std::vector<TaskState> states = svms_.evaluate(theta, start, svm_tolerance);
    return gather(std::move(theta), std::move(groups), std::move(states));
  }

  Iterate resume(Matrix theta, const std::vector<Vector>& start, double svm_tolerance) {
    std::vector<TaskState> states = svms_.resume(theta, start, svm_tolerance);
    return gather(std::move(theta), singletons(), std::move(states));
  }

  void remember(const Iterate& x) { svms_.remember(x.theta, x.tasks); }

  // The losses of the samples left out; with them the primal value is that of the whole problem.
  void count_left_out(Iterate& x, TaskSvm::Outside who = TaskSvm::Outside::all) {
    x.left_out = svms_.count_left_out(x.tasks, who);
  }

  bool grow(Iterate& x) { return svms_.grow(x.tasks); }

  // dual(alpha, nu), (5).
  double dual(const Iterate& x, const Matrix& nu) const {
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

  // The part of the gap that comes from inexact SVMs.
  double svm_gap(const Iterate& x) const {
    double sum = 0;
    for (const TaskState& task : x.tasks) sum += task.svm.primal - task.svm.dual;
    return sum;
  }

  double target(double primal) const {
    return settings_.gap_tolerance * std::max(floor_, std::abs(primal));
  }

  const Vector& kappa() const { return kappa_; }
  Index theta_iterations = 0;

  void restore(const Iterate& x) { svms_.restore(x.theta); }
  void add_curvatures(Iterate& x) { svms_.add_curvatures(x.tasks); }

  // The quadratic model around x with mu I added to the Hessians: solve it for new weights and pair duals.
  ThetaResult theta_step(Iterate& x, double mu, ThetaState& state, const ThetaSettings& limits) {
    const Index M = problem_.M();
    if (settings_.solver == Solver::newton) add_curvatures(x);
    std::vector<Matrix> B(static_cast<std::size_t>(part_.units), mu * Matrix::Identity(M, M));
    if (settings_.solver == Solver::newton)
      for (std::size_t k = 0; k < x.tasks.size(); ++k)
        B[static_cast<std::size_t>(part_.unit[k])] += x.tasks[k].H;
    Matrix c = x.g;
    for (Index u = 0; u < part_.units; ++u)
      c.row(u) -= x.theta.row(u) * B[static_cast<std::size_t>(u)];
    ThetaResult step = solve_theta({c, B, part_.graph, kappa_, problem_.weights}, state, limits);
    theta_iterations += step.iterations;
    return step;
  }

  // How much the model falls from x to theta.
  double predicted_decrease(const Iterate& x, const Matrix& theta, double mu) const {
    const Matrix d = theta - x.theta;
    double change = x.g.cwiseProduct(d).sum() + 0.5 * mu * d.squaredNorm();
    for (std::size_t k = 0; k < x.tasks.size(); ++k) {
      const Vector d_u = d.row(part_.unit[k]);
      change += 0.5 * d_u.dot(x.tasks[k].H * d_u);
    }
    if (penalty_ > 0)
      change += penalty_ *
                (pairwise_distance(part_.graph, theta) - pairwise_distance(part_.graph, x.theta));
    return -change;
  }

  std::vector<Vector> alphas(const Iterate& x) const { return svms_.alphas(x.tasks); }
  // Predicted for other weights.
  std::vector<Vector> alphas_at(const Iterate& x, const Matrix& theta) const {
    return svms_.alphas_after(x.tasks, theta - x.theta);
  }

  Groups singletons() const {
    Groups groups;
    for (Index u = 0; u < part_.units; ++u) groups.push_back({u});
    return groups;
  }

 private:
  Iterate gather(Matrix theta, Groups groups, std::vector<TaskState> states) const {
    Iterate x;
    x.theta = std::move(theta);
    x.groups = std::move(groups);
    x.tasks = std::move(states);
    x.primal = penalty_ > 0 ? penalty_ * pairwise_distance(part_.graph, x.theta) : 0;
    x.g = Matrix::Zero(part_.units, problem_.M());
    for (std::size_t k = 0; k < x.tasks.size(); ++k) {  // in task order, whatever the threads
      x.primal += x.tasks[k].svm.primal;
      x.g.row(part_.unit[k]) += x.tasks[k].g;
    }
    return x;
  }

  const MtmklProblem& problem_;
  const Part& part_;
  const FitSettings& settings_;
  double floor_;  // the share of this part in the max(1, .) of the stopping rule
  double penalty_;
  Vector kappa_;
  Evaluator svms_;
};

// x + length (next - x), equal bit for bit within every group.
Matrix between(const Matrix& x, const Matrix& next, double length, const Groups& groups) {
  Matrix theta = length == 1 ? next : Matrix(x + length * (next - x));
  for (const std::vector<Index>& group : groups)
    for (const Index u : group) theta.row(u) = theta.row(group.front());
  return theta;
}

// Theta steps on large graphs cost more than SVMs: they are solved less closely.
bool is_large(const Part& part) { return part.graph.size() > 10'000; }

// The share of the user's gap to which a theta step is solved that decides which edges are fused.
double closeness_of_groups(const Part& part) { return is_large(part) ? 1e-2 : 1e-3; }

// At a gap that satisfies the user the theta step may not yet have decided which edges are fused. One more step, solved much
// closer than the gap asks (it needs no SVM), decides that. It is kept if the gap stays as small.
void settle_groups(PartSolver& solver, const Part& part, double mu, double svm_tolerance,
                   const std::function<bool(Phase)>& enter, ThetaState& state, PartResult& result) {
  enter(Phase::theta_step);
  const double target = solver.target(result.x.primal);
  const double work =
      static_cast<double>(state.nu.size() + 1);  // numbers that an iteration touches
  const ThetaSettings limits{
      .gap_tolerance = closeness_of_groups(part) * target,
      .enough = target,
      .max_iterations = std::clamp<Index>(static_cast<Index>(2e8 / work), 50, 20'000),
      .keep_going = [&] { return enter(Phase::theta_step); }};
  const ThetaResult next = solver.theta_step(result.x, mu, state, limits);
  enter(Phase::svms);
  if (next.groups == result.x.groups) return;
  Iterate y = solver.evaluate(between(result.x.theta, next.theta, 1, next.groups), next.groups,
                              solver.alphas(result.x), svm_tolerance);
  const double dual = solver.dual(y, next.nu);
  if (y.primal - dual > solver.target(y.primal)) {
    solver.restore(result.x);
    return;
  }
  result.x = std::move(y);
  result.nu = next.nu;
  result.dual = dual;
}

// Weights that differ by rounding and by what the gap leaves open are meant to be equal: they are made so where the gap stays as small.
// `equality` is how far apart they may be, of weights between 0 and 1.
void fuse_equal_tasks(PartSolver& solver, const Part& part, double equality, double mu,
                      double svm_tolerance, ThetaState& state, PartResult& result) {
  const Matrix& theta = result.x.theta;
  std::vector<Index> group(static_cast<std::size_t>(part.units));
  for (std::size_t g = 0; g < result.x.groups.size(); ++g)
    for (const Index u : result.x.groups[g])
      group[static_cast<std::size_t>(u)] = static_cast<Index>(g);
  std::vector<bool> joined;
  bool any = false;
  for (const Edge& edge : part.graph) {
    const bool together =
        group[static_cast<std::size_t>(edge.t)] == group[static_cast<std::size_t>(edge.s)];
    const bool equal = (theta.row(edge.t) - theta.row(edge.s)).cwiseAbs().maxCoeff() <= equality;
    any = any || (equal && !together);
    joined.push_back(equal || together);
  }
  if (!any) return;
  const Groups groups = connected_parts(part.units, part.graph, joined);
  Matrix merged = mean_of_groups(theta, groups);
  for (int trial = 0; trial < 3; ++trial) {
    // SVMs closer than before, and pair duals that belong to them: neither's own gap must decide.
    Iterate y = solver.evaluate(merged, groups, solver.alphas(result.x),
                                std::max(1e-12, 0.01 * svm_tolerance));
    const double target = solver.target(y.primal);
    const ThetaResult next = solver.theta_step(
        y, mu, state, {.gap_tolerance = closeness_of_groups(part) * target, .enough = target});
    const double dual = solver.dual(y, next.nu);
    if (y.primal - dual <= target) {
      result.x = std::move(y);
      result.nu = next.nu;
      result.dual = dual;
      return;
    }
    merged = mean_of_groups(next.theta, groups);  // the mean may be off the face of the optimum
  }
  solver.restore(result.x);
}

}  // namespace

std::vector<Part> split_into_parts(const MtmklProblem& problem) {
  std::vector<bool> joined;
  for (const Edge& edge : problem.graph) joined.push_back(problem.lambda > 0 && edge.weight > 0);
  const Groups groups = connected_parts(problem.T(), problem.graph, joined);
  std::vector<Part> parts;
  std::vector<std::pair<std::size_t, Index>> place(
      static_cast<std::size_t>(problem.T()));  // part, position within it
  const bool common = std::isinf(problem.lambda);
  for (const std::vector<Index>& tasks : groups) {
    Part part;
    part.tasks = tasks;
    part.units = common ? 1 : std::ssize(tasks);
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      part.unit.push_back(common ? 0 : static_cast<Index>(k));
      place[static_cast<std::size_t>(tasks[k])] = {parts.size(), static_cast<Index>(k)};
    }
    parts.push_back(std::move(part));
  }
  if (common) return parts;
  for (std::size_t i = 0; i < problem.graph.size(); ++i) {
    if (!joined[i]) continue;
    const Edge& edge = problem.graph[i];
    const auto [p, t] = place[static_cast<std::size_t>(edge.t)];
    parts[p].edges.push_back(static_cast<Index>(i));
    parts[p].graph.push_back({t, place[static_cast<std::size_t>(edge.s)].second, edge.weight});
  }
  return parts;
}

PartResult solve_part(const MtmklProblem& problem, const Part& part, const FitSettings& settings,
                      double floor, const ProgressCallback& progress, Progress report,
                      const WarmStart& start, Workspace& workspace) {
  PartSolver solver(problem, part, settings, floor, workspace);
  const Index M = problem.M();
  const bool newton = settings.solver == Solver::newton;
  Matrix theta(part.units, M);
  std::vector<Vector> alpha(part.tasks.size());
  Matrix nu = Matrix::Zero(std::ssize(part.graph), M);
  theta.rowwise() = problem.weights.uniform(M).transpose();
  for (std::size_t k = 0; k < part.tasks.size(); ++k) {
    const Index t = part.tasks[k];
    if (start.theta.rows() == problem.T()) theta.row(part.unit[k]) = start.theta.row(t);
    if (std::ssize(start.alpha) == problem.T())
      alpha[k] = solver.admit(k, start.alpha[static_cast<std::size_t>(t)]);
  }
  if (start.nu.rows() == std::ssize(problem.graph))
    for (std::size_t i = 0; i < part.edges.size(); ++i)
      nu.row(static_cast<Index>(i)) = start.nu.row(part.edges[i]);
  for (Index i = 0; i < nu.rows(); ++i) {  // those of a larger lambda are cut to their balls
    const double norm = nu.row(i).norm();
    if (norm > solver.kappa()[i]) nu.row(i) *= solver.kappa()[i] / norm;
  }

  const auto keep_going = [&] { return !progress || progress(report); };
  const auto enter = [&](Phase phase) {
    report.phase = phase;
    return keep_going();
  };
  const double closest = 0.1 * settings.gap_tolerance;
  double svm_tolerance = newton ? std::max(closest, 1e-2) : closest;
  double sharpening = 1;
  enter(Phase::svms);
  PartResult result;
  result.x = solver.resume(theta, alpha, svm_tolerance);
  ThetaState state{theta, theta, Matrix::Zero(part.units, M), nu, 0};
  double mu = 0;
  if (newton) solver.add_curvatures(result.x);
  for (std::size_t k = 0; newton && k < part.tasks.size(); ++k)
    mu = std::max(mu, 1e-6 * result.x.tasks[k].H.trace() / static_cast<double>(M));
  mu = std::max(mu, 1e-6 * result.x.g.cwiseAbs().maxCoeff());
  if (!newton) mu = 0;

  std::vector<Matrix> visited;  // by the published algorithm
  int failures = 0;
  double best_gap = std::numeric_limits<double>::infinity();
  double check_at = std::max(0.5 * std::abs(result.x.primal), solver.target(result.x.primal));
  bool grew = false;     // samples joined after x was evaluated
  bool settled = false;  // the groups, by the last theta step
  const double closeness = is_large(part) ? 0.05 : 0.003;
  bool far = !solver.svms().knows_outside();  // from knowing which samples matter
  for (Index step = 0;; ++step) {
    Iterate& x = result.x;
    result.dual = solver.dual(x, nu);
    double gap = x.primal - result.dual;
    // When most of the gap is the SVMs' own, a theta step cannot help: solve them closer.
    while (solver.svm_gap(x) > 0.5 * gap && gap > 0.5 * solver.target(x.primal) &&
           svm_tolerance > closest) {
      enter(Phase::svms);
      svm_tolerance = std::max(closest, 0.1 * svm_tolerance);
      x = solver.evaluate(x.theta, x.groups, solver.alphas(x), svm_tolerance);
      result.dual = solver.dual(x, nu);
      gap = x.primal - result.dual;
    }
    // Close enough on the samples that take part: what do the others say?
    bool done = false;
    grew = false;
    if (gap <= check_at) {
      enter(Phase::svms);
      const double target = solver.target(x.primal);
      const bool close = gap <= target;
      if (close && newton && !settled && !part.graph.empty()) {
        result.nu = nu;
        settle_groups(solver, part, mu, svm_tolerance, enter, state, result);
        nu = result.nu;
      }
      if (close && newton && !part.graph.empty()) {
        result.nu = nu;
        for (const double equality : {1e-4, 1e-6})
          if (equality == 1e-6 || settings.gap_tolerance <= 1e-6)
            fuse_equal_tasks(solver, part, equality, mu, svm_tolerance, state, result);
        nu = result.nu;
      }
      gap = x.primal - result.dual;
      solver.count_left_out(x, close || far ? TaskSvm::Outside::all : TaskSvm::Outside::near);
      far = x.left_out > 0.1 * std::abs(x.primal);
      done = close && gap + x.left_out <= target;
      check_at = std::max((solver.svms().has_all() ? 1 : 0.7) * target, 0.5 * x.left_out);
      grew = !done && solver.grow(x);
    }
    result.outer_steps = step;
    best_gap = std::min(best_gap, gap);
    report.outer_step = step;
    report.primal = x.primal + x.left_out;
    report.dual = result.dual;
    report.gap = (gap + x.left_out) / std::max(1.0, std::abs(x.primal));
    report.groups = std::ssize(x.groups);
    const bool go_on = enter(Phase::proof);
    if (done || !go_on || step >= settings.max_outer_steps) {
      result.status = done ? Status::converged : !go_on ? Status::stopped : Status::step_limit;
      break;
    }
    // After a step that led nowhere the model is solved closer; near the end, where the next step may be the last, so close that it
    // decides which edges are fused.
    const double target = solver.target(x.primal);
    const bool last = newton && gap <= 30 * target;
    double inner_tolerance = std::min(0.1 * gap, 0.2 * target);
    if (newton) inner_tolerance = std::min(0.1 * gap, std::max(closeness * gap, 0.2 * target));
    inner_tolerance *= std::pow(0.1, failures);
    const double enough = inner_tolerance;
    if (last) inner_tolerance = std::min(inner_tolerance, closeness_of_groups(part) * target);
    if (!enter(Phase::theta_step)) {
      result.status = Status::stopped;
      break;
    }

    svm_tolerance = std::clamp(0.01 * gap / std::max(floor, std::abs(x.primal)), closest, 1e-2);
    if (!newton) svm_tolerance = closest;
    svm_tolerance = std::max(1e-12, sharpening * svm_tolerance);
    ThetaResult next = solver.theta_step(x, mu, state,
                                         {.gap_tolerance = inner_tolerance,
                                          .enough = enough,
                                          .groups = !newton || last,
                                          .keep_going = keep_going});
    if (!enter(Phase::svms)) {
      result.status = Status::stopped;
      break;
    }
    if (!newton) {  // the published algorithm takes the step as it is, even to where it has been
      for (std::size_t back = 1; back <= visited.size() && result.cycle == 0; ++back)
        if ((next.theta - visited[visited.size() - back]).cwiseAbs().maxCoeff() < 1e-6 && back > 1)
          result.cycle = static_cast<Index>(back);
      visited.push_back(next.theta);
      x = solver.evaluate(next.theta, next.groups, solver.alphas(x), svm_tolerance);
      nu = next.nu;
      continue;
    }
    const double predicted = solver.predicted_decrease(x, next.theta, mu);
    // The step is taken if the objective falls as far as the model promises, if the proof is closer by half than ever before, or if
    // samples joined, so that there is nothing to compare with.
    double length = 1;
    bool accepted = false;
    Iterate y;
    for (int trial = 0; trial < 3 && !accepted; ++trial) {
      const Groups groups =
          length == 1 ? next.groups : common_refinement(part.units, x.groups, next.groups);
      const Matrix theta_there = between(x.theta, next.theta, length, groups);
      y = solver.evaluate(theta_there, groups, solver.alphas_at(x, theta_there), svm_tolerance);
      const double actual = x.primal - y.primal;
      const double gap_there = y.primal - solver.dual(y, next.nu);
      accepted = (actual >= 1e-3 * length * predicted && actual > 1e-14 * std::abs(x.primal)) ||
                 gap_there <= 0.5 * best_gap || grew;
      if (!accepted) {
        length *= std::clamp(0.5 * predicted / std::max(1e-300, predicted - actual), 0.1, 0.5);
        continue;
      }
      if (grew) {
        best_gap = gap_there;
        break;
      }
      const double ratio = predicted > 0 ? actual / predicted : 1;
      if (length < 1 || ratio < 0.2)
        mu *= 4;
      else if (ratio > 0.7)
        mu *= 0.1;
    }
    nu = next.nu;
    if (accepted) {
      x = std::move(y);
      settled = last && length == 1 && (is_large(part) || next.gap <= inner_tolerance);
      failures = 0;
      continue;
    }
    solver.restore(x);
    // A longer model step was wrong: stay, with the better pair duals, and ask for a shorter one from sharper SVMs.
    const bool closer = x.primal - solver.dual(x, nu) <= 0.9 * gap;
    failures = closer ? 0 : failures + 1;
    if (!closer) mu = std::max(mu * 10, 1e-10);
    sharpening *= 0.1;
    if (failures > 8) {
      result.status = Status::stalled;
      result.dual = solver.dual(x, nu);
      break;
    }
  }
  result.nu = nu;
  if (result.status != Status::converged) {
    if (grew) {
      result.x =
          solver.evaluate(result.x.theta, result.x.groups, solver.alphas(result.x), svm_tolerance);
      result.dual = solver.dual(result.x, nu);
    }
    solver.restore(result.x);
    solver.count_left_out(result.x);
  }
  solver.remember(result.x);
  result.x.primal += result.x.left_out;
  for (std::size_t k = 0; k < part.tasks.size(); ++k)
    result.alpha.push_back(solver.svms().all_alpha(result.x.tasks, k));
  result.svm_solves = solver.svms().svm_solves;
  result.theta_iterations = solver.theta_iterations;
  return result;
}

}  // namespace coterie
