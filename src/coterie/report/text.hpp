// Numbers and tables as text for people. Internal to this room and the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// Columns as wide as their widest cell, two spaces apart. Columns are left-aligned where `alignment` has 'l', else right-aligned.
class Table {
 public:
  Table(std::vector<std::string> header, std::string alignment);
  void add(std::vector<std::string> cells);
  std::string text(std::size_t indent = 2) const;

 private:
  std::vector<std::vector<std::string>> lines_;
  std::string alignment_;
};

std::size_t display_width(std::string_view text);  // in characters, not bytes

std::string short_number(double value);       // 4 significant digits
std::string percent(double share);            // "97.53 %"; "-" for NaN
std::string number_or_nothing(double value);  // in full; "" for NaN
std::string plural(Index count, const std::string& noun);

}  // namespace coterie
