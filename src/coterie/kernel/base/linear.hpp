// linear    x'z    docs/maths.md (6)
#pragma once

#include "coterie/kernel/base/base_kernel.hpp"

namespace coterie {

struct Linear : OfSimilarity {
  static constexpr std::string_view name = "linear", grammar = "linear";
  using Quantity = InnerProduct;
  static Vector diagonal(const Matrix& X) { return squared_norms(X); }
};

}  // namespace coterie
