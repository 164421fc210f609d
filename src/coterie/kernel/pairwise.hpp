// The numerical parts of Gram matrices: inner products and distances through BLAS, exponentials, eigenvalues.
// Private to this room.
//
// Every function gives the same bits for the same input, wherever the memory lies and whatever the number of threads.
#pragma once

#include <span>

#include "coterie/math/types.hpp"

namespace coterie {

// While one of these lives, OpenBLAS uses one thread per call: our own threads are the parallel ones, and a product has
// the same bits whatever their number. The last one to go restores the setting.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

// A B'.
Matrix inner_products(const Matrix& A, const Matrix& B);
// x'x per row.
Vector squared_norms(const Matrix& X);

// Takes the mean off the points when it is farther from 0 than they are from it; false: nothing was done.
bool centre_if_far(Matrix& X);

// |x_i - x_j|^2 for i in rows and j in columns, from the inner products of these points and their squared norms, around whatever
// centre. What cancels is computed directly from the rows of X, so that the distance of two equal points is exactly 0.
Matrix squared_distances_from(Matrix products, const Vector& norms, const Matrix& X,
                              std::span<const Index> rows, std::span<const Index> columns);
// |a - b|^2 between rows of A and rows of B.
Matrix squared_distances(Matrix A, Matrix B);

// sum_k |a_k - b_k|
Matrix absolute_distances(const Matrix& A, const Matrix& B);

// sum_k 2 a_k b_k / (a_k + b_k), for entries >= 0; and its value at (a, a), which is the sum of the row.
Matrix chi2_similarities(const Matrix& A, const Matrix& B);
Vector row_sums(const Matrix& X);

// out_k = exp(-rate x_k): the value depends on the element alone, not on its place. `out` may be x.
void decay(const double* x, Index count, double rate, double* out);
// x <- x^degree for a degree >= 1, by repeated squaring.
void raise(Eigen::Ref<Vector> x, Index degree);

// Eigenvalues of a symmetric matrix, ascending. Reads the diagonal and what is above it.
Vector eigenvalues(Matrix K);

}  // namespace coterie
