#include "coterie/mtmkl/settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "coterie/data/scaling.hpp"
#include "coterie/kernel/gram.hpp"

namespace coterie {

namespace {

bool parse_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !std::isnan(value);
}

// The rule of a setting by its name, and its value as text, for messages.
void require(bool holds, const TrainSettings& settings, std::string_view which) {
  if (holds) return;
  visit_fields(settings, [&](std::string_view name, const auto& value, std::string_view,
                             std::string_view rule) {
    if (name == which)
      throw InputError(fmt::format("--{} is '{}'; it must be {}.", name, value, rule));
  });
}

}  // namespace

LambdaChoice parse_lambda(const std::string& text) {
  LambdaChoice choice;
  std::string_view number = text;
  if (number.ends_with("max")) {
    choice.relative = true;
    number.remove_suffix(3);
  }
  if (number == "inf" && !choice.relative) return {std::numeric_limits<double>::infinity(), false};
  if (choice.relative && number.empty()) return {1, true};
  if (!parse_number(number, choice.value) || choice.value < 0 || std::isinf(choice.value))
    throw InputError(
        fmt::format("--lambda is '{}'; it must be a number >= 0, 'inf' (one kernel for all tasks), "
                    "or a share of lambda_max such as '0.1max'.",
                    text));
  return choice;
}

void validate(const TrainSettings& settings) {
  require(settings.C > 0 && std::isfinite(settings.C), settings, "C");
  parse_lambda(settings.lambda);
  require(settings.norm >= 1, settings, "norm");
  parse_kernels(settings.kernels);
  parse_normalisation(settings.normalise);
  require(scaling_kind_from(settings.scale).has_value(), settings, "scale");
  require(settings.class_weight == "none" || settings.class_weight == "balanced", settings,
          "class-weight");
  require(settings.tolerance > 0 && std::isfinite(settings.tolerance), settings, "tolerance");
  require(settings.solver == "newton" || settings.solver == "published", settings, "solver");
  require(settings.max_steps >= 1, settings, "max-steps");
}

}  // namespace coterie
