#include "method_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace coterie::app {

void check_given(const Settings& settings, const CLI::App& command) {
  const Method& method = *settings.method;
  std::vector<std::string> unused = unused_fields(settings);
  if (!method.is_main()) unused.emplace_back("task-graph");
  if (method.is_linear() || method.pools) unused.emplace_back("task-C");
  for (const std::string& name : unused) {
    const std::string option = "--" + name;
    if (command.get_option_no_throw(option) == nullptr || command.count(option) == 0) continue;
    std::string own = "it has no parameters of its own";
    if (!method.parameters.empty()) {
      std::vector<std::string> names;
      for (const Parameter& parameter : method.parameters) names.push_back(parameter.name);
      own = fmt::format("its --parameters are {}", fmt::join(names, ", "));
    }
    const bool of_map = name == "kernels" || name == "normalise";
    throw InputError(fmt::format("{} has no meaning for --method {}{}; {}.", option, method.name,
                                 of_map ? " without --map kernels" : "", own));
  }
}

}  // namespace coterie::app
