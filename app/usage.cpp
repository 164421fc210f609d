#include "usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace coterie::app {
namespace {

// Letters to put in, take out or change, and neighbours to swap, that make one text of the other.
std::size_t slips_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] =
          std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

// The innermost command that was named.
const CLI::App& command_of(const CLI::App& program) {
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr
             ? command.get_name()
             : full_name(*command.get_parent()) + " " + command.get_name();
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// A command is missing, or it is none.
std::string text_of_command(const CLI::App& command, const std::vector<const CLI::App*>& choices,
                            const std::vector<std::string>& rest) {
  std::vector<std::string> names;
  for (const CLI::App* choice : choices) names.push_back(choice->get_name());
  std::string text = "a command is missing";
  if (!rest.empty()) {
    const bool option = rest.front().starts_with('-');
    text = option ? fmt::format("unknown option {} of '{}'{}", rest.front(), full_name(command),
                                did_you_mean(rest.front(), options_of(command)))
                  : fmt::format("'{}' is not a command{}", rest.front(),
                                did_you_mean(rest.front(), names));
  }
  return fmt::format("{}; choose one of {}", text, fmt::join(names, ", "));
}

// What the parser could not place.
std::string text_of_rest(const CLI::App& command, const std::vector<std::string>& rest) {
  const auto option = std::ranges::find_if(
      rest, [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); });
  if (option == rest.end())
    return fmt::format("'{}' is one word too many for '{}'", rest.back(), full_name(command));
  const std::string name = option->substr(0, option->find('='));
  return fmt::format("unknown option {} of '{}'{}", name, full_name(command),
                     did_you_mean(name, options_of(command)));
}

// "--output: 1 required FILE missing", "DATA is required" and "Could not convert: --hold-out = abc", in our words.
std::string text_of_value(std::string text) {
  const std::string conversion = "Could not convert: ";
  if (text.starts_with(conversion)) {
    const std::size_t equals = text.find(" = ");
    if (equals != std::string::npos)
      return fmt::format("{} is '{}', which is not a value that it can have",
                         text.substr(conversion.size(), equals - conversion.size()),
                         text.substr(equals + 3));
  }
  const std::size_t required = text.find(": 1 required ");
  if (required != std::string::npos && text.ends_with(" missing"))
    return fmt::format("{} needs a value behind it", text.substr(0, required));
  const std::string needed = " is required";
  if (text.ends_with(needed)) return text.substr(0, text.size() - needed.size()) + " is missing";
  return text;
}

}  // namespace

std::string nearest_name(std::string_view typed, const std::vector<std::string>& names) {
  std::string nearest;
  std::size_t fewest = typed.size() / 3 + 1;
  for (const std::string& name : names)
    if (const std::size_t slips = slips_between(typed, name); slips < fewest) {
      fewest = slips;
      nearest = name;
    }
  return nearest;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names) {
  const std::string nearest = nearest_name(typed, names);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

std::string usage_text(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = command_of(program);
  const std::vector<std::string> rest = command.remaining();
  const std::vector<const CLI::App*> choices =
      command.get_subcommands([](const CLI::App*) { return true; });
  const std::string text = !choices.empty() ? text_of_command(command, choices, rest)
                           : !rest.empty()  ? text_of_rest(command, rest)
                                            : text_of_value(error.what());
  return fmt::format("{} See: {} --help", text.ends_with('?') ? text : text + ".",
                     full_name(command));
}

}  // namespace coterie::app
