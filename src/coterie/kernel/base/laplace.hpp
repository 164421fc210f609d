// laplace:s    exp(-|x - z|_1 / s)    docs/maths.md (9)
#pragma once

#include <cmath>

#include "coterie/kernel/base/base_kernel.hpp"

namespace coterie {

struct Laplace : OfDistance {
  static constexpr std::string_view name = "laplace", grammar = "laplace:width,...";
  using Quantity = AbsoluteDistance;

  template <typename Real>
  static Real value(const Kernel& kernel, Real distance) {
    using std::exp;
    return exp(-distance / static_cast<Real>(kernel.parameter));
  }

  static constexpr Index power_of_half = 2;
  static void values(const Kernel& kernel, const double* distances, Index count, double* out) {
    decay(distances, count, 1 / kernel.parameter, out);
  }
  static double roundings(double power, double d) { return d + 4 * power + 8; }
};

}  // namespace coterie
