#include "coterie/baseline/shared_newton.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "coterie/baseline/shared_step.hpp"
#include "coterie/kernel/single_threaded_blas.hpp"
#include "coterie/mtmkl/evaluator.hpp"

namespace coterie {

namespace {

// Weights with the SVMs there and the proof that these give.
struct Point {
  Matrix theta;  // T x M
  std::vector<TaskState> tasks;
  Vector J;          // T, with the losses of samples left out where they were counted
  double value = 0;  // (21)
  Vector c;          // (22)
  double dual = 0;   // (23)
  double svm_gap = 0, svm_scale = 0;  // sum_t c_t of the SVMs' own gaps, and of J_t
  double gap() const { return value - dual; }
};

void rate(Point& x, const SharedWeights& shape) {
  const Index T = x.theta.rows();
  x.J.resize(T);
  for (Index t = 0; t < T; ++t) {
    const TaskState& task = x.tasks[static_cast<std::size_t>(t)];
    x.J[t] = task.svm.primal + task.left_out;
  }
  x.value = power_mean(x.J, shape.power);
  x.c = power_weights(x.J, shape.power);
  x.dual = x.svm_gap = 0;
  Matrix r(T, x.theta.cols());
  for (Index t = 0; t < T; ++t) {
    const TaskState& task = x.tasks[static_cast<std::size_t>(t)];
    x.dual += x.c[t] * task.svm.alpha.sum();
    x.svm_gap += x.c[t] * (task.svm.primal - task.svm.dual);
    r.row(t) = x.c[t] * task.g;
  }
  x.svm_scale = x.c.dot(x.J);
  x.dual += smallest_shared(r, shape.share);
}

// What rounding may do to the gap: the weights c_t follow the objectives, whose errors they carry on.
double rounding(const Point& x, const std::vector<TaskProof>& tasks, double power) {
  double sum = 0;
  for (Index t = 0; t < x.c.size(); ++t) {
    const TaskProof& task = tasks[static_cast<std::size_t>(t)];
    sum += x.c[t] * (task.primal_error + task.alpha_error + 2 * task.g_error.maxCoeff());
  }
  const double sums =
      static_cast<double>(x.theta.size() + 20) * std::numeric_limits<double>::epsilon();
  return (1 + std::abs(power - 1)) * (sum + sums * x.value);
}

// m_t(theta) = J_t + g_t'd + 1/2 d'B_t d,   d = theta_t - x_t;   B_t = H_t + ridge I at first
class Model {
 public:
  Model(const Point& x, const SharedWeights& shape, double ridge)
      : x_(x), shape_(shape), T_(x.theta.rows()), M_(x.theta.cols()) {
    for (const TaskState& task : x.tasks)
      B_.emplace_back(task.H + ridge * Matrix::Identity(M_, M_));
  }

  double decrease(const Matrix& theta) const {
    const Vector m = tasks_at(theta);
    return shape_.power > 1 ? x_.value - value_of(m) : x_.c.dot(x_.J - m);
  }

  Matrix minimiser(double tolerance) const {
    if (shape_.power > 1) return minimiser_of_F(tolerance);
    if (shape_.share < 1) return minimiser_apart(tolerance);
    return minimiser_in_common(sum_of(x_.c, x_.theta), tolerance);
  }

  // Where the set of free support vectors changes on the way to y, J_t is more curved than H_t says. A rank-one term makes the gradient of
  // m_t at y that of J_t (the symmetric rank-one formula, where it adds curvature). False: there was nothing to add.
  bool learn_from(const Point& y) {
    bool learnt = false;
    for (Index t = 0; t < T_; ++t) {
      const std::size_t i = static_cast<std::size_t>(t);
      const Vector d = (y.theta.row(t) - x_.theta.row(t)).transpose();
      const Vector missing = y.tasks[i].g - x_.tasks[i].g - B_[i] * d;
      const double along = missing.dot(d);
      if (!(along > 1e-8 * missing.norm() * d.norm())) continue;
      B_[i] += missing * missing.transpose() / along;
      learnt = true;
    }
    return learnt;
  }

 private:
  struct Quadratic {
    Vector c;
    Matrix B;
  };

  // (24) at one theta for all tasks: values, gradients, and those of F.
  struct There {
    Matrix theta;  // T x M, equal rows
    Vector m;
    Matrix r;
    Vector c;
    double value = 0;
    Vector slope;
    double gap = 0;
  };

  double value_of(const Vector& m) const {  // a model far from its place may fall below 0
    return m.minCoeff() > 0 ? power_mean(m, shape_.power) : std::numeric_limits<double>::infinity();
  }

