#include "coterie/mtmkl/anchored_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "coterie/kernel/single_threaded_blas.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/mtmkl/anchored_step.hpp"
#include "coterie/mtmkl/objective.hpp"

namespace coterie {

namespace {

// Weights with the SVMs there.
struct Point {
  Matrix theta;               // U x M
  std::vector<Index> joined;  // as in AnchoredFit
  std::vector<TaskState> tasks;
  Matrix g;  // U x M, gradients
  double primal = 0;
};

class AnchoredSolver {
 public:
  AnchoredSolver(const AnchoredTasks& problem, const FitSettings& settings)
      : problem_(problem),
        settings_(settings),
        A_(problem.anchors.rows()),
        U_(std::ssize(problem.grams)),
        M_(problem.grams.front().M()) {
    const bool paired = problem.lambda > 0 && std::isfinite(problem.lambda);
    if (paired) graph_ = problem.graph;
    kappa_.resize(std::ssize(graph_));
    for (std::size_t i = 0; i < graph_.size(); ++i)
      kappa_[static_cast<Index>(i)] = problem.lambda * graph_[i].weight;
    // Together the SVMs may take a tenth of the gap.
    svm_tolerance_ = std::max(1e-13, 0.1 * settings.gap_tolerance);
    for (std::size_t u = 0; u < problem.grams.size(); ++u) {
      const Index n = problem.y[u].size();
      svms_.push_back(std::make_unique<TaskSvm>(problem.grams[u], problem.y[u], Vector::Ones(n),
                                                problem.C[u], n));
    }
  }

  // Every new task begins at the mean of the anchors that draw it.
  Point first() {
    Matrix theta(U_, M_);
    for (Index u = 0; u < U_; ++u) {
      Vector mean = Vector::Zero(M_);
      double weights = 0;
      for (const Edge& edge : problem_.graph) {
        if (edge.s != A_ + u || edge.t >= A_) continue;
        mean += edge.weight * problem_.anchors.row(edge.t).transpose();
        weights += edge.weight;
      }
      theta.row(u) = weights > 0 && problem_.lambda > 0 ? Vector(mean / weights)
                                                        : problem_.weights.uniform(M_);
    }
    return evaluate(std::move(theta), apart(), {});
  }

  // lambda = inf: the weights of the one anchor that each can be reached from.
  Point common() {
    std::vector<bool> joined(problem_.graph.size(), true);
    Matrix theta(U_, M_);
    std::vector<Index> to(static_cast<std::size_t>(U_));
    for (const std::vector<Index>& part : connected_parts(A_ + U_, problem_.graph, joined))
      for (const Index point : part) {
        if (point < A_) continue;
        theta.row(point - A_) = problem_.anchors.row(part.front());
        to[static_cast<std::size_t>(point - A_)] = part.front();
      }
    return evaluate(std::move(theta), std::move(to), {});
  }

  Point evaluate(Matrix theta, std::vector<Index> joined, const std::vector<Vector>& start) {
    Point x;
    x.theta = std::move(theta);
    x.joined = std::move(joined);
    x.tasks.resize(svms_.size());
    parallel_for(U_, settings_.threads, [&](Index u) {
      const std::size_t i = static_cast<std::size_t>(u);
      x.tasks[i] = evaluate_task(*svms_[i], x.theta.row(u).transpose(),
                                 start.empty() ? Vector() : start[i], svm_tolerance_, pool_);
      add_curvature(*svms_[i], x.tasks[i], pool_);
    });
    x.primal = penalty(x.theta);
    x.g.resize(U_, M_);
    for (Index u = 0; u < U_; ++u) {  // in order, whatever the threads
      const TaskState& task = x.tasks[static_cast<std::size_t>(u)];
      x.primal += task.svm.primal;
      x.g.row(u) = task.g;
    }
    return x;
  }

  std::vector<Vector> alphas_at(const Point& x, const Matrix& theta) const {
    std::vector<Vector> alpha;
    for (Index u = 0; u < U_; ++u) {
      const std::size_t i = static_cast<std::size_t>(u);
      alpha.push_back(
          predicted_alpha(*svms_[i], x.tasks[i], (theta.row(u) - x.theta.row(u)).transpose()));
    }
    return alpha;
  }

  double dual(const Point& x, const Matrix& nu) const {
    double sum = 0;
    Matrix r = x.g;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const auto nu_i = nu.row(static_cast<Index>(i));
      if (graph_[i].t < A_)
        sum += nu_i.dot(problem_.anchors.row(graph_[i].t));
      else
        r.row(graph_[i].t - A_) += nu_i;
      r.row(graph_[i].s - A_) -= nu_i;
    }
    for (Index u = 0; u < U_; ++u) {
      sum += x.tasks[static_cast<std::size_t>(u)].svm.alpha.sum();
      sum += std::isinf(problem_.lambda) ? r.row(u).dot(x.theta.row(u))  // theta_u has no choice
                                         : problem_.weights.smallest(r.row(u).transpose());
    }
    return sum;
  }

