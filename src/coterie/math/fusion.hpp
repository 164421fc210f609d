// Proximal maps of sums over all pairs, docs/methods.md (5), (6).
#pragma once

#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// argmin_x  1/2 ||x - z||^2 + lambda sum_{i<j} |x_i - x_j|, by sorting and pooling. Equal members of a block are equal bit for bit.
struct ScalarFusion {
  Vector x;
  std::vector<Index> block;  // per entry, blocks numbered from the smallest value up
};
ScalarFusion fuse_scalars(ConstVectorRef z, double lambda);

// sum_{i<j} |x_i - x_j|
double sum_of_differences(ConstVectorRef x);

// argmin_U  1/2 ||U - Z||^2 + lambda sum_{s<t} ||u_s - u_t||, rows in R^d, with the pair duals nu that prove it:
//
//   Z - D nu:   z_s - sum_{t>s} nu_st + sum_{t<s} nu_ts,      ||nu_st|| <= lambda
//
//   dual = 1/2 ||Z||^2 - 1/2 ||Z - D nu||^2   <=   optimum   <=   primal,  the value at U
//
// Pairs in the order (0,1), (0,2), .., (1,2), .. Stops when primal - dual <= gap_tolerance * primal, or is lost in rounding. U is
// Z - D nu with the rows of fused tasks replaced by their mean: those are equal bit for bit.
struct VectorFusion {
  Matrix U;
  std::vector<Index> group;  // per row, rows of a group are fused; numbered by first appearance
  Matrix nu;                 // pairs x d
  double primal = 0, dual = 0;
  Index iterations = 0;
};
VectorFusion fuse_vectors(const Matrix& Z, double lambda, double gap_tolerance,
                          const Matrix& nu_start = {}, Index max_iterations = 100'000);

// sum_{s<t} ||u_s - u_t||
double sum_of_distances(const Matrix& U);

// D nu for T tasks
Matrix spread_of_duals(const Matrix& nu, Index T);

}  // namespace coterie
