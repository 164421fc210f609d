#include "coterie/svm/interior_svm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/math/dense.hpp"

namespace coterie {

namespace {

constexpr int kMostSteps = 200;
constexpr double kClose = 1e-14;   // of tau, what the value may still lack
constexpr double kWithin = 0.995;  // of the way to the nearest bound
// From the inside: the first barrier may cost this part of the gap, each is this part of the one before, and so many are tried.
constexpr double kFirstShare = 0.1, kFalls = 0.1;
constexpr int kMostBarriers = 16;

class Interior {
 public:
  Interior(MixedGram& K, const SvmProblem& problem, ConstVectorRef start, double tau,
           const KeepGoing& keep_going)
      : problem_(problem), n_(K.size()), tau_(tau), keep_going_(keep_going), K_(n_, n_) {
    for (Index k = 0; k < n_; ++k) {
      K_.col(k) = Eigen::Map<const Vector>(K.row(k), n_);
      if (k % 64 == 0) ask(keep_going_);
    }
    begin(start);
  }

  SvmResult solve() {
    double least = std::numeric_limits<double>::infinity();
    int idle = 0;
    for (steps_ = 0; steps_ < kMostSteps && idle < 2; ++steps_) {
      ask(keep_going_);
      if (!find_direction()) break;
      move(step_length());
      if (lacks_ <= kClose * tau_) break;
      // Close to the end every step squares what is lacking, until rounding is all that is left.
      idle = lacks_ < 1e-3 * tau_ && lacks_ >= 0.1 * least ? idle + 1 : 0;
      least = std::min(least, lacks_);
    }
    balance();
    return result();
  }

 private:
  // A start within the bounds whose two classes weigh the same.
  void begin(ConstVectorRef start) {
    alpha_.resize(n_);
    for (Index i = 0; i < n_; ++i) {
      const double C = problem_.C[i];
      const double least = std::min(0.25 * C, 0.1 * tau_);
      alpha_[i] = std::clamp(i < start.size() ? start[i] : 0.0, least, C - least);
    }
    balance();
  }

  // The heavier class becomes as light as the other, to rounding: a step leaves that to the conditioning of its matrix.
  void balance() {
    double positive = 0, negative = 0;
    for (Index i = 0; i < n_; ++i) (problem_.y[i] > 0 ? positive : negative) += alpha_[i];
    const double target = std::min(positive, negative);
    for (Index i = 0; i < n_; ++i) alpha_[i] *= target / (problem_.y[i] > 0 ? positive : negative);
    room_ = problem_.C - alpha_;
    set_gradient();
  }

  void set_gradient() {
    beta_ = problem_.y.cwiseProduct(alpha_);
    e_ = times(K_, beta_) - problem_.y.cwiseProduct(problem_.p);
  }

  // Newton's, with the sum of beta put right: (K + diag(d)) move + nu 1 = slope, 1'move = -1'beta
  bool find_direction() {
    const Vector slope =
        problem_.y.cwiseProduct(tau_ * (alpha_.cwiseInverse() - room_.cwiseInverse())) - e_;
    Eigen::MatrixXd L = K_;
    L.diagonal().array() +=
        tau_ * (alpha_.array().square().inverse() + room_.array().square().inverse());
    if (!cholesky(L, keep_going_)) return false;
    const Vector a = cholesky_solve(L, slope);
    const Vector c = cholesky_solve(L, Vector(Vector::Ones(n_)));
    move_ = a - (a.sum() + beta_.sum()) / c.sum() * c;
    if (!move_.allFinite()) return false;
    image_ = times(K_, move_);
    const Vector moved = problem_.y.cwiseProduct(move_);
    lacks_ = image_.dot(move_) + tau_ * ((moved.cwiseQuotient(alpha_)).squaredNorm() +
                                         (moved.cwiseQuotient(room_)).squaredNorm());
    return true;
  }

  // The slope of the value after a part of the move.
  double slope_after(double part) const {
    double sum = -e_.dot(move_) - part * image_.dot(move_);
    for (Index i = 0; i < n_; ++i) {
      const double step = problem_.y[i] * move_[i];
      sum += tau_ * step * (1 / (alpha_[i] + part * step) - 1 / (room_[i] - part * step));
    }
    return sum;
  }

