#include "coterie/bound/strata.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace coterie {

namespace {

// 1 / ((k + 1) (k + 2)): over k = 0, 1, .. the sum is 1, over all whole numbers with |k| it is 3/2.
double falling(double k) { return 1 / ((k + 1) * (k + 2)); }

}  // namespace

Stratum power_stratum_at(Index j) {
  const double power = static_cast<double>(j);
  return {std::exp2(power), 2.0 / 3 * falling(std::abs(power))};
}

Stratum power_stratum(double x) {
  x = std::clamp(x, 0x1p-1000, 0x1p1000);  // beyond it every bound is far above 1, or no smaller
  Index j = static_cast<Index>(std::ceil(std::log2(x)));
  while (std::exp2(static_cast<double>(j)) < x) ++j;  // rounding of the logarithm
  return power_stratum_at(j);
}

Stratum unlimited_spread() { return {std::numeric_limits<double>::infinity(), 1.0 / 3}; }

Stratum spread_stratum(double gamma, double top) {
  if (gamma <= 0) return {0, 1.0 / 3};
  double k = std::max(0.0, std::floor(2 * std::log2(top / gamma)));
  while (k > 0 && top * std::exp2(-k / 2) < gamma) --k;
  return {top * std::exp2(-k / 2), falling(k) / 3};
}

Stratum bias_stratum(double x) {
  if (x <= 0) return {0, 0.5};
  const Stratum power = power_stratum(x);
  return {power.value, power.share / 2};
}

}  // namespace coterie
