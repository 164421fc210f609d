#include "page_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "options.hpp"

namespace coterie::app {
namespace {

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%^";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  return "'" + replace_all(word, "'", "'\\''") + "'";
}

}  // namespace

void add_page_option(CLI::App& command, std::string& path, const std::string& what) {
  command.add_option("--page", path, what + ", as one HTML file to look at (default: none)")
      ->type_name("FILE");
}

void check_page_output(const std::string& path, const std::string& option,
                       const std::vector<std::string>& inputs) {
  check_extra_output(path, option, {".html", ".htm"}, inputs);
}

std::string command_again(const CLI::App& command, const std::string& verb,
                          const std::vector<std::string>& without) {
  std::string files, out;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    const bool named = !option->get_lnames().empty() || !option->get_snames().empty();
    const std::string name =
        !option->get_lnames().empty() && option->get_lnames().front().size() > 1
            ? "--" + option->get_lnames().front()
        : named ? "-" + option->get_snames().front()
                : "";
    if (std::ranges::find(without, name) != without.end()) continue;
    if (named) out += " " + name;
    if (named && option->get_items_expected_max() == 0) continue;  // a flag
    bool first = true;
    for (const std::string& value : option->results()) {
      if (named && !first) out += " " + name;
      (named ? out : files) += " " + shell_word(value);
      first = false;
    }
  }
  return fmt::format("coterie {}{}{}", verb, files, out);
}

}  // namespace coterie::app
