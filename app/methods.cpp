// coterie methods: what --method can be.
#include <fmt/format.h>

#include "command.hpp"
#include "coterie/model/method.hpp"
#include "options.hpp"
#include "text.hpp"
#include "usage.hpp"

namespace coterie::app {
namespace {

struct MethodsOptions {
  std::string name;
  OutputOptions output;
};

const char* family_of(const Method& method) { return method.is_linear() ? "linear" : "kernels"; }

Json json_method(const Method& method) {
  Json out = {{"name", method.name},         {"title", method.title},    {"source", method.source},
              {"family", family_of(method)}, {"convex", !method.convex}, {"about", method.about}};
  out["parameters"] = Json::array();
  for (const Parameter& parameter : method.parameters)
    out["parameters"].push_back({{"name", parameter.name},
                                 {"default", json_number(parameter.value)},
                                 {"help", parameter.help},
                                 {"rule", parameter.rule},
                                 {"grid", parameter.grid}});
  return out;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

void print_method(const Method& method) {
  fmt::print("{}: {}\n  {}\n\n{}\n", method.name, method.title, method.source,
             wrap(words_of(method.about), 2));
  if (method.parameters.empty()) return fmt::print("  it has no --parameters\n");
  Table table({"parameter", "default", "", "rule", "select searches"}, "lllll");
  for (const Parameter& parameter : method.parameters)
    table.add({parameter.name, fmt::format("{}", parameter.value), parameter.help, parameter.rule,
               parameter.grid.empty() ? "the default" : parameter.grid});
  fmt::print("{}", table.text());
}

// One, or all when none is named.
std::vector<Method> asked_for(const std::string& name) {
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    if (method.name == name) return {method};
    names.push_back(method.name);
  }
  if (name.empty()) return {methods().begin(), methods().end()};
  throw InputError(fmt::format("there is no method '{}'{} The methods are {}.", name,
                               nearest_name(name, names).empty() ? "." : did_you_mean(name, names),
                               fmt::join(names, ", ")));
}

int run_methods(const MethodsOptions& options) {
  const std::vector<Method> found = asked_for(options.name);
  if (options.output.json) {
    Json out = Json::array();
    for (const Method& method : found) out.push_back(json_method(method));
    print_json(out);
    return exit_done;
  }
  if (!options.name.empty()) {
    print_method(found.front());
    return exit_done;
  }
  Table table({"method", "learns weights of", "convex", "what it does", "parameters"}, "lllll");
  for (const Method& method : found) {
    std::vector<std::string> names;
    for (const Parameter& parameter : method.parameters) names.push_back(parameter.name);
    table.add({method.name, method.is_linear() ? "features" : "kernels",
               method.convex ? "no" : "yes", method.title,
               fmt::format("{}", fmt::join(names, " "))});
  }
  fmt::print("{}\nmore on one of them: coterie methods NAME\n", table.text());
  return exit_done;
}

}  // namespace

void add_methods(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<MethodsOptions>();
  CLI::App& command = add_command(
      program, "methods", "List the methods that --method takes, with parameters and sources",
      "coterie methods cmtl", options, run_methods, chosen);
  command.add_option("NAME", options->name, "show this one (default: list all)")->type_name("");
  add_json(command, options->output);
}

}  // namespace coterie::app
