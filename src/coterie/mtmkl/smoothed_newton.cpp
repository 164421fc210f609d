#include "coterie/mtmkl/smoothed_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coterie/mtmkl/model_step.hpp"

namespace coterie {

namespace {

// Tasks closer than this many eps belong together: they follow eps on its way to zero.
constexpr double reach = 2;
// And perhaps those that are closer than this.
constexpr double far_reach = 10;

// What is known at a point theta.
struct Point {
  Matrix offset;  // theta - base, all T x padded M
  Matrix theta;
  PenaltyValue penalty;
  Matrix r;          // gradient
  double value = 0;  // of the smoothed objective, (30)
  double slope = 0;  // sum_t r_t'theta_t - min_D r_t'x: what Newton has left to do
  double gap() const { return penalty.kink + slope; }
};

class SmoothedNewton {
 public:
  SmoothedNewton(const ThetaProblem& problem, const Matrix& theta, double eps)
      : problem_(problem),
        T_(problem.c.rows()),
        M_(problem.c.cols()),
        fixed_(problem.fixed),
        p_(problem.weights.p()),
        penalty_(problem, theta, eps),
        edges_(problem, penalty_) {
    base_ = Matrix::Zero(T_, padded(M_));
    base_.leftCols(M_) = theta;
    step_ = Matrix::Zero(T_, base_.cols());
    for (Point* point : {&at_, &trial_}) {
      point->theta = base_;
      point->offset = point->r = step_;
    }
    evaluate(at_);
    shrink(1, fused_parts(reach));
  }

  const Point& at() const { return at_; }
  double eps() const { return penalty_.eps(); }
  Matrix theta() const {
    Matrix theta = at_.theta.leftCols(M_);
    theta.bottomRows(T_ - fixed_) = theta.bottomRows(T_ - fixed_).cwiseMax(0.0);
    return theta;
  }

  // One Newton step with a line search. False: no descent.
  bool step(const std::function<bool()>& keep_going) {
    for (int attempt = 0; attempt < 5; ++attempt) {
      faces_ = choose_faces(problem_.weights, M_, fixed_, at_.theta, at_.r, eps(), attempt == 0);
      const double tau = attempt == 0 ? 1 : attempt == 1 ? 0.5 : 0;  // of (32)
      edges_.weigh(at_.penalty.norm, tau);
      Matrix residual = -at_.r;
      faces_.project(residual);
      Matrix bend(T_, base_.cols());
      for (Index t = 0; t < T_; ++t)
        bend.row(t) = faces_.bend.row(t).array() +
                      ridge_ * residual.row(t).norm() * faces_.free.row(t).array();
      step_ = model_.solve(
          {problem_, penalty_, edges_, faces_, at_.theta, bend}, faces_, at_.r,
          [&] { return fused_parts(reach); }, keep_going);
      if (search()) {
        ridge_ = ridge_ > 1e-2 ? 0.1 * ridge_ : 0;
        return true;
      }
      ridge_ = std::max(0.1, 10 * ridge_);
    }
    return false;
  }

  // Moves on along the path, (33): the members of a group keep their places in units of eps.
  void shrink(double factor, const Groups& groups) {
    for (const std::vector<Index>& group : groups) {
      if (group.size() < 2) {
        base_.row(group.front()) = at_.theta.row(group.front());
        at_.offset.row(group.front()).setZero();
        continue;
      }
      const Eigen::RowVectorXd centre = centre_of(group);
      const bool fixed = group.front() < fixed_;
      for (const Index t : group) {
        auto offset = at_.offset.row(t).head(M_);
        offset += base_.row(t).head(M_) - centre;
        offset *= factor;
        base_.row(t).head(M_) = centre;
        if (t >= fixed_ && on_sphere(t) && (!fixed || on_sphere(group.front())))
          offset += inflation(centre, offset) * (centre + offset);
      }
    }
    at_.theta = base_ + at_.offset;
    penalty_.set_eps(factor * eps());
    evaluate(at_);
  }

  // The same with the groups that leave Newton less to do: those nearby, or with tasks a little further away. A task at five eps may be on its way into the group; left behind, it
  // sees the group collapse, and all its pair duals turn.
  void follow(double factor) {
    const Groups near = fused_parts(reach);
    const Groups far = fused_parts(far_reach);
    if (near == far) return shrink(factor, near);
    const double eps_before = eps();
    Matrix base = base_;
    Point at = at_;
    shrink(factor, far);
    std::swap(base, base_);
    std::swap(at, at_);
    penalty_.set_eps(eps_before);
    shrink(factor, near);
    if (!(at.slope < at_.slope)) return;
    std::swap(base, base_);
    std::swap(at, at_);
  }

  // Connected parts of the edges shorter than this many eps, none with two fixed tasks.
  Groups fused_parts(double lengths) const {
    return penalty_.fused_parts(at_.penalty.norm, lengths);
  }

