#include "coterie/baseline/shared_weights.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "coterie/baseline/shared_step.hpp"
#include "coterie/kernel/single_threaded_blas.hpp"
#include "coterie/math/dense.hpp"
#include "coterie/mtmkl/newton.hpp"

namespace coterie {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

std::vector<Index> numbers_below(Index T) {
  std::vector<Index> numbers(static_cast<std::size_t>(T));
  std::iota(numbers.begin(), numbers.end(), Index{0});
  return numbers;
}

// m_t(theta) = J_t + g_t'd + 1/2 d'B_t d,   d = theta_t - x_t;   B_t = H_t + mu I
class Model {
 public:
  Model(const Iterate& x, const SharedShape& shape, double mu)
      : x_(x), shape_(shape), T_(x.theta.rows()), M_(x.theta.cols()), J_(T_) {
    for (Index t = 0; t < T_; ++t) {
      const TaskState& task = x.tasks[static_cast<std::size_t>(t)];
      J_[t] = task.svm.primal;
      B_.emplace_back(hessian(task) + mu * Matrix::Identity(M_, M_));
    }
  }

  double decrease(const Matrix& theta) const {
    const Vector m = tasks_at(theta);
    return shape_.power > 1 ? x_.primal - value_of(m) : x_.c.dot(J_ - m);
  }

  Matrix minimiser(double tolerance) const {
    if (shape_.power > 1) return minimiser_of_F(tolerance);
    if (shape_.share < 1) return minimiser_apart(tolerance);
    return minimiser_in_common(sum_of(x_.c, x_.theta), tolerance);
  }

 private:
  struct Quadratic {
    Vector c;
    Matrix B;
  };

  // (11) at one theta for all tasks: values, gradients, and those of F.
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
    Vector m = J_;
    for (Index t = 0; t < T_; ++t) {
      const std::size_t i = static_cast<std::size_t>(t);
      const Vector d = (theta.row(t) - x_.theta.row(t)).transpose();
      m[t] += d.dot(x_.tasks[i].g + 0.5 * times(B_[i], d));
    }
    return m;
  }

  Matrix gradients_at(const Matrix& theta) const {
    Matrix r(T_, M_);
    for (Index t = 0; t < T_; ++t) {
      const std::size_t i = static_cast<std::size_t>(t);
      const Vector d = (theta.row(t) - x_.theta.row(t)).transpose();
      r.row(t) = x_.tasks[i].g + times(B_[i], d);
    }
    return r;
  }

