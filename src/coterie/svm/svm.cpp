#include "coterie/svm/svm.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace coterie {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The first position where `values` equals `value`.
Index position_of(const Eigen::ArrayXd& values, double value) {
  const double* begin = values.data();
  return std::find(begin, begin + values.size(), value) - begin;
}

// The dual restricted to a working set, with its matrix at hand.
class WorkingSet {
 public:
  WorkingSet(Matrix K, Vector beta, Vector lo, Vector hi, Eigen::ArrayXd e)
      : K_(std::move(K)),
        beta_(std::move(beta)),
        lo_(std::move(lo)),
        hi_(std::move(hi)),
        e_(std::move(e)),
        diagonal_(K_.diagonal()),
        up_(beta_.size()),
        down_(beta_.size()),
        work_(beta_.size()) {
    for (Index k = 0; k < size(); ++k) mark(k);
  }

  Index size() const { return beta_.size(); }
  const Vector& beta() const { return beta_; }
  Index steps() const { return steps_; }
  Index newton_steps() const { return newton_steps_; }

  // How far the optimality conditions are violated: the largest e that may fall minus the smallest that may rise.
  double violation() const { return (e_ + down_).maxCoeff() - (e_ + up_).minCoeff(); }

  // Two-variable steps and Newton steps in turn until the violation is at most epsilon. Newton steps pay once the active set is
  // nearly right: after a burst of two-variable steps, which grows while they come too early.
  bool solve(double epsilon, Index max_steps) {
    Index burst = std::max<Index>(50, 2 * size());
    while (true) {
      if (two_variable_steps(epsilon, std::min(burst, max_steps - steps_))) return true;
      if (steps_ >= max_steps) return false;
      if (!newton_phase()) burst *= 2;
      if (violation() <= epsilon) return true;
      if (++rounds_ > 200) return false;
    }
  }

 private:
  // Bounds as penalties on the gradient: up_ is 0 where beta may rise, +inf elsewhere; down_ 0 where it may fall, else -inf.
  void mark(Index k) {
    up_[k] = beta_[k] < hi_[k] ? 0 : infinity;
    down_[k] = beta_[k] > lo_[k] ? 0 : -infinity;
  }

  bool two_variable_steps(double epsilon, Index limit) {
    for (Index step = 0; step < limit; ++step) {
      work_ = e_ + up_;
      const double lowest = work_.minCoeff();
      if (!(lowest < infinity)) return true;
      const Index i = position_of(work_, lowest);
      const auto row_i = K_.row(i).transpose().array();
      // Gain of the pair (i, k): (e_k - e_i)^2 / (K_ii + K_kk - 2 K_ik), over k that may fall.
      work_ = (e_ + down_ - lowest).max(0.0);
      if (work_.maxCoeff() <= epsilon) return true;
      work_ = work_.square() /
              (diagonal_ + (diagonal_[i] - 2 * row_i)).max(1e-12 * diagonal_[i] + 1e-300);
      const Index j = position_of(work_, work_.maxCoeff());
      const double curvature =
          std::max(diagonal_[i] + diagonal_[j] - 2 * K_(i, j), 1e-12 * diagonal_[i] + 1e-300);
      double delta = (e_[j] - lowest) / curvature;
      const double room_i = hi_[i] - beta_[i];
      const double room_j = beta_[j] - lo_[j];
      delta = std::min({delta, room_i, room_j});
      beta_[i] = delta == room_i ? hi_[i] : beta_[i] + delta;
      beta_[j] = delta == room_j ? lo_[j] : beta_[j] - delta;
      mark(i);
      mark(j);
      e_ += delta * (row_i - K_.row(j).transpose().array());
      ++steps_;
    }
    return false;
  }

  // Newton steps on the free variables with their sum kept, docs/maths.md (9): the step d solves
  //   minimise  e_F'd + 1/2 d' K_FF d,   1'd = 0,
  // and is cut where the first variable meets a bound, which then leaves F. True when a full step was taken.
  bool newton_phase() {
    std::vector<Index> free;
    for (Index k = 0; k < size(); ++k)
      if (beta_[k] > lo_[k] && beta_[k] < hi_[k]) free.push_back(k);
    for (int cut = 0; cut < 6 && free.size() > 1; ++cut) {
      if (newton_step(free)) return true;
      std::erase_if(free, [&](Index k) { return beta_[k] <= lo_[k] || beta_[k] >= hi_[k]; });
    }
    return free.size() < 2;
  }

