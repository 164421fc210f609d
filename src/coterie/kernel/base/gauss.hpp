// gauss:s    exp(-|x - z|^2 / (2 s^2))    docs/maths.md (8)
#pragma once

#include <cmath>

#include "coterie/kernel/base/base_kernel.hpp"

namespace coterie {

struct Gauss : OfDistance {
  static constexpr std::string_view name = "gauss", grammar = "gauss:width,...";
  using Quantity = SquaredDistance;

  template <typename Real>
  static Real value(const Kernel& kernel, Real distance) {
    using std::exp;
    const Real s = static_cast<Real>(kernel.parameter);
    return exp(-distance / (2 * s * s));
  }

  static constexpr Index power_of_half = 4;  // half the width multiplies the exponent by 4
  static void values(const Kernel& kernel, const double* distances, Index count, double* out) {
    const double s = kernel.parameter;
    decay(distances, count, 1 / (2 * s * s), out);
  }
  // The exponent E has a relative error of 2 (d + 6) u / kCancelled at most, and E exp(-E) <= 0.37.
  static double roundings(double power, double d) {
    return 0.75 * (d + 6) / kCancelled + 4 * power + 6;
  }
};

}  // namespace coterie