  // Where a group will be at eps = 0: at its fixed task, or the mean of its members, without the kernels that some member does not use.
  Eigen::RowVectorXd centre_of(const std::vector<Index>& group) const {
    if (group.front() < fixed_) return at_.theta.row(group.front()).head(M_);
    Eigen::RowVectorXd mean = Eigen::RowVectorXd::Zero(M_);
    for (const Index t : group) mean += at_.theta.row(t).head(M_);
    mean /= static_cast<double>(group.size());
    Eigen::RowVectorXd centre = mean;
    for (const Index t : group)
      for (Index m = 0; m < M_; ++m)
        if (at_.theta(t, m) == 0) centre[m] = 0;
    if (centre.maxCoeff() <= 0.5 * mean.maxCoeff()) centre = mean;  // hardly a group
    if (p_ == 1) {
      Index largest = 0;
      centre.maxCoeff(&largest);
      centre[largest] = 0;
      centre[largest] = 1 - centre.sum();
    } else if (!std::isinf(p_)) {
      bool outer = false;  // where one member is on the boundary, all will be
      for (const Index t : group) outer = outer || on_sphere(t);
      if (outer) centre /= norm(centre);
    }
    return centre;
  }

  // theta with the mean of each group in the place of its members.
  Matrix merged(const Groups& groups) const {
    Matrix z = at_.theta.leftCols(M_);
    for (const std::vector<Index>& group : groups) {
      if (group.size() < 2) continue;
      const Eigen::RowVectorXd centre = centre_of(group);
      for (const Index t : group) z.row(t) = centre;
    }
    return z;
  }

  // (29) at z with the pair duals (31) of theta.
  double gap_at(const Matrix& z) {
    const Matrix& pull = at_.penalty.pull;
    double gap = 0;
    for (Index t = 0; t < fixed_; ++t) gap -= pull.row(t).head(M_).dot(z.row(t));
    Vector r_t(M_);
    for (Index t = fixed_; t < T_; ++t) {
      r_t = problem_.c.row(t) + pull.row(t).head(M_);
      r_t.noalias() += problem_.B[index(t)] * z.row(t).transpose();
      gap +=
          r_t.dot(z.row(t)) - problem_.weights.smallest(r_t) - pull.row(t).head(M_).dot(z.row(t));
    }
    return gap + penalty_.with_kinks(z);
  }

  Matrix pair_duals() const { return penalty_.pair_duals(base_, at_.offset, at_.penalty.norm); }

 private:
  static std::size_t index(Index i) { return static_cast<std::size_t>(i); }

  void evaluate(Point& x) {
    penalty_.evaluate(x.theta, base_, x.offset, x.penalty);
    x.value = x.penalty.value;
    double slope = 0;
    for (Index t = fixed_; t < T_; ++t) {
      auto r = x.r.row(t).head(M_);
      const auto theta = x.theta.row(t).head(M_);
      r.noalias() = theta * problem_.B[index(t)];
      x.value += problem_.c.row(t).dot(theta) + 0.5 * r.dot(theta);
      r += problem_.c.row(t) + x.penalty.pull.row(t).head(M_);
      slope += r.dot(theta) - problem_.weights.smallest(r.transpose());
    }
    x.slope = slope;
  }

  // trial <- the point of D that theta + length step leads to
  void retract(double length) {
    trial_.offset = at_.offset + length * step_;
    for (Index t = fixed_; t < T_; ++t) {
      const auto base = base_.row(t).head(M_);
      auto offset = trial_.offset.row(t).head(M_);
      auto x = trial_.theta.row(t).head(M_);
      for (Index m = 0; m < M_; ++m) {
        if (base[m] + offset[m] < 0 || (length == 1 && at_.theta(t, m) + step_(t, m) == 0))
          offset[m] = -base[m];
        if (std::isinf(p_) && base[m] + offset[m] > 1) offset[m] = 1 - base[m];
      }
      x = base + offset;
      const Index pivot = faces_.pivot[index(t)];
      if (p_ == 1) {
        offset[pivot] = 0;
        offset[pivot] = -offset.sum();
        x[pivot] = base[pivot] + offset[pivot];
        if (x[pivot] >= 0) continue;
        x = problem_.weights
                .project((at_.theta.row(t) + length * step_.row(t)).head(M_).transpose())
                .transpose();
        offset = x - base;
      } else if (!std::isinf(p_) && (pivot >= 0 || !problem_.weights.contains(x.transpose(), 0))) {
        const double inside =
            pivot >= 0 ? (1 - length) * std::min(0.0, excess(base, at_.offset.row(t).head(M_))) : 0;
        const double growth = inflation(base, offset, inside);
        if (growth < -0.1)  // from far away
          offset = x / norm(x) - base;
        else
          offset += growth * x;
        x = base + offset;
      }
    }
  }

