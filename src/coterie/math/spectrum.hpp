// Decompositions of dense matrices, as plain functions: Eigen's templates take long to compile, and are compiled once, here.
#pragma once

#include "coterie/math/types.hpp"

namespace coterie {

// A = U diag(sigma) V', with min(rows, columns) singular values in decreasing order. Tall matrices are quicker than wide ones.
struct Svd {
  Eigen::MatrixXd U;
  Vector sigma;
  Eigen::MatrixXd V;
};
Svd svd_of(const Eigen::MatrixXd& A);
Vector singular_values(const Eigen::MatrixXd& A);

// A = V diag(values) V' of a symmetric matrix, of which the lower triangle is read; values in increasing order.
struct Spectrum {
  Vector values;
  Eigen::MatrixXd vectors;  // columns
};
Spectrum spectrum_of(const Eigen::MatrixXd& A);
Vector eigenvalues(const Eigen::MatrixXd& A);

// V diag(factor) V' X: a function of the symmetric matrix with eigenvectors V, times X.
Matrix spectral_product(const Eigen::MatrixXd& V, const Vector& factor, const Matrix& X);

// As many orthonormal columns as A has, at most as many as it has rows, in whose span the columns of A lie.
Eigen::MatrixXd orthonormal(const Eigen::MatrixXd& A);

}  // namespace coterie
