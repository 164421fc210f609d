// The scale of a kernel on one task. docs/maths.md (12)-(14). Private to this room.
//
//   variance(K) = mean of the diagonal - mean of all entries = trace(H K H) / n,    H = I - 11'/n       (13)
//   tail(K, h)  = sum of the eigenvalues of H K H beyond the h largest, divided by n                    (14)
//
// Hence tail(K, 0) = variance(K), and tail falls as h grows; it is 0 from h = rank on.
#pragma once

#include "coterie/math/types.hpp"

namespace coterie {

double variance(const Matrix& K);
double tail(const Matrix& K, Index h);

}  // namespace coterie
