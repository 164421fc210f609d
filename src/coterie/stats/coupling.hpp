// Probabilities of classes from those of the binary problems between them.
#pragma once

#include "coterie/math/types.hpp"

namespace coterie {

// One-vs-one. r(i, j) estimates the probability of class i given that the class is i or j, and r(j, i) = 1 - r(i, j); NaN where the two
// classes were not compared. The second method of Wu, Lin and Weng (2004):
//
//   p = argmin  sum_{i<j} (r(j, i) p_i - r(i, j) p_j)^2     subject to   sum_i p_i = 1
//
// It is nonnegative by itself, and recovers p from r(i, j) = p_i / (p_i + p_j). Where several p are minimal (some classes are
// linked by no chain of comparisons, or some r are 0 and 1) the most even one is taken.
Vector couple_pairs(ConstMatrixRef r);

// One-vs-rest: p divided by its sum; all alike when that is 0.
Vector normalise_probabilities(ConstVectorRef p);

}  // namespace coterie
