// poly:degree[:c]    (x'z + c)^degree    docs/maths.md (7)
//
// A power of linear with the same offset.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "coterie/kernel/base/linear.hpp"

namespace coterie {

struct Poly : OfSimilarity {
  static constexpr std::string_view name = "poly", grammar = "poly:degree[:offset]";
  static constexpr double kLargestDegree = 1000;

  static std::vector<Kernel> read(const KernelWord& word) {
    const std::vector<std::string_view>& given = word.arguments;
    if (given.empty()) fail_at_word(word.word, "'poly' needs a degree, such as poly:2");
    if (given.size() > 2)
      fail_at_word(word.word, "'poly' takes a degree and at most one offset, such as poly:2:1");
    const std::optional<double> degree = read_argument(given[0]);
    if (!degree || *degree != std::floor(*degree) || *degree < 1 || *degree > kLargestDegree)
      fail_at_word(word.word, fmt::format("the degree '{}' is not a whole number from 1 to {}",
                                          given[0], kLargestDegree));
    const std::optional<double> offset = given.size() == 2 ? read_argument(given[1]) : 0;
    if (!offset || *offset < 0)
      fail_at_word(word.word,
                   fmt::format("the offset '{}' is not a number of at least 0", given[1]));
    return {{.base = word.base, .parameter = *degree, .offset = *offset + 0.0}};  // -0 becomes 0
  }
  static std::string write(const Kernel& kernel) {
    return kernel.offset == 0 ? fmt::format(":{}", kernel.parameter)
                              : fmt::format(":{}:{}", kernel.parameter, kernel.offset);
  }
  static constexpr Arguments arguments = {read, write, false};

  using Quantity = InnerProduct;
  using Root = Linear;
  static Index power(const Kernel& kernel) { return static_cast<Index>(kernel.parameter); }
  static Vector diagonal(const Matrix& X) { return squared_norms(X); }
};

}  // namespace coterie
