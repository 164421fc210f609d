#include "coterie/mtmkl/evaluator.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "coterie/math/parallel.hpp"

namespace coterie {

Evaluator::Evaluator(const MtmklProblem& problem, std::vector<Index> tasks, std::vector<Index> row,
                     const FitSettings& settings, Workspace& workspace, KeepGoing keep_going)
    : problem_(problem),
      tasks_(std::move(tasks)),
      row_(std::move(row)),
      threads_(settings.threads),
      whole_(settings.solver != Solver::newton),
      workspace_(workspace),
      keep_going_(std::move(keep_going)),
      tau_(Vector::Zero(std::ssize(tasks_))) {
  double area = 0;
  for (const Vector& y : problem.y) area += static_cast<double>(y.size() * y.size());
  // The kernels of free support vectors that wait for their curvature, of the two points that a step compares, have a quarter.
  double waiting = 0;
  for (const Vector& y : problem.y) {
    const double size = static_cast<double>(std::min(kKept, y.size()));
    waiting += 2 * sizeof(double) * size * size;
  }
  kept_ = waiting <= 0.25 * settings.memory ? kKept : 0;
  const double memory = kept_ > 0 ? 0.75 * settings.memory : settings.memory;
  svms_.resize(tasks_.size());
  parallel_for(std::ssize(svms_), threads_, [&](Index k) {
    const std::size_t i = static_cast<std::size_t>(tasks_[static_cast<std::size_t>(k)]);
    const Index n = problem.y[i].size();
    std::unique_ptr<TaskSvm>& svm = workspace.tasks[i];
    if (svm)
      svm->set_costs(problem.C[i]);
    else
      svm = std::make_unique<TaskSvm>(problem.grams[i], problem.y[i], Vector::Ones(n), problem.C[i],
                                      kWhole, memory * static_cast<double>(n * n) / area);
    svms_[static_cast<std::size_t>(k)] = svm.get();
  });
  watch(keep_going_);
}

Evaluator::~Evaluator() { watch({}); }

void Evaluator::watch(const KeepGoing& keep_going) {
  keep_going_ = keep_going;
  for (TaskSvm* svm : svms_) svm->gram().watch(keep_going);
}

MixedGram& Evaluator::gram_at(const Matrix& theta, std::size_t k) {
  MixedGram& gram = svms_[k]->gram();
  gram.set_weights(theta.row(row_[k]));
  return gram;
}

void Evaluator::discard() {
  svms_.clear();
  for (const Index t : tasks_) {
    workspace_.tasks[static_cast<std::size_t>(t)].reset();
    workspace_.last[static_cast<std::size_t>(t)] = {};
  }
}

Vector Evaluator::admit(std::size_t k, const Vector& alpha) {
  if (whole_) svms_[k]->take_all();
  return svms_[k]->admit(alpha);
}

template <typename AtTask>
std::vector<TaskState> Evaluator::gather(const AtTask& at_task) {
  std::vector<TaskState> states(svms_.size());
  parallel_for(std::ssize(svms_), threads_, [&](Index k) {
    const std::size_t i = static_cast<std::size_t>(k);
    states[i] = at_task(i);
  });
  svm_solves += std::ssize(svms_);
  return states;
}

std::vector<TaskState> Evaluator::evaluate(const Matrix& theta, const std::vector<Vector>& start,
                                           double svm_tolerance) {
  return gather([&](std::size_t i) {
    return evaluate_task(*svms_[i], theta.row(row_[i]).transpose(), start[i], svm_tolerance,
                         *workspace_.rows, kept_, tau_[static_cast<Index>(i)], keep_going_);
  });
}

std::vector<TaskState> Evaluator::resume(const Matrix& theta, const std::vector<Vector>& start,
                                         double svm_tolerance) {
  std::vector<char> resumed(svms_.size());
  std::vector<TaskState> states = gather([&](std::size_t i) {
    const std::size_t t = static_cast<std::size_t>(tasks_[i]);
    if (whole_) svms_[i]->take_all();
    const Vector theta_i = theta.row(row_[i]);
    Workspace::Last& last = workspace_.last[t];
    const bool same = last.theta.size() == theta_i.size() && last.theta == theta_i &&
                      last.C == problem_.C[t] && last.state.svm.alpha.size() == start[i].size() &&
                      last.state.svm.alpha == start[i];
    resumed[i] = same ? 1 : 0;
    if (same) svms_[i]->gram().set_weights(theta_i);
    return same ? std::exchange(last, {}).state
                : evaluate_task(*svms_[i], theta_i, start[i], svm_tolerance, *workspace_.rows,
                                kept_, 0, keep_going_);
  });
  svm_solves -= std::count(resumed.begin(), resumed.end(), 1);
  return states;
}

void Evaluator::remember(const Matrix& theta, const std::vector<TaskState>& states) {
  for (std::size_t k = 0; k < svms_.size(); ++k) {
    const std::size_t t = static_cast<std::size_t>(tasks_[k]);
    workspace_.last[t] = {theta.row(row_[k]), problem_.C[t], states[k]};
  }
}

void Evaluator::forget() {
  for (const Index t : tasks_) workspace_.last[static_cast<std::size_t>(t)] = {};
}

void Evaluator::add_curvatures(const Matrix& theta, std::vector<TaskState>& states) {
  parallel_for(std::ssize(svms_), threads_, [&](Index k) {
    const std::size_t i = static_cast<std::size_t>(k);
    if (states[i].has_curvature) return;
    gram_at(theta, i);
    add_curvature(*svms_[i], states[i], *workspace_.rows);
  });
}

void Evaluator::count_left_out(const Matrix& theta, std::vector<TaskState>& states,
                               TaskSvm::Outside who) {
  parallel_for(std::ssize(svms_), threads_, [&](Index k) {
    const std::size_t i = static_cast<std::size_t>(k);
    gram_at(theta, i);
    states[i].left_out = svms_[i]->loss_outside(states[i].svm, who);
  });
}

double Evaluator::work_outside(const std::vector<TaskState>& states) const {
  double work = 0;
  for (std::size_t k = 0; k < svms_.size(); ++k) {
    const TaskGrams& grams = problem_.grams[static_cast<std::size_t>(tasks_[k])];
    work += static_cast<double>(grams.n() - svms_[k]->gram().size()) *
            static_cast<double>(states[k].support.size()) * (grams.source().work() + 20);
  }
  return work;
}

std::vector<TaskProof> Evaluator::rounded_proofs(const Matrix& theta,
                                                 const std::vector<TaskState>& states) const {
  std::vector<TaskProof> proofs;
  for (std::size_t k = 0; k < svms_.size(); ++k)
    proofs.push_back(rounded_proof(problem_.grams[static_cast<std::size_t>(tasks_[k])], *svms_[k],
                                   states[k], theta.row(row_[k]).transpose()));
  return proofs;
}

std::vector<TaskProof> Evaluator::careful_proofs(const Matrix& theta,
                                                 const std::vector<TaskState>& states) const {
  std::vector<TaskProof> proofs(svms_.size());
  parallel_for(std::ssize(svms_), threads_, [&](Index k) {
    const std::size_t i = static_cast<std::size_t>(k);
    const std::size_t t = static_cast<std::size_t>(tasks_[i]);
    proofs[i] = careful_proof(problem_.grams[t], problem_.y[t], problem_.C[t],
                              theta.row(row_[i]).transpose(), all_alpha(states, i),
                              states[i].svm.bias, keep_going_);
  });
  return proofs;
}

bool Evaluator::grow(const Matrix& theta, std::vector<TaskState>& states) {
  if (has_all()) return false;
  add_curvatures(theta, states);
  std::vector<char> grew(svms_.size());
  parallel_for(std::ssize(svms_), threads_, [&](Index k) {
    const std::size_t i = static_cast<std::size_t>(k);
    grew[i] = svms_[i]->grow(states[i].svm) ? 1 : 0;
  });
  return std::count(grew.begin(), grew.end(), 1) > 0;
}

bool Evaluator::has_all() const {
  return std::all_of(svms_.begin(), svms_.end(), [](const TaskSvm* svm) { return svm->has_all(); });
}

bool Evaluator::knows_outside() const {
  return std::all_of(svms_.begin(), svms_.end(),
                     [](const TaskSvm* svm) { return svm->knows_outside(); });
}

std::vector<Vector> Evaluator::alphas(const std::vector<TaskState>& states) const {
  std::vector<Vector> alpha;
  for (const TaskState& state : states) alpha.push_back(state.svm.alpha);
  return alpha;
}

std::vector<Vector> Evaluator::alphas_after(const std::vector<TaskState>& states,
                                            const Matrix& step) const {
  std::vector<Vector> alpha;
  for (std::size_t k = 0; k < svms_.size(); ++k)
    alpha.push_back(predicted_alpha(*svms_[k], states[k], step.row(row_[k]).transpose()));
  return alpha;
}

}  // namespace coterie
