// Settings that are texts, a line each: lambda, normalise, kernels, method, parameters, loss, map, scale, class weight, solver.
#include "coterie/model/settings.hpp"

#include <cmath>

#include "target.hpp"

namespace coterie::fuzz {
namespace {

template <typename Value>
void check_text(const Value& value) {
  Value again{};
  require(read_text(text_of(value), again), "what is written can be read");
  require(again == value, "a setting reads as it is written");
}

void check_parameters(const Settings& settings) {
  const Parameters parameters = parameters_of(settings);
  for (const Parameter& parameter : settings.method->parameters) {
    const double value = parameters.at(parameter.name);
    require(value >= parameter.least && value <= parameter.most, "a parameter obeys its rule");
    require(!parameter.whole || value == std::floor(value), "a whole number is whole");
  }
  check_text(parameters);
}

void fuzz_settings(Bytes bytes) {
  const std::vector<std::string> lines = split_lines(bytes, 10);
  Settings settings;
  const auto read = [&](std::size_t line, std::string_view field, auto& value) {
    if (lines[line].empty()) return;
    accepts(
        [&] {
          auto found = value;
          read_field(field, lines[line], "", found);
          value = found;
        },
        false);
  };
  read(0, "lambda", settings.lambda);
  read(1, "normalise", settings.normalise);
  read(2, "kernels", settings.kernels);
  read(3, "method", settings.method);
  read(4, "parameters", settings.parameters);
  read(5, "loss", settings.loss);
  read(6, "map", settings.map);
  read(7, "scale", settings.scale);
  read(8, "class-weight", settings.class_weight);
  read(9, "solver", settings.solver);
  require(settings.lambda.value >= 0, "lambda is not negative");
  require(!settings.lambda.relative || std::isfinite(settings.lambda.value),
          "a share of lambda_max is finite");
  require(settings.map.rank >= 1, "a rank is positive");
  check_text(settings.lambda);
  check_text(settings.normalise);
  check_text(settings.kernels);
  check_text(settings.method);
  check_text(settings.loss);
  check_text(settings.map);
  check_text(settings.class_weight);
  check_text(settings.solver);
  accepts([&] { check_parameters(settings); }, false);
  accepts(
      [&] {
        validate(settings);
        const Settings full = in_full(settings);
        validate(full);
        check_text(full.scale);
        require(in_full(full) == full, "settings in full stay as they are");
        is_convex(settings);
      },
      false);
}

const Target settings_target("settings", fuzz_settings);

}  // namespace
}  // namespace coterie::fuzz
