#include "coterie/mtmkl/model_step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace coterie {

namespace {

using RowVector = Eigen::RowVectorXd;

// The bounds of D other than its outer boundary, which (35) follows.
class Bounds {
 public:
  explicit Bounds(const WeightSet& weights)
      : weights_(weights), simplex_(weights.p() == 1), box_(std::isinf(weights.p())) {}

  bool crossed(const RowVector& x) const { return x.minCoeff() < 0 || (box_ && x.maxCoeff() > 1); }

  // x with what crosses a bound put on it; on the simplex the pivot yields.
  RowVector cut(const RowVector& x, Index pivot) const {
    RowVector y = x.cwiseMax(0.0);
    if (box_) y = y.cwiseMin(1.0);
    if (!simplex_) return y;
    y[pivot] = 0;
    y[pivot] = 1 - y.sum();
    if (y[pivot] < 0) y = weights_.project(x.transpose()).transpose();
    return y;
  }

  // How much of the move from x stays within the bounds.
  double share_within(const RowVector& x, const RowVector& move) const {
    double share = 1;
    for (Index m = 0; m < x.size(); ++m) {
      if (x[m] + move[m] < 0) share = std::min(share, std::max(0.0, x[m]) / -move[m]);
      if (box_ && x[m] + move[m] > 1) share = std::min(share, std::max(0.0, 1 - x[m]) / move[m]);
    }
    return share;
  }

  // x after that share of the move, exactly on the bound that stopped it.
  RowVector advance(const RowVector& x, const RowVector& move, double share) const {
    RowVector y = x + share * move;
    if (share == 1) return y;
    for (Index m = 0; m < x.size(); ++m) {
      if (y[m] < 0 || (move[m] < 0 && std::max(0.0, x[m]) / -move[m] <= share)) y[m] = 0;
      if (box_ && (y[m] > 1 || (move[m] > 0 && std::max(0.0, 1 - x[m]) / move[m] <= share)))
        y[m] = 1;
    }
    return y;
  }

  // Kernels of x on a bound that the move led to leave the face.
  void leave(Faces& faces, Index t, const RowVector& x, const RowVector& move) const {
    bool left = false;
    for (Index m = 0; m < x.size(); ++m) {
      const bool low = x[m] <= 0 && move[m] < 0;
      const bool high = box_ && x[m] >= 1 && move[m] > 0;
      if (faces.free(t, m) == 0 || !(low || high)) continue;
      faces.free(t, m) = faces.normal(t, m) = faces.bend(t, m) = 0;
      --faces.unknowns;
      left = true;
    }
    if (left) faces.choose_pivot(t, x);
  }

  // Weights theta (T x padded M) with zeros for kernels that are hardly used and not free.
  Matrix drop_unused(const Matrix& theta, const Faces& faces, Index M) const {
    Matrix x = theta;
    for (Index t = 0; t < theta.rows(); ++t)
      for (Index m = 0; m < M; ++m) {
        if (faces.free(t, m) != 0 || theta(t, m) == 0 || theta(t, m) > 0.5) continue;
        x(t, m) = 0;
        if (simplex_) x(t, faces.pivot[static_cast<std::size_t>(t)]) += theta(t, m);
      }
    return x;
  }

 private:
  const WeightSet& weights_;
  bool simplex_, box_;
};

}  // namespace

Matrix ModelStep::solve(const NewtonMatrix& H, Faces& faces, const Matrix& r,
                        const std::function<Groups()>& groups,
                        const std::function<bool()>& keep_going) {
  constexpr Index most_rounds = 100;
  constexpr double good = 0.5;      // of the fall that was promised: the bounds hardly matter
  constexpr double worth_it = 0.1;  // of the fall so far: less is left to the next step
  const Index T = r.rows();
  const Index M = H.problem.c.cols();
  const Bounds bounds(H.problem.weights);
  Matrix x = bounds.drop_unused(H.theta, faces, M);
  const Matrix arguments = faces.free + (x - H.theta).cwiseAbs();  // not zero where moves are not
  Matrix gradient = r;
  Matrix image(T, r.cols()), move(T, r.cols()), next(T, r.cols());
  // m after the move to y; image <- H (y - x)
  const auto change_to = [&](const Matrix& y) {
    move = y - x;
    H.edges.prepare_products(H.theta, arguments);
    H.apply(move, image);
    return gradient.cwiseProduct(move).sum() + 0.5 * image.cwiseProduct(move).sum();
  };
  double fallen = 0;
  if (x != H.theta) {
    std::swap(x, next);
    x = H.theta;
    fallen = -change_to(next);
    gradient += image;
    x = next;
  }
  for (rounds_ = 1;; ++rounds_) {
    Matrix residual = -gradient;
    faces.project(residual);
    const Matrix wanted = system_.solve(H, residual, groups, keep_going);
    const double promised = 0.5 * residual.cwiseProduct(wanted).sum();
    double share = 1;  // of the move that crosses no bound
    next = x + wanted;
    for (Index t = 0; t < T; ++t) {
      const RowVector y = next.row(t).head(M);
      if (!bounds.crossed(y)) continue;
      // Cut at the bounds or stopped at the first of them, whichever is nearer in the metric of the task's own curvature.
      const RowVector here = x.row(t).head(M);
      const RowVector own = wanted.row(t).head(M);
      const double own_share = bounds.share_within(here, own);
      share = std::min(share, own_share);
      const RowVector cut = bounds.cut(y, faces.pivot[static_cast<std::size_t>(t)]);
      const RowVector stopped = bounds.advance(here, own, own_share);
      next.row(t).head(M) = H.own_cost(t, cut - y) <= H.own_cost(t, stopped - y) ? cut : stopped;
    }
    if (share == 1) return next - H.theta;
    double change = change_to(next);
    if (-change <
        good * promised * share * (2 - share)) {  // all stopped together: m falls for certain
      for (Index t = 0; t < T; ++t)
        next.row(t).head(M) = bounds.advance(x.row(t).head(M), wanted.row(t).head(M), share);
      change = change_to(next);
    }
    x = next;
    gradient += image;
    fallen -= change;
    for (Index t = 0; t < T; ++t) bounds.leave(faces, t, x.row(t).head(M), wanted.row(t).head(M));
    if (-change >= good * promised || promised <= worth_it * fallen || rounds_ == most_rounds ||
        (keep_going && !keep_going()))
      return x - H.theta;
  }
}

}  // namespace coterie