  Vector tasks_at(const Matrix& theta) const {
    Vector m = x_.J;
    for (Index t = 0; t < T_; ++t) {
      const std::size_t i = static_cast<std::size_t>(t);
      const Vector d = (theta.row(t) - x_.theta.row(t)).transpose();
      m[t] += d.dot(x_.tasks[i].g + 0.5 * (B_[i] * d));
    }
    return m;
  }

  Matrix gradients_at(const Matrix& theta) const {
    Matrix r(T_, M_);
    for (Index t = 0; t < T_; ++t) {
      const std::size_t i = static_cast<std::size_t>(t);
      r.row(t) = x_.tasks[i].g.transpose() + (theta.row(t) - x_.theta.row(t)) * B_[i];
    }
    return r;
  }

  // sum_t c_t m_t as a function of one theta for all tasks, but for a constant.
  Quadratic sum_of(const Vector& c, const Matrix& theta) const {
    Quadratic sum{Vector::Zero(M_), Matrix::Zero(M_, M_)};
    for (Index t = 0; t < T_; ++t) sum.B += c[t] * B_[static_cast<std::size_t>(t)];
    sum.c = gradients_at(theta).transpose() * c - sum.B * theta.row(0).transpose();
    return sum;
  }

  Matrix minimiser_in_common(const Quadratic& sum, double tolerance) const {
    const SharedStep step = solve_shared({sum.c.transpose(), {sum.B}, 1}, tolerance);
    return step.theta.replicate(T_, 1);
  }

  Matrix minimiser_apart(double tolerance) const {
    SharedQuadratic quadratic{gradients_at(Matrix::Zero(T_, M_)), B_, shape_.share};
    for (Index t = 0; t < T_; ++t) {
      quadratic.c.row(t) *= x_.c[t];
      quadratic.B[static_cast<std::size_t>(t)] *= x_.c[t];
    }
    return solve_shared(quadratic, tolerance).theta;
  }

  There look(Matrix theta) const {
    There there;
    there.m = tasks_at(theta);
    there.value = value_of(there.m);
    there.gap = there.value;
    if (std::isfinite(there.value)) {
      there.r = gradients_at(theta);
      there.c = power_weights(there.m, shape_.power);
      there.slope = there.r.transpose() * there.c;
      there.gap = there.slope.dot(theta.row(0).transpose()) - there.slope.minCoeff();
    }
    there.theta = std::move(theta);
    return there;
  }

  // (24) by Newton's method: F''(m) = (p-1)/F [ diag(c_t F / m_t) - c c' ] adds the curvature of F to that of the sum. A step must lower F
  // or, near the end where F no longer tells, halve the gap.
  Matrix minimiser_of_F(double tolerance) const {
    const double p = shape_.power;
    There at = look(x_.theta);
    for (int iteration = 0; iteration < 50 && at.gap > tolerance; ++iteration) {
      Quadratic model = sum_of(at.c, at.theta);
      Matrix bend = at.r.transpose() * ((p - 1) * at.c.cwiseQuotient(at.m)).asDiagonal() * at.r;
      bend -= (p - 1) / at.value * at.slope * at.slope.transpose();
      model.B += bend;
      model.c -= bend * at.theta.row(0).transpose();
      const Matrix next = minimiser_in_common(model, 0.1 * tolerance);
      const double promised = at.slope.dot((at.theta.row(0) - next.row(0)).transpose());
      bool better = false;
      double length = 1;
      for (int trial = 0; trial < 40 && !better; ++trial, length *= 0.5) {
        There there = look(length == 1 ? next : Matrix((1 - length) * at.theta + length * next));
        better = there.value < at.value - 1e-4 * length * promised || there.gap <= 0.5 * at.gap;
        if (better) at = std::move(there);
      }
      if (!better) break;
    }
    return at.theta;
  }