  // sum x^p - 1 of x = base + offset. What the members of a group have in common rounds alike.
  double excess(const Eigen::Ref<const Eigen::RowVectorXd>& base,
                const Eigen::Ref<const Eigen::RowVectorXd>& offset) const {
    double sum = base.array().pow(p_).sum() - 1;
    for (Index m = 0; m < base.size(); ++m)
      sum += base[m] > 0 ? std::pow(base[m], p_) * std::expm1(p_ * std::log1p(offset[m] / base[m]))
                         : std::pow(offset[m], p_);
    return sum;
  }

  // By how much x = base + offset, not zero, must grow for that excess, in units of x.
  double inflation(const Eigen::Ref<const Eigen::RowVectorXd>& base,
                   const Eigen::Ref<const Eigen::RowVectorXd>& offset, double wanted = 0) const {
    return std::expm1((std::log1p(wanted) - std::log1p(excess(base, offset))) / p_);
  }

  // Whether task t is on the outer boundary of a ball.
  bool on_sphere(Index t) const {
    return p_ != 1 && !std::isinf(p_) && norm(at_.theta.row(t).head(M_)) > 1 - 1e-3 * eps();
  }

  double norm(const Eigen::Ref<const Eigen::RowVectorXd>& x) const {
    if (p_ == 2) return x.norm();
    return std::pow(x.array().pow(p_).sum(), 1 / p_);
  }

  // The derivative of the objective at the trial point along the way that leads there: on a curved boundary the step turns with it.
  double slope_along_step() const {
    double sum = trial_.r.cwiseProduct(step_).sum();
    if (p_ == 1 || std::isinf(p_)) return sum;
    for (Index t = 0; t < T_; ++t) {
      if (faces_.pivot[index(t)] < 0) continue;
      const auto x = trial_.theta.row(t).head(M_).array();
      const double outward = (x.pow(p_ - 1) * step_.row(t).head(M_).array()).sum();
      sum -= outward * trial_.r.row(t).head(M_).dot(x.matrix());
    }
    return sum;
  }

  // A length that lowers the objective and, beyond a kink, most of the slope along the step: a shorter one would crawl towards the kink, step by step.
  bool search() {
    constexpr int most_trials = 12;
    constexpr double flat = 0.3;  // of the slope at the start
    const double start = at_.r.cwiseProduct(step_).sum();
    const double noise = 1e-13 * std::abs(at_.value);
    double length = 1;
    double low = 0;  // the slope is negative at low, positive at high
    double high = 1;
    double low_slope = start;
    double high_slope = 0;
    for (int trial = 0; trial < most_trials; ++trial) {
      retract(length);
      evaluate(trial_);
      const double promised = at_.r.cwiseProduct(trial_.theta - at_.theta).sum();
      const double slope = slope_along_step();
      const bool falls = trial_.value <= at_.value + 1e-4 * std::min(0.0, promised) + noise &&
                         (trial_.value < at_.value - noise || trial_.slope < at_.slope);
      const bool rounding = std::abs(trial_.value - at_.value) <= noise;
      if (falls && (rounding || std::abs(slope) <= -flat * start || (length == 1 && slope < 0) ||
                    trial + 1 == most_trials)) {
        std::swap(at_, trial_);
        return true;
      }
      const bool rises = trial_.value > at_.value + noise;
      if (!(start < 0) || (length == 1 && slope <= 0 && !rises)) return false;  // rounding
      if (slope > 0 || rises) {
        high = length;
        high_slope = slope > 0 ? slope : -start;
      } else {
        low = length;
        low_slope = slope;
      }
      const double width = high - low;
      const double secant = low - low_slope * width / (high_slope - low_slope);
      length = trial % 2 == 1 ? low + 0.5 * width
                              : std::clamp(secant, low + 0.1 * width, high - 0.1 * width);
    }
    return false;
  }

  const ThetaProblem& problem_;
  Index T_, M_, fixed_;
  double p_;
  RoundedPenalty penalty_;
  EdgeCurvature edges_;
  ModelStep model_;
  double ridge_ = 0;  // P_0 of (36), times the gradient
  Matrix base_;       // equal within a group
  Point at_, trial_;
  Faces faces_;  // of the point at_
  Matrix step_;
};

// Newton steps while eps falls, until the weights with their groups merged are close enough.
class PathFollower {
 public:
  PathFollower(const ThetaProblem& problem, const Matrix& theta, double eps,
               const ThetaSettings& settings)
      : problem_(problem),
        settings_(settings),
        tolerance_(settings.gap_tolerance),
        newton_(problem, theta, eps) {}