  // True when the full step was taken.
  bool newton_step(const std::vector<Index>& free) {
    ++newton_steps_;
    const Matrix A = K_(free, free);
    const Vector e = e_.matrix()(free);
    const Vector ones = Vector::Ones(e.size());
    Vector d;
    double ridge = 1e-12 * (1e-300 + A.trace() / static_cast<double>(e.size()));
    while (true) {
      Eigen::LLT<Eigen::MatrixXd> factor(A + ridge * Matrix::Identity(e.size(), e.size()));
      if (factor.info() == Eigen::Success) {
        const Vector a = factor.solve(e);
        const Vector c = factor.solve(ones);
        d = (a.sum() / c.sum()) * c - a;
        if (d.allFinite()) break;
      }
      ridge *= 100;
      if (!(ridge < 1e300)) return true;
    }
    d.array() -= d.mean();  // the sum is kept to rounding
    const double slope = e.dot(d);
    if (!(slope < 0)) return true;
    const double curvature = d.dot(A * d);
    double length = curvature > 0 ? -slope / curvature : infinity;
    const double full = length;
    Index hit = -1;
    for (Index k = 0; k < d.size(); ++k) {
      const Index i = free[static_cast<std::size_t>(k)];
      const double room = d[k] > 0   ? (hi_[i] - beta_[i]) / d[k]
                          : d[k] < 0 ? (lo_[i] - beta_[i]) / d[k]
                                     : infinity;
      if (room < length) {
        length = room;
        hit = k;
      }
    }
    if (!(length < infinity)) return true;
    for (Index k = 0; k < d.size(); ++k) {
      const Index i = free[static_cast<std::size_t>(k)];
      beta_[i] = std::clamp(beta_[i] + length * d[k], lo_[i], hi_[i]);
      if (k == hit) beta_[i] = d[k] > 0 ? hi_[i] : lo_[i];
      mark(i);
      e_ += (length * d[k]) * K_.row(i).transpose().array();
    }
    return length == full;
  }

  Matrix K_;
  Vector beta_, lo_, hi_;
  Eigen::ArrayXd e_, diagonal_, up_, down_, work_;
  Index steps_ = 0, newton_steps_ = 0, rounds_ = 0;
};

// The start, clipped to the bounds, with the heavier sign scaled down until the sum is zero.
Vector feasible_start(ConstVectorRef start, const SvmProblem& problem) {
  const Index n = problem.y.size();
  if (start.size() != n) return Vector::Zero(n);
  Vector beta = problem.y.cwiseProduct(start.cwiseMax(0.0).cwiseMin(problem.C));
  const double positive = beta.cwiseMax(0.0).sum();
  const double negative = -beta.cwiseMin(0.0).sum();
  if (positive == 0 || negative == 0) return Vector::Zero(n);
  if (std::abs(positive - negative) <= 1e-13 * positive)
    return beta;  // feasible to rounding: bounds stay exact
  const double target = std::min(positive, negative);
  for (double& b : beta) b *= target / (b > 0 ? positive : negative);
  return beta;
}

// A first working set when nothing is known: samples of both classes, spread evenly over the task.
std::vector<Index> spread_sample(ConstVectorRef y, Index per_class) {
  std::vector<Index> chosen;
  for (const double sign : {-1.0, 1.0}) {
    std::vector<Index> members;
    for (Index i = 0; i < y.size(); ++i)
      if (y[i] == sign) members.push_back(i);
    const Index count = std::min<Index>(per_class, std::ssize(members));
    for (Index k = 0; k < count; ++k)
      chosen.push_back(members[static_cast<std::size_t>(k * std::ssize(members) / count)]);
  }
  return chosen;
}

}  // namespace

double best_bias(ConstVectorRef gradient, const SvmProblem& problem) {
  // The slope of the sum in b at -infinity is minus the weight of the positive samples; it rises by C_i at every kink b = -e_i.
  const Index n = gradient.size();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index i, Index j) {
    return gradient[i] != gradient[j] ? gradient[i] > gradient[j] : i < j;
  });
  double slope = 0;
  double total = 0;
  for (Index i = 0; i < n; ++i) {
    if (problem.y[i] > 0) slope -= problem.C[i];
    total += problem.C[i];
  }
  const double tolerance = 1e-12 * total;
  for (std::size_t k = 0; k < order.size(); ++k) {
    slope += problem.C[order[k]];
    if (slope > tolerance) return -gradient[order[k]];
    if (slope >= -tolerance) {  // flat up to the next kink
      const Index next = order[std::min(k + 1, order.size() - 1)];
      return -(gradient[order[k]] + gradient[next]) / 2;
    }
  }
  return order.empty() ? 0 : -gradient[order.back()];
}

