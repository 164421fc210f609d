// The base kernels: their order in messages and help. A new one is its file and its name here. Private to this room.
#pragma once

#include <span>

#include "coterie/kernel/base/cauchy.hpp"
#include "coterie/kernel/base/chi2.hpp"
#include "coterie/kernel/base/gauss.hpp"
#include "coterie/kernel/base/laplace.hpp"
#include "coterie/kernel/base/linear.hpp"
#include "coterie/kernel/base/poly.hpp"
#include "coterie/kernel/base/precomputed.hpp"

namespace coterie {

template <typename... Each>
struct KernelList {
  static constexpr const BaseKernel* table[] = {&base_kernel<Each>..., &kPrecomputed};

  // The value before norms and powers by the definition, in numbers of type Real.
  template <typename Real>
  static Real value(const Kernel& kernel, const double* x, const double* z, Index d) {
    Real result = 0;
    const auto take = [&]<typename K>() {
      if (kernel.base != &base_kernel<K>) return false;
      result = K::template value<Real>(kernel,
                                       sum_of<typename K::Quantity, Real>(x, z, d, kernel.columns));
      return true;
    };
    const bool found = (take.template operator()<Each>() || ...);
    if (!found) throw InputError("a precomputed kernel has no definition");
    return result;
  }
};

using BaseKernels = KernelList<Linear, Poly, Gauss, Laplace, Chi2, Cauchy>;

}  // namespace coterie
