#include "coterie/data/names.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace coterie {
namespace {

std::optional<double> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [after, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || after != text.data() + text.size() || std::isnan(value)) return {};
  return value;
}

}  // namespace

bool label_before(std::string_view a, std::string_view b) {
  const std::optional<double> x = number_in(a), y = number_in(b);
  if (x.has_value() != y.has_value()) return x.has_value();
  if (x && *x != *y) return *x < *y;
  return a < b;
}

std::string in_quotes(std::string_view name) {
  std::string text(1, '"');
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

std::string csv_field(const std::string& text) {
  const bool blank_at_end = text.starts_with(' ') || text.ends_with(' ');
  return blank_at_end || text.find_first_of(",\"\t\n\r") != text.npos ? in_quotes(text) : text;
}

std::string list_names(const std::vector<std::string>& names, std::size_t limit) {
  std::string list;
  for (std::size_t i = 0; i < std::min(limit, names.size()); ++i) {
    list += (i > 0 ? ", " : "") + names[i];
  }
  if (names.size() > limit) list += fmt::format(", ... ({} in all)", names.size());
  return list;
}

}  // namespace coterie
