#include "coterie/mtmkl/faces.hpp"

#include <algorithm>
#include <cmath>

namespace coterie {

void Faces::project(Matrix& x) const {
  x.array() *= free.array();
  for (Index t = 0; t < x.rows(); ++t)
    if (pivot[static_cast<std::size_t>(t)] >= 0)
      x.row(t) -= x.row(t).dot(normal.row(t)) * normal.row(t);
}

void Faces::choose_pivot(Index t, const Eigen::Ref<const Eigen::RowVectorXd>& x) {
  Index& chosen = pivot[static_cast<std::size_t>(t)];
  if (chosen < 0) return;
  chosen = -1;
  for (Index m = 0; m < x.size(); ++m)
    if (free(t, m) != 0 && (chosen < 0 || x[m] > x[chosen])) chosen = m;
  const double length = normal.row(t).norm();
  if (length > 0) normal.row(t) /= length;
}

namespace {

// The boundary sum theta^p = 1 as (36) sees it from a weight theta with gradient r: slope and curvature of theta^p / p. Far below the weight that r
// asks for, which is `aim` when the multiplier stays as it is, both are those of the way from theta to aim: at zero the slope itself is zero, and the
// curvature infinite for p < 2.
struct Outward {
  double slope, curvature;
};
Outward outward(double theta, double aim, double p, bool far_aims) {
  constexpr double far = 4;
  constexpr double largest_aim = 0.1;
  const double slope = std::pow(theta, p - 1);
  if (aim <= far * theta || (theta > 0 && !far_aims)) return {slope, (p - 1) * slope / theta};
  aim = std::max(std::min(aim, largest_aim), far * theta);
  const double mean = (std::pow(aim, p) - slope * theta) / (p * (aim - theta));
  return {mean, (std::pow(aim, p - 1) - mean) / (aim - theta)};
}

}  // namespace

// Free are the kernels that are used, and those whose gradient asks for it.
Faces choose_faces(const WeightSet& weights, Index M, Index fixed, const Matrix& theta,
                   const Matrix& r, double eps, bool far_aims) {
  const double p = weights.p();
  const bool simplex = p == 1;
  const bool box = std::isinf(p);
  const double small = simplex || box ? std::min(1e-8, 1e-7 * eps) : 1e-14;
  const double slack = 1e-3 * eps;
  Faces faces;
  faces.free = faces.normal = faces.bend = Matrix::Zero(theta.rows(), theta.cols());
  faces.pivot.assign(static_cast<std::size_t>(theta.rows()), -1);
  // The weights that the gradients ask for. Tasks that move together may be led beyond their own.
  Matrix aims = Matrix::Zero(theta.rows(), M);
  if (!simplex && !box) {
    for (Index t = fixed; t < theta.rows(); ++t)
      aims.row(t) = weights.minimiser(r.row(t).head(M).transpose());
    if (!far_aims) aims.rowwise() = aims.colwise().maxCoeff().eval();
  }
  for (Index t = fixed; t < theta.rows(); ++t) {
    const auto theta_t = theta.row(t).head(M);
    const auto r_t = r.row(t).head(M);
    const auto aim = aims.row(t);
    auto free = faces.free.row(t);
    auto normal = faces.normal.row(t);
    auto bend = faces.bend.row(t);
    Index& pivot = faces.pivot[static_cast<std::size_t>(t)];
    Index unknowns = 0;
    // The multiplier of the outer boundary, for p > 1 its negative.
    const double along = r_t.dot(theta_t);
    Index largest = 0;
    theta_t.maxCoeff(&largest);
    const double level = simplex ? r_t[largest] : 0;  // a larger gradient asks for less of a kernel
    const bool outer =
        simplex || (!box && along < 0 && !weights.contains((1 + slack) * theta_t.transpose(), 0));
    const bool curved = outer && !simplex;
    for (Index m = 0; m < M; ++m) {
      const bool unwanted = curved ? aim[m] <= small : r_t[m] >= level;
      const bool low = theta_t[m] <= small && unwanted && !(outer && m == largest);
      const bool high = box && theta_t[m] >= 1 && r_t[m] <= 0;
      if (low || high) continue;
      free[m] = 1;
      ++unknowns;
    }
    faces.unknowns += unknowns;
    if (!outer || unknowns == 0) continue;
    for (Index m = 0; m < M; ++m) {
      if (free[m] == 0) continue;
      normal[m] = 1;
      if (curved) {
        const Outward way = outward(theta_t[m], aim[m], p, far_aims);
        normal[m] = way.slope;
        bend[m] = -along * way.curvature;
      }
      if (pivot < 0 || theta_t[m] > theta_t[pivot]) pivot = m;
    }
    normal /= normal.norm();
    --faces.unknowns;
  }
  return faces;
}

}  // namespace coterie
