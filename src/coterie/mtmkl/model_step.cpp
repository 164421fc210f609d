#include "coterie/mtmkl/model_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace coterie {

namespace {

using RowVector = Eigen::RowVectorXd;

// The bounds of D other than its outer boundary, which (36) follows.
class Bounds {
 public:
  explicit Bounds(const WeightSet& weights)
      : weights_(weights), simplex_(weights.p() == 1), box_(std::isinf(weights.p())) {}

  bool crossed(const RowVector& x) const { return x.minCoeff() < 0 || (box_ && x.maxCoeff() > 1); }

  // The move from x with what crosses a bound put on it; on the simplex the pivot yields.
  RowVector cut(const RowVector& x, const RowVector& move, Index pivot) const {
    RowVector y = move.cwiseMax(-x);
    if (box_) y = y.cwiseMin((1 - x.array()).matrix());
    if (!simplex_) return y;
    y[pivot] = 0;
    y[pivot] = -y.sum();
    if (x[pivot] + y[pivot] < 0) y = weights_.project((x + move).transpose()).transpose() - x;
    return y;
  }

  // How much of the move from x stays within the bounds.
  double share_within(const RowVector& x, const RowVector& move) const {
    double share = 1;
    for (Index m = 0; m < x.size(); ++m) share = std::min(share, until_bound(x[m], move[m]));
    return share;
  }

  // That share of the move, exactly to the bound that stops it.
  RowVector shorten(const RowVector& x, const RowVector& move, double share) const {
    RowVector y = share * move;
    if (share == 1) return y;
    for (Index m = 0; m < x.size(); ++m)
      if (until_bound(x[m], move[m]) <= share) y[m] = (move[m] < 0 ? 0 : 1) - x[m];
    return y;
  }

  // Kernels that the move led to a bound leave the face. `step` leads from theta, and for them exactly to the bound.
  void leave(Faces& faces, Index t, const RowVector& theta, const RowVector& move,
             Eigen::Ref<RowVector> step) const {
    constexpr double rounding = 1e-15;
    bool left = false;
    for (Index m = 0; m < theta.size(); ++m) {
      const double x = theta[m] + step[m];
      const bool low = x <= rounding && move[m] < 0;
      const bool high = box_ && x >= 1 - rounding && move[m] > 0;
      if (faces.free(t, m) == 0 || !(low || high)) continue;
      step[m] = (low ? 0 : 1) - theta[m];
      faces.free(t, m) = faces.normal(t, m) = faces.bend(t, m) = 0;
      --faces.unknowns;
      left = true;
    }
    if (left) faces.choose_pivot(t, theta + step);
  }

  // The move from theta (T x padded M) to zero for kernels that are hardly used and not free.
  Matrix drop_unused(const Matrix& theta, const Faces& faces, Index M, Index fixed) const {
    Matrix step = Matrix::Zero(theta.rows(), theta.cols());
    for (Index t = fixed; t < theta.rows(); ++t)
      for (Index m = 0; m < M; ++m) {
        if (faces.free(t, m) != 0 || theta(t, m) == 0 || theta(t, m) > 0.5) continue;
        step(t, m) = -theta(t, m);
        if (simplex_) step(t, faces.pivot[static_cast<std::size_t>(t)]) += theta(t, m);
      }
    return step;
  }

 private:
  double until_bound(double x, double move) const {
    if (move < 0 && x + move < 0) return std::max(0.0, x) / -move;
    if (box_ && move > 0 && x + move > 1) return std::max(0.0, 1 - x) / move;
    return std::numeric_limits<double>::infinity();
  }

  const WeightSet& weights_;
  bool simplex_, box_;
};

}  // namespace

Matrix ModelStep::solve(const NewtonMatrix& H, Faces& faces, const Matrix& r,
                        const std::function<Groups()>& groups,
                        const std::function<bool()>& keep_going) {
  constexpr Index most_rounds = 100;
  constexpr double good = 0.5;      // of the fall that was promised: the bounds hardly matter
  constexpr double worth_it = 0.3;  // of the fall so far: less is left to the next step
  const Index T = r.rows();
  const Index M = H.problem.c.cols();
  const Index fixed = H.problem.fixed;
  const Bounds bounds(H.problem.weights);
  // Moves are summed as such: within a group they are far smaller than the rounding of weights.
  Matrix step = bounds.drop_unused(H.theta, faces, M, fixed);
  const Matrix arguments = faces.free + step.cwiseAbs();  // not zero where moves are not
  Matrix gradient = r;
  Matrix image(T, r.cols()), move(T, r.cols());
  // How m changes by the move; image <- H move
  const auto change_by_move = [&] {
    H.edges.prepare_products(H.theta, arguments);
    H.apply(move, image);
    return gradient.cwiseProduct(move).sum() + 0.5 * image.cwiseProduct(move).sum();
  };
  double fallen = 0;
  if (!step.isZero(0)) {
    move = step;
    fallen = -change_by_move();
    gradient += image;
  }
  for (rounds_ = 1;; ++rounds_) {
    Matrix residual = -gradient;
    faces.project(residual);
    const Matrix wanted = system_.solve(H, residual, groups, keep_going);
    const double promised = 0.5 * residual.cwiseProduct(wanted).sum();
    double share = 1;  // of the move that crosses no bound
    move = wanted;
    for (Index t = fixed; t < T; ++t) {
      const RowVector x = (H.theta.row(t) + step.row(t)).head(M);
      const RowVector own = wanted.row(t).head(M);
      if (!bounds.crossed(x + own)) continue;
      // Cut at the bounds or stopped at the first of them, whichever is nearer in the metric of the task's own curvature.
      const double own_share = bounds.share_within(x, own);
      share = std::min(share, own_share);
      const RowVector cut = bounds.cut(x, own, faces.pivot[static_cast<std::size_t>(t)]);
      const RowVector stopped = bounds.shorten(x, own, own_share);
      move.row(t).head(M) =
          H.own_cost(t, cut - own) <= H.own_cost(t, stopped - own) ? cut : stopped;
    }
    if (share == 1) return step + wanted;
    double change = change_by_move();
    if (-change <
        good * promised * share * (2 - share)) {  // all stopped together: m falls for certain
      for (Index t = fixed; t < T; ++t)
        move.row(t).head(M) =
            bounds.shorten((H.theta.row(t) + step.row(t)).head(M), wanted.row(t).head(M), share);
      change = change_by_move();
    }
    step += move;
    gradient += image;
    fallen -= change;
    for (Index t = fixed; t < T; ++t)
      bounds.leave(faces, t, H.theta.row(t).head(M), wanted.row(t).head(M), step.row(t).head(M));
    if (-change >= good * promised || promised <= worth_it * fallen || rounds_ == most_rounds ||
        (keep_going && !keep_going()))
      return step;
  }
}

}  // namespace coterie
