// The numerical parts of Gram matrices: inner products and distances through BLAS, exponentials, eigenvalues.
// Private to this room.
//
// Every function gives the same bits for the same input, wherever the memory lies and whatever the number of threads.
// `Pairs` holds one number for each pair i < j of n points, row by row: (0,1) (0,2) .. (0,n-1) (1,2) ..
#pragma once

#include "coterie/math/types.hpp"

namespace coterie {

using Pairs = Vector;

// While one of these lives, OpenBLAS uses one thread per call: our own threads are the parallel ones, and a product has
// the same bits whatever their number. The last one to go restores the setting.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

// X X', of which only the diagonal and what is above it is written.
Matrix inner_products(const Matrix& X);
// A B'.
Matrix inner_products(const Matrix& A, const Matrix& B);
// x'x per row.
Vector squared_norms(const Matrix& X);

// |x_i - x_j|^2. The inner products of X serve when they are at hand (else null) and the mean of the points is not so far
// from 0 that they would cancel; otherwise those of the centred points. What still cancels is computed directly, so that
// the distance of two equal points is exactly 0.
Pairs squared_distances(const Matrix& X, const Matrix* products);
Matrix squared_distances(Matrix A, Matrix B);

// sum_k |x_ik - x_jk|
Pairs absolute_distances(const Matrix& X);
Matrix absolute_distances(const Matrix& A, const Matrix& B);

// sum_k 2 x_ik x_jk / (x_ik + x_jk), for entries >= 0; and its value at (i, i), which is the sum of the row.
Pairs chi2_similarities(const Matrix& X);
Matrix chi2_similarities(const Matrix& A, const Matrix& B);
Vector row_sums(const Matrix& X);

// x <- exp(-rate x), element by element: the value depends on the element alone, not on its place.
void decay(Eigen::Ref<Vector> x, double rate);
// x <- x^degree for a degree >= 1, by repeated squaring.
void raise(Eigen::Ref<Vector> x, Index degree);

// The symmetric matrix of the pairs with the diagonal given.
Matrix symmetric_matrix(const Pairs& pairs, const Vector& diagonal);
// Copies what is above the diagonal to below it.
void mirror(Matrix& K);

// Eigenvalues of a symmetric matrix, ascending. Reads the diagonal and what is above it.
Vector eigenvalues(Matrix K);

}  // namespace coterie
