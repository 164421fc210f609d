// Losses of a margin m = y (w'x + b), docs/methods.md (1):
//
//   squared hinge   phi(m) = 1/2 max(0, 1 - m)^2      conjugate at -s:  s^2/2 - s,                        s >= 0
//   logistic        phi(m) = log(1 + exp(-m))                           s log s + (1 - s) log(1 - s),     0 <= s <= 1
//   square          phi(m) = 1/2 (1 - m)^2                              s^2/2 - s,                        any s
//
// s = -phi'(m) is the weight that a sample pulls with.
#pragma once

#include <optional>
#include <string>

#include "coterie/math/types.hpp"

namespace coterie {

enum class Loss { squared_hinge, logistic, square };
std::string to_string(Loss loss);
std::optional<Loss> loss_from(const std::string& text);  // "squared-hinge", "logistic", "square"

double loss_value(Loss loss, double margin);
double loss_pull(Loss loss, double margin);       // -phi'(m)
double loss_curvature(Loss loss, double margin);  // phi''(m), one of its values where it jumps
double loss_conjugate(Loss loss, double pull);    // phi*(-s)

}  // namespace coterie
