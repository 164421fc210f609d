// Features that stand for kernels, docs/methods.md (17): with k the mean of the base kernels (divided by their divisors) and P a set of
// pivots among all training rows, K_PP = L L',
//
//   phi(x) = L^-1 k(P, x),      phi(x)'phi(z) = k(x, P) K_PP^-1 k(P, z)   ~   k(x, z),
//
// exact when x or z is a pivot. Pivots are chosen greedily by what is left of the diagonal (pivoted Cholesky), until what is left is
// 1e-6 of the trace or the rank is reached. A linear model w on phi is the kernel expansion with coefficients L^-T w on the pivots.
//
// L is what it is in double, and part of the problem that a model states: features are L^-1 k(P, x) for that L. They are computed in
// long double and rounded, with a bound of what they are off by.
#pragma once

#include <vector>

#include "coterie/kernel/gram.hpp"

namespace coterie {

struct FeatureMap {
  std::vector<Index> pivots;  // rows, in the order chosen
  Matrix L;                   // lower triangle
  double left = 0;            // share of the trace that the map does not reach
  Index rank() const { return static_cast<Index>(pivots.size()); }
};

struct MappedRows {
  FeatureMap map;
  Matrix phi;    // of `rows`, one row each
  Vector error;  // length of what a row of phi may be off by, docs/methods.md (24)
};

// X: scaled features; `rows` those that some task uses. Throws InputError for precomputed kernels, which have no values at new rows,
// and for kernels that are zero at all rows. The number of threads changes no bit.
MappedRows map_features(const Matrix& X, const std::vector<Index>& rows,
                        const std::vector<Kernel>& kernels, const Vector& divisors,
                        Index largest_rank, int threads);

// The map at new rows (scaled), a row each; `pivots`: the features of the pivots, in their order.
Matrix apply_map(const FeatureMap& map, const Matrix& X, const Matrix& pivots,
                 const std::vector<Kernel>& kernels, const Vector& divisors);

// L^-T w, computed in long double.
Vector coefficients_of(const FeatureMap& map, ConstVectorRef w);

// B such that the coefficients a of any w, doubles that they are, have |L'a - w| <= B |w|.
Matrix weight_error_of(const FeatureMap& map);

}  // namespace coterie
