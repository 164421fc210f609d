#include "records.hpp"

#include <iterator>
#include <limits>

#include "coterie/io/journal.hpp"

namespace coterie::fuzz {
namespace {

std::string numbers(Bytes bytes) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  static const double odd[] = {
      -1,           0.5,  1e9,    3e9,      1e300,     -1e300,
      4294967296.0, 1e18, 1.8e19, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
  std::string out;
  while (!bytes.empty()) {
    const auto first = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (first == 255) {
      const Bytes eight = bytes.substr(0, 8);
      out += eight;
      bytes.remove_prefix(eight.size());
      continue;
    }
    const double value = first >= 240 ? odd[first % std::size(odd)] : first;
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return out;
}

}  // namespace

void write_records(const std::string& path, Bytes bytes, std::size_t records) {
  Journal journal(path, "run", false);
  for (std::size_t k = 0; k < records; ++k)
    journal.append(numbers(bytes.substr(bytes.size() * k / records, bytes.size() / records)));
}

}  // namespace coterie::fuzz
