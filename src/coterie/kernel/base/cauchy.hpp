// cauchy:s    1 / (1 + |x - z|^2 / s^2)    docs/maths.md (11)
//
// Falls off slowly, where gauss sees nothing of points a few widths away. No width is a power of another.
#pragma once

#include "coterie/kernel/base/base_kernel.hpp"

namespace coterie {

struct Cauchy : OfDistance {
  static constexpr std::string_view name = "cauchy", grammar = "cauchy:width,...";
  using Quantity = SquaredDistance;

  template <typename Real>
  static Real value(const Kernel& kernel, Real distance) {
    const Real s = static_cast<Real>(kernel.parameter);
    return 1 / (1 + distance / (s * s));
  }

  static void values(const Kernel& kernel, const double* distances, Index count, double* out) {
    const double rate = 1 / (kernel.parameter * kernel.parameter);
    for (Index k = 0; k < count; ++k) out[k] = 1 / (1 + rate * distances[k]);
  }
  // The quotient q has a relative error as the exponent of gauss has, and q / (1 + q)^2 <= 1/4.
  static double roundings(double /*power*/, double d) { return 0.5 * (d + 6) / kCancelled + 6; }
};

}  // namespace coterie
