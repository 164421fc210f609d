#include "coterie/mtmkl/newton_matrix.hpp"

#include "coterie/math/dense.hpp"

namespace coterie {

void NewtonMatrix::apply(const Matrix& x, Matrix& y) const {
  const Index M = problem.c.cols();
  y.array() = bend.array() * x.array();
  for (Index t = problem.fixed; t < x.rows(); ++t)
    y.row(t).head(M).noalias() += x.row(t).head(M) * problem.B[static_cast<std::size_t>(t)];
  edges.add_product(x, y);
}

void NewtonMatrix::multiply(const Matrix& x, Matrix& y) const {
  apply(x, y);
  faces.project(y);
}

double NewtonMatrix::own_cost(Index t, const Eigen::RowVectorXd& d) const {
  const Eigen::RowVectorXd image = d * problem.B[static_cast<std::size_t>(t)];
  const double diagonal =
      ((bend.row(t).head(d.size()).array() + edges.stiffness(t)) * d.array().square()).sum();
  return 0.5 * (image.dot(d) + diagonal);
}

Matrix NewtonMatrix::own_inverse(Index t) const {
  const Index M = problem.c.cols();
  const Matrix& B = problem.B[static_cast<std::size_t>(t)];
  std::vector<Index> kernels;
  for (Index m = 0; m < M; ++m)
    if (faces.free(t, m) != 0) kernels.push_back(m);
  const auto kernel = [&](Index i) { return kernels[static_cast<std::size_t>(i)]; };
  const Index n = std::ssize(kernels);
  Eigen::MatrixXd A(n, n);
  Vector normal(n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) A(i, j) = B(kernel(i), kernel(j));
    A(i, i) += edges.stiffness(t) + bend(t, kernel(i));
    normal[i] = faces.normal(t, kernel(i));
  }
  A.diagonal().array() += 1e-12 * A.diagonal().sum() + 1e-300;
  cholesky(A);
  Eigen::MatrixXd inverse = cholesky_inverse(A);
  if (faces.pivot[static_cast<std::size_t>(t)] >= 0) {
    const Vector q = times(inverse, normal);
    inverse -= q * q.transpose() / normal.dot(q);
  }
  Matrix own = Matrix::Zero(M, M);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) own(kernel(i), kernel(j)) = inverse(i, j);
  return own;
}

}  // namespace coterie