  const Point& x_;
  const SharedWeights& shape_;
  Index T_, M_;
  std::vector<Matrix> B_;  // [task]
};

// Weights of a start, moved into the set: the mean of all tasks has the common share.
Matrix first_weights(const MtmklProblem& problem, double share, const Matrix& start) {
  const Index T = problem.T();
  const Index M = problem.M();
  if (start.rows() != T || start.cols() != M)
    return Matrix::Constant(T, M, 1 / static_cast<double>(M));
  const double common = start.colwise().minCoeff().sum();
  if (common >= share * (1 - 1e-12) && (share < 1 || equal_rows(start).size() == 1)) return start;
  const Vector mean = start.colwise().mean();
  Matrix theta = (1 - share) * start;
  theta.rowwise() += share * mean.transpose();
  return theta;
}

std::vector<Index> numbers_below(Index T) {
  std::vector<Index> numbers(static_cast<std::size_t>(T));
  std::iota(numbers.begin(), numbers.end(), Index{0});
  return numbers;
}

}  // namespace

double power_mean(const Vector& g, double p) {
  if (p == 1) return g.sum();
  const double largest = g.maxCoeff();
  return largest * std::pow((g / largest).array().pow(p).sum(), 1 / p);
}

Vector power_weights(const Vector& g, double p) {
  if (p == 1) return Vector::Ones(g.size());
  const double F = power_mean(g, p);
  return (g / F).array().pow(p - 1);
}

Groups equal_rows(const Matrix& theta) {
  Groups groups;
  for (Index t = 0; t < theta.rows(); ++t) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return theta.row(group.front()) == theta.row(t);
    });
    if (same != groups.end())
      same->push_back(t);
    else
      groups.push_back({t});
  }
  return groups;
}

