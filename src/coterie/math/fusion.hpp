// Proximal maps of sums over all pairs, docs/methods.md (5), (8).
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

// argmin_U  1/2 ||U - Z||^2 + lambda sum_{s<t} ||u_s - u_t||, rows in R^d, with the pair duals nu that prove it:
//
//   U = Z - D nu:   u_s = z_s - sum_{t>s} nu_st + sum_{t<s} nu_ts,      ||nu_st|| <= lambda
//
// Pairs in the order (0,1), (0,2), .., (1,2), .. Stops when primal - dual <= gap_tolerance * max(primal, tiny).
struct VectorFusion {
  Matrix U;
  Matrix nu;  // pairs x d
  double primal = 0, dual = 0;
  Index iterations = 0;
};
VectorFusion fuse_vectors(const Matrix& Z, double lambda, double gap_tolerance,
                          const Matrix& nu_start = {}, Index max_iterations = 100'000);

}  // namespace coterie
