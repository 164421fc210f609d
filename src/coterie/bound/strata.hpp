// What a bound pays for numbers that were read off the data, docs/bound.md (18).
//
// A theorem about a class of given size holds for all classes of a list at once when every class gets a share of delta and the shares
// sum to 1 at most. A model then uses the first class of the list that holds it.
#pragma once

#include "coterie/math/types.hpp"

namespace coterie {

struct Stratum {
  double value = 0;  // the size of the class: at least what was asked for
  double share = 1;  // of delta
};

// Powers of 2; j = log2(value) has share 2/3 / ((|j| + 1) (|j| + 2)). For x > 0.
Stratum power_stratum(double x);
Stratum power_stratum_at(Index j);

// 0, infinity and top / 2^(k/2) for k = 0, 1, ..: shares 1/3, 1/3 and 1/3 / ((k + 1) (k + 2)). For 0 <= gamma <= top.
Stratum spread_stratum(double gamma, double top);
Stratum unlimited_spread();

// 0 with share 1/2, powers of 2 with half of their shares above. For x >= 0.
Stratum bias_stratum(double x);

}  // namespace coterie
