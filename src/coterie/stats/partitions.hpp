// How alike two partitions of the same things are.
#pragma once

#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// Adjusted Rand index of Hubert and Arabie (1985): 1 for equal partitions, 0 on average for independent ones. `a` and `b` hold a label
// per thing. Two partitions that are both trivial in the same way are equal: 1.
double adjusted_rand_index(const std::vector<Index>& a, const std::vector<Index>& b);

}  // namespace coterie
