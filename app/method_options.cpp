#include "method_options.hpp"

#include <fmt/format.h>

#include "coterie/baseline/method.hpp"

namespace coterie::app {

std::vector<std::string> foreign_options(const TrainSettings& settings) {
  const Method& method = method_named(settings.method);
  if (method.name == "coterie") return {"--parameters", "--loss", "--map"};
  if (method.family == Method::Family::linear) {
    std::vector<std::string> options = {"--C",      "--lambda",     "--norm",
                                        "--solver", "--task-graph", "--task-C"};
    if (!parse_map(settings.map).mapped)
      options.insert(options.end(), {"--kernels", "--normalise"});
    return options;
  }
  std::vector<std::string> options = {"--lambda", "--solver", "--task-graph", "--loss", "--map"};
  if (method.name == "pooled") options.emplace_back("--task-C");
  if (method.name == "uniform" || method.name == "tang" || method.name == "pareto")
    options.emplace_back("--norm");
  return options;
}

TrainSettings resolve_method(TrainSettings settings, const CLI::App& command) {
  const Method& method = method_named(settings.method);
  const auto given = [&](const std::string& option) {
    return command.get_option_no_throw(option) != nullptr && command.count(option) > 0;
  };
  for (const std::string& option : foreign_options(settings)) {
    if (!given(option)) continue;
    std::string own = "it has no parameters of its own";
    if (!method.parameters.empty()) {
      std::vector<std::string> names;
      for (const Parameter& parameter : method.parameters) names.push_back(parameter.name);
      own = fmt::format("its --parameters are {}", fmt::join(names, ", "));
    }
    const bool of_map = option == "--kernels" || option == "--normalise";
    throw InputError(fmt::format("{} has no meaning for --method {}{}; {}.", option, method.name,
                                 of_map ? " without --map kernels" : "", own));
  }
  if (!given("--scale")) settings.scale = usual_scale(settings);
  return settings;
}

}  // namespace coterie::app