  // sum_t c_t m_t as a function of one theta for all tasks, but for a constant.
  Quadratic sum_of(const Vector& c, const Matrix& theta) const {
    Quadratic sum{Vector::Zero(M_), Matrix::Zero(M_, M_)};
    for (Index t = 0; t < T_; ++t) sum.B += c[t] * B_[static_cast<std::size_t>(t)];
    sum.c = times(gradients_at(theta).transpose(), c) - times(sum.B, theta.row(0).transpose());
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
      there.slope = times(there.r.transpose(), there.c);
      there.gap = there.slope.dot(theta.row(0).transpose()) - there.slope.minCoeff();
    }
    there.theta = std::move(theta);
    return there;
  }

  // (11) by Newton's method: F''(m) = (p-1)/F [ diag(c_t F / m_t) - c c' ] adds the curvature of F to that of the sum. A step must lower F
  // or, near the end where F no longer tells, halve the gap.
  Matrix minimiser_of_F(double tolerance) const {
    const double p = shape_.power;
    There at = look(x_.theta);
    for (int iteration = 0; iteration < 50 && at.gap > tolerance; ++iteration) {
      Quadratic model = sum_of(at.c, at.theta);
      const Matrix scaled = ((p - 1) * at.c.cwiseQuotient(at.m)).asDiagonal() * at.r;
      Matrix bend = product(at.r.transpose(), scaled);
      bend -= (p - 1) / at.value * at.slope * at.slope.transpose();
      model.B += bend;
      model.c -= times(bend, at.theta.row(0).transpose());
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

  const Iterate& x_;
  const SharedShape& shape_;
  Index T_, M_;
  Vector J_;               // T
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

}  // namespace

SharedWeights::SharedWeights(Index T, const SharedShape& shape)
    : Coupling(numbers_below(T), T, {}, {}), shape_(shape) {
  assert(shape.share >= 0 && shape.share <= 1 && shape.power > 0);
  assert(shape.share == 1 || shape.power == 1);
}

double SharedWeights::value(const Vector& J) const { return power_mean(J, shape_.power); }
Vector SharedWeights::slopes(const Vector& J) const { return power_weights(J, shape_.power); }

double SharedWeights::smallest(const Iterate& x, const Matrix&) const {
  return smallest_shared(x.g, shape_.share);
}

// Rounding: the weights c_t follow the objectives, whose errors they carry on.
Proof SharedWeights::prove(const std::vector<TaskProof>& tasks, const Matrix& theta,
                           const Matrix&) const {
  const Index T = theta.rows();
  Vector J(T);
  for (Index t = 0; t < T; ++t) J[t] = tasks[static_cast<std::size_t>(t)].primal;
  const Vector c = slopes(J);
  Proof proof;
  proof.primal = value(J);
  Matrix r(T, theta.cols());
  for (Index t = 0; t < T; ++t) {
    const TaskProof& task = tasks[static_cast<std::size_t>(t)];
    proof.dual += c[t] * task.alpha_sum;
    proof.error += c[t] * (task.primal_error + task.alpha_error + 2 * task.g_error.maxCoeff());
    r.row(t) = c[t] * task.g;
  }
  proof.dual += smallest_shared(r, shape_.share);
  proof.error += static_cast<double>(theta.size() + 20) * epsilon * proof.primal;
  proof.error *= 1 + std::abs(shape_.power - 1);
  return proof;
}

WeightStep SharedWeights::step(const Iterate& x, double mu, const ThetaSettings& limits) {
  const Model model(x, shape_, mu);
  WeightStep next;
  next.theta = model.minimiser(limits.gap_tolerance);
  next.nu = Matrix(0, x.theta.cols());
  next.groups = equal_points(next.theta, 0);
  next.predicted = model.decrease(next.theta);
  ++iterations;
  return next;
}

// Nothing draws single tasks together: they are equal by their bits or not at all.
Groups SharedWeights::equal_points(const Matrix& theta, double) const { return equal_rows(theta); }

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

Fit as_fit(NewtonResult result) {
  Fit fit;
  fit.theta = std::move(result.theta);
  fit.alpha = std::move(result.alpha);
  fit.bias = std::move(result.bias);
  fit.task_objective = std::move(result.objective);
  fit.nu = std::move(result.nu);
  fit.groups = equal_rows(fit.theta);
  fit.primal = result.proof.primal;
  fit.dual = result.proof.dual;
  fit.gap = result.proof.gap() / result.proof.primal;
  fit.bound = result.proof.error / result.proof.primal;
  fit.outer_steps = result.outer_steps;
  fit.svm_solves = result.svm_solves;
  fit.theta_iterations = result.theta_iterations;
  fit.coarseness = result.coarseness;
  fit.status = result.status;
  return fit;
}

Fit fit_shared(const MtmklProblem& problem, const SharedShape& shape, const FitSettings& settings,
               const ProgressCallback& progress, const WarmStart& start, Workspace* workspace) {
  const SingleThreadedBlas guard;
  Workspace own;
  Workspace& room = workspace ? *workspace : own;
  room.make_room(problem.T());
  SharedWeights coupling(problem.T(), shape);
  WarmStart from;
  from.theta = first_weights(problem, shape.share, start.theta);
  if (std::ssize(start.alpha) == problem.T()) from.alpha = start.alpha;
  Progress report;
  report.common = shape.share == 1;
  Fit fit =
      as_fit(minimise(problem, coupling.unit(), coupling, settings, from, room, progress, report));
  fit.claim = shape.power < 1 ? Claim::stationary : Claim::optimum;
  return fit;
}

}  // namespace coterie
