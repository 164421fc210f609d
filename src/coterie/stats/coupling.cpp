#include "coterie/stats/coupling.hpp"

#include <cassert>
#include <cmath>

#include "coterie/math/dense.hpp"

namespace coterie {

// The sum of squares is p'Qp. With the multiplier of the constraint, Q p = mu 1; adding 1 1'p = 1 to both sides shows that p is a
// multiple of (Q + 1 1')^-1 1, where the matrix is positive definite when the minimum is unique. A ridge much smaller than any error
// of r makes it so always, and chooses the most even of several minima.
Vector couple_pairs(ConstMatrixRef r) {
  assert(r.rows() == r.cols() && r.rows() > 0);
  constexpr double ridge = 1e-10;
  const Index classes = r.rows();
  Eigen::MatrixXd Q = Eigen::MatrixXd::Ones(classes, classes);
  Q.diagonal().array() += ridge;
  for (Index i = 0; i < classes; ++i) {
    for (Index j = 0; j < i; ++j) {
      if (std::isnan(r(i, j))) continue;
      Q(i, i) += r(j, i) * r(j, i);
      Q(j, j) += r(i, j) * r(i, j);
      Q(i, j) -= r(i, j) * r(j, i);  // the lower half is all that is read
    }
  }
  cholesky(Q);
  const Vector p = cholesky_solve(Q, Vector(Vector::Ones(classes)));
  return normalise_probabilities(p.cwiseMax(0.0));
}

Vector normalise_probabilities(ConstVectorRef p) {
  const double sum = p.sum();
  if (!(sum > 0)) return Vector::Constant(p.size(), 1 / static_cast<double>(p.size()));
  return p / sum;
}

}  // namespace coterie
