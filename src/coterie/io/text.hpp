// Small pieces of reading text: numbers, names, and how a message shows what was found. Internal to this room.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie::detail {

// The text with control characters and broken UTF-8 as \xNN, cut after so many characters.
std::string printable(std::string_view text, std::size_t most);

// The text in single quotes, at most 40 characters of it, printable.
std::string show(std::string_view found);

// A name of a file without the .gz at its end.
std::string without_gz(const std::string& path);

std::string_view trim(std::string_view text);  // without spaces and tabs at its ends

// Reads the number at p and returns where it ends, or nullptr when none starts there or it is not finite.
//
// Most numbers in data files are like -12 or 0.12345. With at most 15 digits, mantissa and power of ten are both exact doubles, so
// one division gives the correctly rounded value, several times faster than the general std::from_chars.
inline const char* read_number(const char* p, const char* end, double& value) {
  static constexpr double power_of_ten[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const char* const start = p;
  const auto is_digit = [end](const char* q) {
    return q != end && static_cast<unsigned char>(*q - '0') < 10;
  };
  std::uint64_t mantissa = 0;
  const bool negative = p != end && *p == '-';
  if (negative) ++p;
  const char* const digits = p;
  for (; is_digit(p); ++p) mantissa = 10 * mantissa + static_cast<std::uint64_t>(*p - '0');
  std::ptrdiff_t count = p - digits, fraction = 0;
  if (p != end && *p == '.') {
    const char* const point = p++;
    for (; is_digit(p); ++p) mantissa = 10 * mantissa + static_cast<std::uint64_t>(*p - '0');
    fraction = p - point - 1;
    count += fraction;
  }
  const bool has_exponent = p != end && (*p == 'e' || *p == 'E');
  if (count == 0 || count > 15 || has_exponent) {
    const auto [after, problem] = std::from_chars(start, end, value);
    return problem == std::errc{} && std::isfinite(value) ? after : nullptr;
  }
  value = static_cast<double>(mantissa);
  if (fraction > 0) value /= power_of_ten[fraction];
  if (negative) value = -value;
  return p;
}

// A finite decimal number, nothing before or after it but spaces and one plus sign.
bool parse_number(std::string_view text, double& value);

// Why parse_number said no, to follow the name of the place: "is empty; ...", "holds 'x', which is not a number".
std::string describe_bad_number(std::string_view text);

// Names go into messages, JSON and model files, so they must be printable UTF-8. Returns what is wrong, or nothing.
std::string describe_bad_name(std::string_view name);

// Numbers for names, in order of first appearance.
class Dictionary {
 public:
  Index find(std::string_view name) {  // -1: not there
    if (!names_.empty() && names_[last_] == name) return last_;
    const auto known = codes_.find(name);
    return known == codes_.end() ? -1 : last_ = known->second;
  }
  Index code(std::string_view name) {  // added if it is not there
    const Index known = find(name);
    return known >= 0 ? known : add(name);
  }
  const std::vector<std::string>& names() const { return names_; }
  double bytes() const { return bytes_; }  // that it takes, about

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  Index add(std::string_view name);

  std::vector<std::string> names_;
  std::unordered_map<std::string, Index, Hash, std::equal_to<>> codes_;
  Index last_ = 0;
  double bytes_ = 0;
};

// Sorts the names by label_before and renumbers the codes.
void sort_labels(std::vector<std::string>& names, std::vector<Index>& codes);

}  // namespace coterie::detail
