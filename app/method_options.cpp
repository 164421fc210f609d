#include "method_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace coterie::app {
namespace {

std::vector<std::string> useless_options(const Settings& settings) {
  const Method& method = *settings.method;
  std::vector<std::string> unused = unused_fields(settings);
  if (!method.is_main()) unused.emplace_back("task-graph");
  if (method.is_linear() || method.pools) unused.emplace_back("task-C");
  return unused;
}

std::string own_parameters(const Method& method) {
  if (method.parameters.empty()) return "it has no parameters of its own";
  std::vector<std::string> names;
  for (const Parameter& parameter : method.parameters) names.push_back(parameter.name);
  return fmt::format("its --parameters are {}", fmt::join(names, ", "));
}

}  // namespace

void check_given(const Settings& settings, const CLI::App& command) {
  check_given(std::vector{settings}, command);
}

void check_given(const std::vector<Settings>& candidates, const CLI::App& command) {
  const Method& method = *candidates.front().method;
  for (const std::string& name : useless_options(candidates.front())) {
    const std::string option = "--" + name;
    if (command.get_option_no_throw(option) == nullptr || command.count(option) == 0) continue;
    const bool useful = std::ranges::any_of(candidates, [&](const Settings& other) {
      const std::vector<std::string> unused = useless_options(other);
      return std::ranges::find(unused, name) == unused.end();
    });
    if (useful) continue;
    if (candidates.size() > 1)
      throw InputError(fmt::format("{} has no meaning for any of the methods.", option));
    const bool of_map = name == "kernels" || name == "normalise";
    throw InputError(fmt::format("{} has no meaning for --method {}{}; {}.", option, method.name,
                                 of_map ? " without --map kernels" : "", own_parameters(method)));
  }
}

}  // namespace coterie::app
