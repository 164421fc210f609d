#include "coterie/baseline/plain.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "coterie/baseline/shared_newton.hpp"
#include "coterie/kernel/single_threaded_blas.hpp"
#include "coterie/mtmkl/evaluator.hpp"

namespace coterie {

Fit fit_uniform(const MtmklProblem& problem, const FitSettings& settings,
                const ProgressCallback& progress, const WarmStart& start, Workspace* workspace) {
  const SingleThreadedBlas guard;
  const Index T = problem.T();
  const Index M = problem.M();
  Workspace own;
  Workspace& room = workspace ? *workspace : own;
  room.tasks.resize(static_cast<std::size_t>(T));
  room.last.resize(static_cast<std::size_t>(T));
  std::vector<Index> all(static_cast<std::size_t>(T));
  std::iota(all.begin(), all.end(), Index{0});
  Evaluator svms(problem, all, all, settings, room);
  Fit fit;
  fit.theta = Matrix::Constant(T, M, 1 / static_cast<double>(M));
  fit.groups = equal_rows(fit.theta);
  fit.nu = Matrix(0, M);
  std::vector<Vector> alpha(all.size());
  if (std::ssize(start.alpha) == T)
    for (std::size_t t = 0; t < alpha.size(); ++t) alpha[t] = svms.admit(t, start.alpha[t]);
  // Half of the gap for the SVMs on the samples that take part, which are asked again with those that turn out to have a loss.
  const double svm_tolerance = std::max(1e-14, 0.5 * settings.gap_tolerance);
  Progress report;
  report.groups = std::ssize(fit.groups);
  const auto enter = [&](Phase phase) {
    report.phase = phase;
    return !progress || progress(report);
  };
  enter(Phase::svms);
  const Vector no_ties;
  const Matrix no_anchors;
  const Ties ties{problem.graph, no_ties, no_anchors, problem.weights, true};
  std::vector<TaskProof> proofs;
  Proof proof;
  std::vector<TaskState> tasks = svms.resume(fit.theta, alpha, svm_tolerance);
  while (true) {
    svms.count_left_out(tasks);
    proofs = svms.rounded_proofs(fit.theta, tasks);
    proof = join_proofs(proofs, all, fit.theta, ties, fit.nu);
    if (proof.error > 0.05 * settings.gap_tolerance * proof.primal) {
      proofs = svms.careful_proofs(fit.theta, tasks);
      proof = join_proofs(proofs, all, fit.theta, ties, fit.nu);
    }
    fit.primal = proof.primal;
    fit.dual = proof.dual;
    fit.gap = proof.gap() / proof.primal;
    fit.bound = proof.error / proof.primal;
    report.outer_step = fit.outer_steps;
    report.primal = fit.primal;
    report.dual = fit.dual;
    report.gap = fit.gap;
    const bool go_on = enter(Phase::proof);
    if (proof.shows(settings.gap_tolerance * proof.primal)) break;
    if (!go_on || fit.outer_steps >= settings.max_outer_steps) {
      fit.status = go_on ? Status::step_limit : Status::stopped;
      break;
    }
    if (!svms.grow(tasks) && fit.outer_steps > 0) {
      fit.status = fit.bound > 0.05 * settings.gap_tolerance ? Status::precision : Status::stalled;
      break;
    }
    enter(Phase::svms);
    tasks = svms.evaluate(fit.theta, svms.alphas(tasks), svm_tolerance);
    ++fit.outer_steps;
  }
  svms.remember(fit.theta, tasks);
  fit.bias.resize(T);
  fit.task_objective.resize(T);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    fit.bias[static_cast<Index>(t)] = tasks[t].svm.bias;
    fit.task_objective[static_cast<Index>(t)] = proofs[t].primal;
    fit.alpha.push_back(svms.all_alpha(tasks, t));
  }
  fit.svm_solves = svms.svm_solves;
  return fit;
}

Dataset pool_tasks(const Dataset& data) {
  Task all{"all", "-1", "1", {}, {}};
  std::vector<double> y;
  for (const Task& task : data.tasks) {
    all.rows.insert(all.rows.end(), task.rows.begin(), task.rows.end());
    y.insert(y.end(), task.y.begin(), task.y.end());
  }
  all.y = Eigen::Map<const Vector>(y.data(), std::ssize(y));
  return {data.X, data.features, {std::move(all)}, {}, Casting::binary};
}

}  // namespace coterie
