#include "coterie/report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace coterie {

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

Table::Table(std::vector<std::string> header, std::string alignment)
    : alignment_(std::move(alignment)) {
  lines_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> cells) { lines_.push_back(std::move(cells)); }

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> width(lines_.front().size(), 0);
  for (const auto& line : lines_)
    for (std::size_t c = 0; c < line.size(); ++c)
      width[c] = std::max(width[c], display_width(line[c]));
  std::string out;
  for (const auto& line : lines_) {
    std::string row(indent, ' ');
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string space(width[c] - display_width(line[c]), ' ');
      const bool left = c < alignment_.size() && alignment_[c] == 'l';
      row += (c > 0 ? "  " : "") + (left ? line[c] + space : space + line[c]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  }
  return out;
}

std::string short_number(double value) { return fmt::format("{:.4g}", value); }

std::string percent(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:.2f} %", 100 * share);
}

std::string number_or_nothing(double value) {
  return std::isnan(value) ? std::string() : fmt::format("{}", value);
}

std::string plural(Index count, const std::string& noun) {
  if (count == 1) return "1 " + noun;
  return fmt::format("{} {}{}", count, noun, noun.ends_with('s') ? "es" : "s");
}

}  // namespace coterie