Fit fit_shared(const MtmklProblem& problem, const SharedWeights& shape, const FitSettings& settings,
               const ProgressCallback& progress, const WarmStart& start, Workspace* workspace) {
  assert(shape.share >= 0 && shape.share <= 1 && shape.power > 0);
  assert(shape.share == 1 || shape.power == 1);
  const SingleThreadedBlas guard;
  const Index T = problem.T();
  const Index M = problem.M();
  Workspace own;
  Workspace& room = workspace ? *workspace : own;
  room.tasks.resize(static_cast<std::size_t>(T));
  room.last.resize(static_cast<std::size_t>(T));
  Evaluator svms(problem, numbers_below(T), numbers_below(T), settings, room);
  const auto target = [&](const Point& x) { return settings.gap_tolerance * x.value; };
  // Together the SVMs may take a tenth of the gap that is asked for.
  const auto closest = [&](const Point& x) {
    return std::max(1e-14, 0.1 * target(x) / x.svm_scale);
  };
  const auto at = [&](Matrix theta, std::vector<TaskState> tasks) {
    Point x;
    x.theta = std::move(theta);
    x.tasks = std::move(tasks);
    rate(x, shape);
    return x;
  };
  Progress report;
  report.common = shape.share == 1;
  const auto enter = [&](Phase phase) {
    report.phase = phase;
    return !progress || progress(report);
  };

  enter(Phase::svms);
  double svm_tolerance = 1e-2;
  std::vector<Vector> alpha(static_cast<std::size_t>(T));
  if (std::ssize(start.alpha) == T)
    for (std::size_t t = 0; t < alpha.size(); ++t) alpha[t] = svms.admit(t, start.alpha[t]);
  const Matrix theta = first_weights(problem, shape.share, start.theta);
  Point x = at(theta, svms.resume(theta, alpha, svm_tolerance));
  const auto again = [&] {  // the same weights, after a change of what the SVMs are
    x = at(x.theta, svms.evaluate(x.theta, svms.alphas(x.tasks), svm_tolerance));
  };
  svms.add_curvatures(x.tasks);
  double ridge = 0;  // keeps models from being flat
  for (const TaskState& task : x.tasks)
    ridge = std::max({ridge, 1e-6 * task.H.trace() / static_cast<double>(M),
                      1e-6 * task.g.cwiseAbs().maxCoeff()});

  Fit fit;
  double best_gap = std::numeric_limits<double>::infinity();
  double check_at = std::max(0.5 * std::abs(x.value), target(x));
  double sharpening = 1;
  bool far = !svms.knows_outside();  // from knowing which samples matter
  int failures = 0;
  for (Index step = 0;; ++step) {
    // When most of the gap is the SVMs' own, a step of the weights cannot help: solve them closer.
    while (x.svm_gap > 0.5 * x.gap() && x.gap() > 0.5 * target(x) && svm_tolerance > closest(x)) {
      enter(Phase::svms);
      svm_tolerance = std::max(closest(x), 0.1 * svm_tolerance);
      again();
    }
    // Close enough on the samples that take part: what do the others say?
    bool done = false;
    while (!done && x.gap() <= check_at) {
      enter(Phase::svms);
      const bool close = x.gap() <= target(x);
      const double inside = x.value;
      svms.count_left_out(x.tasks, close || far ? TaskSvm::Outside::all : TaskSvm::Outside::near);
      rate(x, shape);
      const double left_out = x.value - inside;
      far = left_out > 0.1 * inside;
      done = close && x.gap() <= target(x);
      check_at = std::max((svms.has_all() ? 1 : 0.7) * target(x), 0.5 * left_out);
      if (done || !svms.grow(x.tasks)) break;
      again();
      best_gap = std::numeric_limits<double>::infinity();
    }
    best_gap = std::min(best_gap, x.gap());
    fit.outer_steps = step;
    report.outer_step = step;
    report.primal = x.value;
    report.dual = x.dual;
    report.gap = x.gap() / x.value;
    report.groups = std::ssize(equal_rows(x.theta));
    bool go_on = enter(Phase::proof);
    if (done || !go_on || step >= settings.max_outer_steps || failures > 8) {
      fit.status = done           ? Status::converged
                   : !go_on       ? Status::stopped
                   : failures > 8 ? Status::stalled
                                  : Status::step_limit;
      break;
    }

    enter(Phase::theta_step);
    svms.add_curvatures(x.tasks);
    Model model(x, shape, ridge);
    const double tolerance = std::pow(0.1, failures) * std::min(0.01 * x.gap(), 0.1 * target(x));
    svm_tolerance = std::clamp(0.01 * x.gap() / x.svm_scale, closest(x), 1e-2);
    svm_tolerance = std::max(1e-14, sharpening * svm_tolerance);
    // A step is taken if the objective falls as far as the model promises, or if the proof is closer by half than ever before. Otherwise
    // the model learns from where it led.
    bool accepted = false;
    for (int trial = 0; trial < 8 && !accepted; ++trial) {
      Matrix next = model.minimiser(tolerance);
      go_on = enter(Phase::svms);
      if (!go_on) break;
      const double predicted = model.decrease(next);
      std::vector<TaskState> tasks =
          svms.evaluate(next, svms.alphas_after(x.tasks, next - x.theta), svm_tolerance);
      Point y = at(std::move(next), std::move(tasks));
      const double actual = x.value - y.value;
      const double rounding = 1e-14 * std::abs(x.value);
      accepted = (actual >= 1e-3 * predicted && actual > rounding) ||
                 (y.gap() <= 0.5 * best_gap && (shape.power >= 1 || actual >= -rounding));
      if (!accepted) {
        if (!model.learn_from(y)) break;
        continue;
      }
      if (trial > 0 || actual < 0.2 * predicted)
        ridge *= 4;
      else if (actual > 0.7 * predicted)
        ridge *= 0.1;
      x = std::move(y);
    }
    if (!go_on) {
      fit.status = Status::stopped;
      break;
    }
    failures = accepted ? 0 : failures + 1;
    if (accepted) continue;
    svms.restore(x.theta);
    ridge = std::max(10 * ridge, 1e-10);
    sharpening *= 0.1;
    svm_tolerance = std::max(1e-14, 0.1 * svm_tolerance);
    again();
  }

  if (fit.status != Status::converged) {
    svms.restore(x.theta);
    svms.count_left_out(x.tasks);
    rate(x, shape);
  }
  svms.remember(x.theta, x.tasks);
  fit.claim = shape.power < 1 ? Claim::stationary : Claim::optimum;
  std::vector<TaskProof> proofs = svms.rounded_proofs(x.theta, x.tasks);
  if (rounding(x, proofs, shape.power) > 0.05 * target(x)) {  // too coarse: computed anew
    proofs = svms.careful_proofs(x.theta, x.tasks);
    for (std::size_t t = 0; t < proofs.size(); ++t) {
      x.tasks[t].svm.primal = proofs[t].primal;
      x.tasks[t].left_out = 0;
      x.tasks[t].g = proofs[t].g;
    }
    rate(x, shape);
  }
  fit.primal = x.value;
  fit.dual = x.dual;
  fit.gap = x.gap() / x.value;
  fit.bound = rounding(x, proofs, shape.power) / x.value;
  if (fit.status == Status::converged &&
      !(std::max(0.0, fit.gap) + fit.bound <= settings.gap_tolerance && fit.gap >= -fit.bound))
    fit.status = Status::precision;
  fit.task_objective = x.J;
  fit.bias.resize(T);
  for (std::size_t t = 0; t < x.tasks.size(); ++t) {
    fit.bias[static_cast<Index>(t)] = x.tasks[t].svm.bias;
    fit.alpha.push_back(svms.all_alpha(x.tasks, t));
  }
  fit.groups = equal_rows(x.theta);
  fit.theta = std::move(x.theta);
  fit.nu = Matrix(0, M);
  fit.svm_solves = svms.svm_solves;
  return fit;
}

}  // namespace coterie
