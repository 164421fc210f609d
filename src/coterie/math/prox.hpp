// The proximal map of the pairwise penalty and its dual step, docs/maths.md (25) and (26).
#pragma once

#include "coterie/math/types.hpp"

namespace coterie {

struct Pair {
  Vector first, second;
};

// (x, y) = argmin  kappa ||x - y||  +  1/2 ||x - a||^2  +  1/2 ||y - b||^2
//
// Both points move towards each other by kappa, and meet half-way if they are closer than 2 kappa.
// Hence x + y = a + b always, and x = y bit for bit when the two are fused.
Pair prox_pairwise(ConstVectorRef a, ConstVectorRef b, double kappa);

}  // namespace coterie
