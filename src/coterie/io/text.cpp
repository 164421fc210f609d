#include "coterie/io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "coterie/data/names.hpp"

namespace coterie::detail {
namespace {

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

// Bytes of the UTF-8 character that starts the text; 0 when it is broken (overlong and surrogate forms included).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool broken = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return broken ? 0 : length;
}

// The number that std::from_chars finds in the whole text, and how that went.
std::errc convert(std::string_view text, double& value) {
  text = trim(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [after, problem] = std::from_chars(text.data(), end, value);
  return problem != std::errc::invalid_argument && after != end ? std::errc::invalid_argument
                                                                : problem;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string shown;
  for (std::size_t characters = 0; !text.empty(); ++characters) {
    if (characters == most) return shown + "...";
    const std::size_t length = character_length(text);
    if (length == 0 || is_control(static_cast<unsigned char>(text[0]))) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return shown;
}

std::string without_gz(const std::string& path) {
  return path.ends_with(".gz") ? path.substr(0, path.size() - 3) : path;
}

std::string show(std::string_view found) { return fmt::format("'{}'", printable(found, 40)); }

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool parse_number(std::string_view text, double& value) {
  return convert(text, value) == std::errc{} && std::isfinite(value);
}

std::string describe_bad_number(std::string_view text) {
  double value = 0;
  if (trim(text).empty()) return "is empty; every value must be a number";
  const std::errc problem = convert(text, value);
  if (problem == std::errc{}) {
    return fmt::format("holds {}; every value must be a finite number", show(text));
  }
  if (problem == std::errc::result_out_of_range) {
    return fmt::format("holds {}, which is outside the range of double precision", show(text));
  }
  return fmt::format("holds {}, which is not a number", show(text));
}

std::string describe_bad_name(std::string_view name) {
  if (name.empty()) return "is empty";
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t length = character_length(rest);
    if (length == 0) return fmt::format("holds {}, which is not UTF-8 text", show(name));
    if (is_control(static_cast<unsigned char>(rest[0]))) {
      return fmt::format("holds {}, which has a control character", show(name));
    }
    rest.remove_prefix(length);
  }
  return {};
}

Index Dictionary::add(std::string_view name) {
  names_.emplace_back(name);
  last_ = static_cast<Index>(names_.size()) - 1;
  codes_.emplace(names_.back(), last_);
  bytes_ += 200 + 2 * static_cast<double>(name.size());
  return last_;
}

void sort_labels(std::vector<std::string>& names, std::vector<Index>& codes) {
  std::vector<Index> order(names.size()), place(names.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, [&](Index a, Index b) { return label_before(names[a], names[b]); });
  std::vector<std::string> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<Index>(i);
    sorted.push_back(std::move(names[order[i]]));
  }
  names = std::move(sorted);
  for (Index& code : codes) code = place[code];
}

}  // namespace coterie::detail
