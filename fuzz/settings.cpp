// Settings that are texts, a line each: lambda, normalise, kernels, method, parameters, loss, map, scale, class weight, solver.
#include <cmath>

#include "coterie/model/method.hpp"
#include "coterie/kernel/gram.hpp"
#include "target.hpp"

namespace coterie::fuzz {
namespace {

void check_lambda(const std::string& text) {
  const Lambda choice = parse_lambda(text);
  require(choice.value >= 0, "lambda is not negative");
  require(!choice.relative || std::isfinite(choice.value), "a share of lambda_max is finite");
}

void check_normalisation(const std::string& text) {
  const Normalisation normalisation = parse_normalisation(text);
  require(parse_normalisation(to_string(normalisation)) == normalisation,
          "a normalisation reads as it is written");
}

void check_parameters(Settings settings) {
  const Parameters parameters = parameters_of(settings);
  for (const Parameter& parameter : settings.method->parameters) {
    const double value = parameters.at(parameter.name);
    require(value >= parameter.least && value <= parameter.most, "a parameter obeys its rule");
    require(!parameter.whole || value == std::floor(value), "a whole number is whole");
  }
  settings.parameters = parameters_text(parameters);
  require(parameters_of(settings) == parameters, "parameters read as they are written");
}

void fuzz_settings(Bytes bytes) {
  const std::vector<std::string> lines = split_lines(bytes, 10);
  Settings settings;
  std::string* const members[] = {&settings.lambda, &settings.normalise,  &settings.kernels,
                                  &settings.method, &settings.parameters, &settings.loss,
                                  &settings.map,    &settings.scale,      &settings.class_weight,
                                  &settings.solver};
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].empty()) *members[i] = lines[i];
  accepts([&] { check_lambda(settings.lambda); }, false);
  accepts([&] { check_normalisation(settings.normalise); }, false);
  accepts([&] { require(settings.map.rank >= 1, "a rank is positive"); }, false);
  accepts([&] { check_parameters(settings); }, false);
  accepts(
      [&] {
        validate(settings);
        usual_scale(settings);
        is_convex(settings);
      },
      false);
}

const Target settings_target("settings", fuzz_settings);

}  // namespace
}  // namespace coterie::fuzz