  // The model around x with mu I added to the Hessians.
  AnchoredStep step(const Point& x, double mu, double gap_tolerance) const {
    std::vector<Matrix> B;
    Matrix c = x.g;
    for (Index u = 0; u < U_; ++u) {
      B.push_back(x.tasks[static_cast<std::size_t>(u)].H + mu * Matrix::Identity(M_, M_));
      c.row(u) -= x.theta.row(u) * B.back();
    }
    AnchoredStep step =
        solve_anchored({c, B, problem_.anchors, graph_, kappa_, problem_.weights}, gap_tolerance);
    pull_inside(step.nu, kappa_);
    // Weights that are those of an anchor stay so to the last bit.
    Matrix inside = step.theta;
    put_inside(inside, problem_.weights);
    for (Index u = 0; u < U_; ++u)
      if (step.joined[static_cast<std::size_t>(u)] >= A_) step.theta.row(u) = inside.row(u);
    return step;
  }

  // With bounds of the rounding, from the SVMs as they were solved or anew.
  Proof prove(const Point& x, const Matrix& nu, bool careful, std::vector<TaskProof>& tasks) const {
    tasks.resize(svms_.size());
    std::vector<Index> unit;
    for (Index u = 0; u < U_; ++u) unit.push_back(u);
    parallel_for(U_, settings_.threads, [&](Index u) {
      const std::size_t i = static_cast<std::size_t>(u);
      const Vector theta = x.theta.row(u);
      tasks[i] = careful ? careful_proof(problem_.grams[i], problem_.y[i], problem_.C[i], theta,
                                         alpha(x, i), x.tasks[i].svm.bias, {})
                         : rounded_proof(problem_.grams[i], *svms_[i], x.tasks[i], theta);
    });
    return join_proofs(
        tasks, unit, x.theta,
        {graph_, kappa_, problem_.anchors, problem_.weights, std::isinf(problem_.lambda)}, nu);
  }

  double predicted_decrease(const Point& x, const Matrix& theta, double mu) const {
    const Matrix d = theta - x.theta;
    double change = x.g.cwiseProduct(d).sum() + 0.5 * mu * d.squaredNorm();
    for (Index u = 0; u < U_; ++u)
      change += 0.5 * d.row(u).dot(d.row(u) * x.tasks[static_cast<std::size_t>(u)].H);
    return -(change + penalty(theta) - penalty(x.theta));
  }

  double target(double primal) const { return settings_.gap_tolerance * primal; }

  // Of a model: much closer than the gap asks, unless strong ties round by more than that.
  double closeness(double primal) const {
    const double rounding = kappa_.size() > 0 ? 1e-15 * kappa_.maxCoeff() : 0;
    return std::max(1e-3 * target(primal), std::min(0.3 * target(primal), rounding));
  }

  // To begin with, curvature that only keeps the model from being flat.
  double least_curvature(const Point& x) const {
    double mu = 1e-6 * x.g.cwiseAbs().maxCoeff();
    for (const TaskState& task : x.tasks)
      mu = std::max(mu, 1e-6 * task.H.trace() / static_cast<double>(M_));
    return mu;
  }

  void sharpen() { svm_tolerance_ = std::max(1e-13, 0.1 * svm_tolerance_); }

  std::vector<Index> apart() const {
    std::vector<Index> joined;
    for (Index u = 0; u < U_; ++u) joined.push_back(A_ + u);
    return joined;
  }

  Vector alpha(const Point& x, std::size_t u) const {
    return svms_[u]->spread(x.tasks[u].svm.alpha);
  }

  Matrix no_duals() const { return Matrix::Zero(std::ssize(graph_), M_); }

  double penalty(const Matrix& theta) const {
    double sum = 0;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const Index t = graph_[i].t;
      const auto at_s = theta.row(graph_[i].s - A_);
      const double distance =
          t < A_ ? (problem_.anchors.row(t) - at_s).norm() : (theta.row(t - A_) - at_s).norm();
      sum += kappa_[static_cast<Index>(i)] * distance;
    }
    return sum;
  }

 private:
  const AnchoredTasks& problem_;
  const FitSettings& settings_;
  Index A_, U_, M_;
  TaskGraph graph_;  // no edges unless lambda is a positive number
  Vector kappa_;
  double svm_tolerance_ = 1e-6;
  std::vector<std::unique_ptr<TaskSvm>> svms_;
  RowPool pool_;
};

}  // namespace

