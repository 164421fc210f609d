// The numerical parts of Gram matrices: inner products and distances through BLAS, exponentials, eigenvalues.
// Private to this room.
//
// Every function gives the same bits for the same input, wherever the memory lies and whatever the number of threads.
#pragma once

#include <span>

#include "coterie/math/types.hpp"

namespace coterie {

// A B'.
Matrix inner_products(const Matrix& A, const Matrix& B);
// out[k * stride + l] = x_i'x_j for i = rows[k], j = columns[l]. The bits depend on the two points alone, whatever pairs are asked
// for together, and are those of x_j'x_i.
void inner_products(const Matrix& X, std::span<const Index> rows, std::span<const Index> columns,
                    double* out, Index stride);
// x'x per row; inner_products gives the same bits for a pair of equal points.
Vector squared_norms(const Matrix& X);

// Takes the mean off the points when it is farther from 0 than they are from it; false: nothing was done.
bool centre_if_far(Matrix& X);

// Below this part of |x|^2 + |z|^2 the difference |x|^2 + |z|^2 - 2 x'z has lost too many digits.
constexpr double kCancelled = 0.02;

// products <- |x_i - x_j|^2 for one i and j in columns, from the inner products with x_i and the squared norms of the points (`own`
// of x_i, `norms` of the columns), around whatever centre. What cancels is computed directly from the rows of X, so that the
// distance of two equal points is exactly 0.
void squared_distances(const Matrix& X, Index i, std::span<const Index> columns, double own,
                       const double* norms, double* products);
// |a - b|^2 between rows of A and rows of B.
Matrix squared_distances(Matrix A, Matrix B);

// sum_k |a_k - b_k|
Matrix absolute_distances(const Matrix& A, const Matrix& B);

Vector row_sums(const Matrix& X);

// out_k = exp(-rate x_k): the value depends on the element alone, not on its place. `out` may be x.
void decay(const double* x, Index count, double rate, double* out);
// x <- x^degree for a degree >= 1, by repeated squaring.
void raise(Eigen::Ref<Vector> x, Index degree);

// Eigenvalues of a symmetric matrix, ascending. Reads the diagonal and what is above it.
Vector eigenvalues(Matrix K);

}  // namespace coterie