SvmResult solve_svm(MixedGram& K, const SvmProblem& problem, ConstVectorRef start,
                    const SvmSettings& settings) {
  const Index n = K.size();
  assert(problem.y.size() == n && problem.p.size() == n && problem.C.size() == n);
  const Vector yp = problem.y.cwiseProduct(problem.p);
  const Vector lo = (problem.y.array() > 0).select(Vector::Zero(n), -problem.C);
  const Vector hi = (problem.y.array() > 0).select(problem.C, Vector::Zero(n));

  Vector beta = feasible_start(start, problem);
  Vector e = -yp;
  std::vector<bool> in_set(static_cast<std::size_t>(n), false);
  std::vector<Index> W;
  const auto join = [&](Index i) {
    if (in_set[static_cast<std::size_t>(i)]) return;
    in_set[static_cast<std::size_t>(i)] = true;
    W.push_back(i);
  };
  for (Index i = 0; i < n; ++i) {
    if (beta[i] == 0) continue;
    join(i);
    e += beta[i] * Eigen::Map<const Vector>(K.row(i), n);
  }
  if (W.empty()) {
    for (const Index i : spread_sample(problem.y, n <= 128 ? n : 32)) join(i);
  }

  SvmResult result;
  double epsilon = 1e-3 * std::max(1e-12, problem.p.cwiseAbs().maxCoeff());
  double best_gap = infinity;
  for (int round = 0; round < 500; ++round) {
    // Evidence at the current point.
    const double bias = best_bias(e, problem);
    double gap = 0;
    for (Index i = 0; i < n; ++i) {
      const double s = e[i] + bias;
      gap += problem.C[i] * std::max(0.0, -problem.y[i] * s) + beta[i] * s;
    }
    const double dual = yp.dot(beta) - 0.5 * beta.dot(e + yp);
    result.bias = bias;
    result.dual = dual;
    result.primal = dual + gap;
    result.converged = gap <= settings.gap_tolerance * std::max(1.0, std::abs(dual));
    if (result.converged || result.steps >= settings.max_steps) break;

    // Samples outside W that form a violating pair with any sample join, the worst first, and no more than half the set.
    if (round > 0) {
      double highest = -infinity;  // e of those that may fall
      double lowest = infinity;    // e of those that may rise
      for (Index i = 0; i < n; ++i) {
        if (beta[i] > lo[i]) highest = std::max(highest, e[i]);
        if (beta[i] < hi[i]) lowest = std::min(lowest, e[i]);
      }
      std::vector<std::pair<double, Index>> violators;
      for (Index i = 0; i < n; ++i) {
        if (in_set[static_cast<std::size_t>(i)])
          continue;  // outside W beta is 0: y = +1 may rise, y = -1 may fall
        const double violation = problem.y[i] > 0 ? highest - e[i] : e[i] - lowest;
        if (violation > 0.5 * epsilon) violators.emplace_back(-violation, i);
      }
      const std::size_t limit = static_cast<std::size_t>(std::max<Index>(32, std::ssize(W) / 2));
      if (violators.size() > limit) {
        std::nth_element(violators.begin(), violators.begin() + static_cast<std::ptrdiff_t>(limit),
                         violators.end());
        violators.resize(limit);
      }
      if (violators.empty()) epsilon *= 0.1;
      if (epsilon < 1e-15 && gap >= best_gap) break;  // rounding is all that is left
      for (const auto& [violation, i] : violators) join(i);
    }
    best_gap = std::min(best_gap, gap);

    std::sort(W.begin(), W.end());
    const Index w = std::ssize(W);
    Matrix K_W(w, w);
    for (Index k = 0; k < w; ++k) {
      const double* row = K.row(W[static_cast<std::size_t>(k)]);
      for (Index l = 0; l < w; ++l) K_W(k, l) = row[W[static_cast<std::size_t>(l)]];
    }
    WorkingSet set(std::move(K_W), beta(W), lo(W), hi(W), e(W).array());
    set.solve(epsilon, settings.max_steps - result.steps);
    result.steps += set.steps();
    result.newton_steps += set.newton_steps();
    for (Index k = 0; k < w; ++k) {
      const Index i = W[static_cast<std::size_t>(k)];
      const double change = set.beta()[k] - beta[i];
      if (change == 0) continue;
      beta[i] = set.beta()[k];
      e += change * Eigen::Map<const Vector>(K.row(i), n);
    }
  }
  result.alpha = problem.y.cwiseProduct(beta);
  result.gradient = std::move(e);
  return result;
}

}  // namespace coterie