AnchoredFit fit_to_anchors(const AnchoredTasks& problem, const FitSettings& settings,
                           const ProgressCallback& progress) {
  const SingleThreadedBlas guard;
  AnchoredSolver solver(problem, settings);
  const bool common = std::isinf(problem.lambda);
  Progress report;
  report.common = common;
  const auto go_on = [&](Phase phase) {
    report.phase = phase;
    return !progress || progress(report);
  };
  go_on(Phase::svms);
  Point x = common ? solver.common() : solver.first();
  Matrix nu = solver.no_duals();
  double dual = solver.dual(x, nu);
  double mu = solver.least_curvature(x);
  double best_gap = std::numeric_limits<double>::infinity();
  int failures = 0;
  bool settled = common;  // the groups: the last step was one from a point that was close already
  AnchoredFit fit;
  for (Index step = 0;; ++step) {
    const double gap = x.primal - dual;
    best_gap = std::min(best_gap, gap);
    const bool close = gap <= solver.target(x.primal);
    fit.outer_steps = step;
    report.outer_step = step;
    report.primal = x.primal;
    report.dual = dual;
    report.gap = gap / x.primal;
    report.groups = std::ssize(std::set<Index>(x.joined.begin(), x.joined.end()));
    const bool wanted = go_on(Phase::proof);
    if (close && (settled || !wanted)) break;
    if (common) {  // nothing to choose but the SVMs
      fit.status = Status::stalled;
      break;
    }
    if (!wanted || step >= settings.max_outer_steps || failures > 8) {
      fit.status = close           ? Status::converged
                   : !wanted       ? Status::stopped
                   : failures <= 8 ? Status::step_limit
                                   : Status::stalled;
      break;
    }

    // The model is solved much closer than the gap asks: it costs little, and decides who is fused.
    go_on(Phase::theta_step);
    AnchoredStep next = solver.step(x, mu, solver.closeness(x.primal));
    go_on(Phase::svms);
    const double predicted = solver.predicted_decrease(x, next.theta, mu);
    bool accepted = false;
    double length = 1;
    const Matrix d = next.theta - x.theta;
    const double slope = x.g.cwiseProduct(d).sum();
    for (int trial = 0; trial < 6 && !accepted; ++trial) {
      const Matrix theta = length == 1 ? next.theta : x.theta + length * (next.theta - x.theta);
      Point y = solver.evaluate(theta, length == 1 ? next.joined : solver.apart(),
                                solver.alphas_at(x, theta));
      const double actual = x.primal - y.primal;
      const double dual_there = solver.dual(y, next.nu);
      const double gap_there = y.primal - dual_there;
      // The step is taken if the objective falls as the model promises, or the proof is closer by half than ever; close to the optimum, where
      // neither can be told from rounding, if it stays close.
      accepted = (actual >= 1e-3 * length * predicted && actual > 1e-14 * std::abs(x.primal)) ||
                 gap_there <= 0.5 * best_gap || (close && gap_there <= solver.target(y.primal));
      if (!accepted) {  // to where the tangents at its ends meet, as in the joint fit (outer_loop.cpp)
        const double slope_there = y.g.cwiseProduct(d).sum();
        const double change =
            (y.primal - solver.penalty(y.theta)) - (x.primal - solver.penalty(x.theta));
        const double meet = (length * slope_there - change) / std::max(1e-300, slope_there - slope);
        length = std::clamp(meet, 1e-4 * length, 0.7 * length);
        continue;
      }
      settled =
          length == 1 && gap_there <= solver.target(y.primal) && (close || gap_there <= 1e-2 * gap);
      const double ratio = predicted > 0 ? actual / predicted : 1;
      if (length < 1 || ratio < 0.2)
        mu *= 4;
      else if (ratio > 0.7)
        mu *= 0.1;
      x = std::move(y);
      nu = next.nu;
      dual = dual_there;
      failures = 0;
    }
    if (accepted) continue;
    settled = close;  // no better groups to be had
    const double dual_here = solver.dual(x, next.nu);
    if (dual_here > dual) {
      nu = next.nu;
      dual = dual_here;
    }
    const bool closer = x.primal - dual <= 0.9 * gap;
    failures = closer ? 0 : failures + 1;
    if (!closer) mu = std::max(10 * mu, 1e-10);
    solver.sharpen();
  }

  Proof proof = solver.prove(x, nu, false, fit.proofs);
  const bool coarse = proof.error > 0.05 * solver.target(proof.primal);
  if (coarse) proof = solver.prove(x, nu, true, fit.proofs);
  fit.theta = x.theta;
  fit.joined = x.joined;
  fit.nu = std::move(nu);
  fit.primal = proof.primal;
  fit.dual = proof.dual;
  fit.gap = proof.gap() / proof.primal;
  fit.bound = proof.error / proof.primal;
  fit.bias.resize(x.theta.rows());
  fit.task_objective.resize(x.theta.rows());
  for (std::size_t u = 0; u < x.tasks.size(); ++u) {
    fit.task_objective[static_cast<Index>(u)] = fit.proofs[u].primal;
    fit.alpha.push_back(solver.alpha(x, u));
    fit.bias[static_cast<Index>(u)] = x.tasks[u].svm.bias;
  }
  if (proof.shows(solver.target(proof.primal))) {
    if (fit.status == Status::stalled) fit.status = Status::converged;
  } else if (fit.status == Status::converged || fit.status == Status::stalled) {
    fit.status = coarse ? Status::precision : Status::stalled;
  }
  return fit;
}

}  // namespace coterie
