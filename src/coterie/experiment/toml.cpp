#include "coterie/experiment/toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "coterie/io/text.hpp"

namespace coterie::detail {

namespace {

// Outside of strings and comments TOML has ASCII only, and nowhere control characters. toml++ does not always survive others there.
class Scanner {
 public:
  Scanner(std::string_view text, const std::string& file) : text_(text), file_(file) {}
  void check() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#')
        while (at_ < text_.size() && text_[at_] != '\n') step();
      else if (c == '"' || c == '\'')
        pass_string(c);
      else
        plain_step("outside of strings and comments");
    }
  }

 private:
  void pass_string(char quote) {
    const std::string three(3, quote);
    const bool long_one = text_.substr(at_).starts_with(three);
    const std::string_view end = long_one ? std::string_view(three) : std::string_view(&quote, 1);
    for (std::size_t k = 0; k < end.size(); ++k) step();
    while (at_ < text_.size() && !text_.substr(at_).starts_with(end)) {
      if (text_[at_] == '\n' && !long_one) return;  // an error that TOML's reader tells
      if (text_[at_] == '\\' && quote == '"') {
        step();
        if (at_ == text_.size()) return;
        plain_step("behind a backslash");
        continue;
      }
      step();
    }
    for (std::size_t k = 0; k < end.size() && at_ < text_.size(); ++k) step();
  }
  void plain_step(const std::string& where) {
    if (static_cast<unsigned char>(text_[at_]) >= 0x80)
      fail(fmt::format("a character that is not ASCII stands {}; put it into quotes", where));
    step();
  }
  void step() {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if ((c >= 0 && c < 32 && c != '\n' && c != '\r' && c != '\t') || c == 127)
      fail("there is a control character");
    ++at_;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw_shown(fmt::format("{}:{}: not TOML: {}.", file_, line_, what));
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  Index line_ = 1;
};

bool is_not_toml(const std::string& text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (const NotToml&) {
    return true;
  } catch (const toml::parse_error&) {  // a text that is cut off
  }
  return false;
}

// The first line with which the text is refused, by halving: what stands behind it makes no difference.
Index line_of_not_toml(const std::string& text) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') ends.push_back(i + 1);
  const auto first = std::ranges::partition_point(
      ends, [&](std::size_t end) { return !is_not_toml(text.substr(0, end)); });
  return first - ends.begin() + 1;
}

}  // namespace

void throw_shown(const std::string& text) { throw InputError(printable(text, 2000)); }

toml::table parse_toml(const std::string& text, const std::string& file) {
  Scanner(text, file).check();
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw_shown(fmt::format("{}:{}:{}: not TOML: {}.", file, error.source().begin.line,
                            error.source().begin.column, error.description()));
  } catch (const NotToml&) {
    throw_shown(
        fmt::format("{}:{}: not TOML: a name is missing here.", file, line_of_not_toml(text)));
  }
}

}  // namespace coterie::detail