  // Where the slope is zero, or the whole move where that is about as good.
  double step_length() const {
    double most = 1 / kWithin;
    for (Index i = 0; i < n_; ++i) {
      const double step = problem_.y[i] * move_[i];
      if (step < 0) most = std::min(most, alpha_[i] / -step);
      if (step > 0) most = std::min(most, room_[i] / step);
    }
    double high = kWithin * most;
    if (lacks_ <= 0.01 * tau_ || slope_after(high) >= 0) return high;
    double low = 0;
    for (int k = 0; k < 30 && high - low > 0.01 * high; ++k) {
      const double middle = 0.5 * (low + high);
      (slope_after(middle) >= 0 ? low : high) = middle;
    }
    return 0.5 * (low + high);
  }

  void move(double part) {
    const Vector step = part * problem_.y.cwiseProduct(move_);
    alpha_ += step;
    room_ -= step;
    set_gradient();
  }

  SvmResult result() const {
    SvmResult out;
    out.alpha = alpha_;
    out.gradient = e_;
    out.bias = best_bias(e_, problem_);
    const double square = beta_.dot(e_ + problem_.y.cwiseProduct(problem_.p));
    out.dual = problem_.p.dot(alpha_) - 0.5 * square;
    out.plain = 0.5 * square;
    for (Index i = 0; i < n_; ++i)
      out.plain += problem_.C[i] * std::max(0.0, -problem_.y[i] * (e_[i] + out.bias));
    out.primal = out.dual;
    for (Index i = 0; i < n_; ++i)
      out.primal +=
          tau_ * (std::log(alpha_[i] / problem_.C[i]) + std::log(room_[i] / problem_.C[i]));
    out.roundings = static_cast<double>(n_) + 2;
    out.mass = K_.diagonal().cwiseMax(0.0).cwiseSqrt().dot(alpha_);
    out.newton_steps = steps_;
    out.converged = true;
    return out;
  }

  const SvmProblem& problem_;
  Index n_;
  double tau_;
  const KeepGoing& keep_going_;
  Eigen::MatrixXd K_;
  Vector alpha_, room_;  // room = C - alpha, without its rounding
  Vector beta_, e_;      // y alpha; the gradient K beta - y p
  Vector move_, image_;  // of beta; K times it
  double lacks_ = 0;     // twice what the value lacks, by Newton's model
  Index steps_ = 0;
};

}  // namespace

SvmResult solve_interior(MixedGram& K, const SvmProblem& problem, ConstVectorRef start, double tau,
                         const KeepGoing& keep_going) {
  return Interior(K, problem, start, tau, keep_going).solve();
}

namespace {

// At a barrier of tau a variable and its multiplier have the product tau: of one that belongs to its bound the variable is the smaller, in
// units of C and of 1.
Vector at_bounds(const Vector& alpha, ConstVectorRef C, double tau) {
  Vector out = alpha;
  for (Index i = 0; i < alpha.size(); ++i) {
    const double near = std::sqrt(tau * C[i]);
    if (alpha[i] < near) out[i] = 0;
    if (C[i] - alpha[i] < near) out[i] = C[i];
  }
  return out;
}

}  // namespace

SvmResult solve_from_inside(MixedGram& K, const SvmProblem& problem, SvmResult found,
                            const SvmSettings& settings) {
  const auto gap = [](const SvmResult& x) { return x.plain - x.dual; };
  double tau = kFirstShare * gap(found) / (2 * static_cast<double>(K.size()));
  Vector alpha = found.alpha;
  for (int k = 0; k < kMostBarriers && !found.converged; ++k, tau *= kFalls) {
    SvmResult inside = solve_interior(K, problem, alpha, tau, settings.keep_going);
    if (!inside.alpha.allFinite()) return found;
    alpha = inside.alpha;
    inside.primal = inside.plain;
    inside.converged = gap(inside) <= settings.gap_tolerance * inside.plain;
    inside.steps = found.steps;
    if (gap(inside) < gap(found)) found = std::move(inside);
  }
  // The SVM itself from there: few alpha are between their bounds then, and a next start is as good.
  for (const Vector& start : {alpha, at_bounds(alpha, problem.C, tau / kFalls)}) {
    SvmResult finished = solve_svm(K, problem, start, settings);
    finished.steps += found.steps;
    if (finished.converged) return finished;
    if (gap(finished) < gap(found)) found = std::move(finished);
  }
  return found;
}

Vector barrier_curvature(ConstVectorRef alpha, ConstVectorRef C, double tau) {
  return tau * (alpha.array().square().inverse() + (C - alpha).array().square().inverse()).matrix();
}

}  // namespace coterie
