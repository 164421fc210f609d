#include "memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "coterie/math/types.hpp"

namespace coterie::app {

double parse_memory(const std::string& text) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  std::string unit(end, last);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (unit.starts_with(' ')) unit.erase(0, 1);
  if (unit.ends_with("b")) unit.pop_back();
  if (unit.ends_with("i")) unit.pop_back();
  double factor = 0;
  if (unit.empty()) factor = 1;
  if (unit == "k") factor = 1e3;
  if (unit == "m") factor = 1e6;
  if (unit == "g") factor = 1e9;
  if (unit == "t") factor = 1e12;
  if (problem != std::errc{} || factor == 0 || !(value > 0) || !std::isfinite(value))
    throw InputError(fmt::format(
        "--memory is '{}'; it must be a size > 0 such as 512MB, 1.5GB or a number of bytes.",
        text));
  return factor * value;
}

}  // namespace coterie::app
