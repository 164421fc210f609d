// How strongly tasks are drawn together: a number >= 0, infinite for one kernel for all tasks, or a share of lambda_max,
// docs/maths.md (39).
#pragma once

#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace coterie {

struct Lambda {
  double value = 0;
  bool relative = false;  // `value` is a share of lambda_max

  Lambda() = default;
  template <typename Number>
  // NOLINTNEXTLINE(google-explicit-constructor): lambda = 3
  requires std::integral<Number> || std::floating_point<Number> Lambda(Number number)
      : value(static_cast<double>(number)) {}
  template <std::convertible_to<std::string_view> Text>
  // NOLINTNEXTLINE(google-explicit-constructor): lambda = "0.1max"
  Lambda(const Text& text) : Lambda(from(text)) {}

  static Lambda share(double part) {
    Lambda lambda(part);
    lambda.relative = true;
    return lambda;
  }
  static Lambda infinite() { return {std::numeric_limits<double>::infinity()}; }
  // What it is for a problem of this lambda_max. Where that is 0, every positive lambda fuses all tasks (a single kernel, for one), and
  // so does every positive share: it is infinite.
  double at(double lambda_max) const {
    if (!relative) return value;
    return lambda_max == 0 && value > 0 ? infinite().value : value * lambda_max;
  }
  static Lambda from(std::string_view text);  // throws InputError for other text
  bool operator==(const Lambda&) const = default;
};

std::optional<Lambda> lambda_from(std::string_view text);  // "3", "inf", "0.1max"
std::string to_string(const Lambda& lambda);

}  // namespace coterie