  SmoothedPath follow() {
    for (;;) {
      const Point& at = newton_.at();
      const bool settled = at.slope <= std::max(0.5 * at.penalty.kink, 0.01 * tolerance_);
      double gap = at.gap();
      if (at.slope <= 0.8 * tolerance_ && (settled || gap <= tolerance_) && is_done(gap)) break;
      if (path_.iterations >= std::min(kMostSteps, settings_.max_iterations) ||
          (settings_.keep_going && !settings_.keep_going()))
        break;
      if (settled) {
        if (newton_.eps() < kSmallestEps) break;
        sharpen(gap);
      }
      if (is_slow(gap)) break;
      ++path_.iterations;
      if (!newton_.step(settings_.keep_going)) break;
    }
    finish();
    return std::move(path_);
  }

 private:
  static constexpr Index kMostSteps = 80;
  static constexpr Index kPatience =
      10;  // steps in which a gap that will do must halve to be worth more
  static constexpr double kSmallestEps = 1e-11;

  // The best of three guesses of the groups, and its gap.
  double merge() {
    double gap = std::numeric_limits<double>::infinity();
    for (const double lengths : {reach, far_reach, 1.0}) {
      Groups groups = newton_.fused_parts(lengths);
      Matrix merged = newton_.merged(groups);
      const double there = newton_.gap_at(merged);
      if (there < gap) {
        gap = there;
        path_.groups = std::move(groups);
        path_.merged = std::move(merged);
      }
      if (gap <= tolerance_) break;
    }
    return gap;
  }

  void separate() {
    path_.groups = singletons(problem_.c.rows());
    path_.merged = newton_.theta();
  }

  // Sets the gap to that of merged groups. Where these are not asked for, weights without them will do.
  bool is_done(double& gap) {
    gap = merge();
    path_.converged = gap <= tolerance_;
    if (!path_.converged && newton_.at().gap() <= tolerance_ && !settings_.groups) {
      separate();
      path_.converged = true;
    }
    return path_.converged;
  }

  // Faster where the groups stay.
  void sharpen(double gap) {
    Groups groups = newton_.fused_parts(reach);
    const double least = groups == groups_before_ ? 1e-3 : 0.03;
    newton_.follow(std::clamp(0.3 * tolerance_ / gap, least, 0.5));
    groups_before_ = std::move(groups);
    mark_ = std::numeric_limits<double>::infinity();
  }

  // Good enough, and no longer halving.
  bool is_slow(double gap) {
    if (gap < 0.5 * mark_) {
      mark_ = gap;
      marked_ = path_.iterations;
    }
    return gap <= settings_.enough && path_.iterations >= marked_ + kPatience &&
           (!settings_.groups || merge() <= settings_.enough);
  }

  void finish() {
    path_.theta = newton_.theta();
    path_.eps = newton_.eps();
    path_.r = newton_.at().r.leftCols(problem_.c.cols());
    path_.nu = newton_.pair_duals();
    if (!path_.converged && merge() > newton_.at().gap() && !settings_.groups) separate();
    path_.gap = model_gap(problem_, path_.merged, path_.nu);
    path_.converged = path_.gap <= tolerance_;
  }

  const ThetaProblem& problem_;
  const ThetaSettings& settings_;
  double tolerance_;
  SmoothedNewton newton_;
  SmoothedPath path_;
  Groups groups_before_;
  double mark_ = std::numeric_limits<double>::infinity();  // the gap that must halve
  Index marked_ = 0;                                       // and when it was reached
};

}  // namespace

double model_gap(const ThetaProblem& problem, const Matrix& theta, const Matrix& nu) {
  Matrix r = problem.c;
  double gap = 0;
  for (std::size_t i = 0; i < problem.graph.size(); ++i) {
    const Edge& edge = problem.graph[i];
    const double* a = theta.row(edge.t).data();
    const double* b = theta.row(edge.s).data();
    const double* n = nu.row(static_cast<Index>(i)).data();
    double* to = r.row(edge.t).data();
    double* from = r.row(edge.s).data();
    double squared = 0;
    double along = 0;
    for (Index m = 0; m < theta.cols(); ++m) {
      const double d = a[m] - b[m];
      squared += d * d;
      along += n[m] * d;
      to[m] += n[m];
      from[m] -= n[m];
    }
    gap += problem.kappa[static_cast<Index>(i)] * std::sqrt(squared) - along;
  }
  for (Index t = problem.fixed; t < theta.rows(); ++t) {
    r.row(t).noalias() += theta.row(t) * problem.B[static_cast<std::size_t>(t)];
    gap += r.row(t).dot(theta.row(t)) - problem.weights.smallest(r.row(t).transpose());
  }
  return gap;
}

SmoothedPath follow_smoothed_path(const ThetaProblem& problem, const Matrix& theta, double eps,
                                  const ThetaSettings& settings) {
  return PathFollower(problem, theta, eps, settings).follow();
}

}  // namespace coterie
