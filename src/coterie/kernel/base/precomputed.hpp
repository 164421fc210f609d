// precomputed:FILE    a matrix of values over all pairs of rows
//
// The exception among the kernels: it has no definition at other points, and the grammar, the roots, the definition in long double and
// the checks of Gram matrices each have a line for it.
#pragma once

#include <fmt/format.h>

#include "coterie/kernel/base/base_kernel.hpp"

namespace coterie {

inline constexpr BaseKernel kPrecomputed = {
    .name = "precomputed",
    .grammar = "precomputed:FILE",
    .arguments = {nullptr, [](const Kernel& kernel) { return fmt::format(":{}", kernel.file); },
                  false},
    .quantity = nullptr,
    .is_one_at_equal_points = false,
    .needs_nonnegative = false,
    .value = nullptr,
    .exact_value = nullptr,
    .power = [](const Kernel&) { return Index{1}; },
    .root = nullptr,
    .power_of_half = 0,
    .diagonal = nullptr,
    .values = nullptr,
    .roundings = [](double, double) { return 8.0; },
    .exact_roundings = [](const Kernel&, double) { return 8.0; },
};

}  // namespace coterie
