#include "measure.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace coterie::bench {

namespace {

std::string machine() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string cell(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return fmt::format("{}", value.get<long>());
  if (value.is_number()) return fmt::format("{:.3g}", value.get<double>());
  return value.dump();
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

void Report::print(bool json) const {
  if (json) {
    const char* commit = std::getenv("COTERIE_COMMIT");
    nlohmann::ordered_json out = {{"part", part},
                                  {"about", about},
                                  {"commit", commit ? commit : "unknown"},
                                  {"compiler", BENCH_COMPILER},
                                  {"flags", BENCH_FLAGS},
                                  {"machine", machine()},
                                  {"rows", rows}};
    fmt::print("{}\n", out.dump(1));
    return;
  }
  fmt::print("{}: {}\n\n", part, about);
  if (rows.empty()) return;
  std::vector<std::size_t> width;
  for (const auto& [key, value] : rows.front().items()) width.push_back(key.size());
  for (const auto& row : rows) {
    std::size_t k = 0;
    for (const auto& [key, value] : row.items()) {
      width[k] = std::max(width[k], cell(value).size());
      ++k;
    }
  }
  const auto line = [&](const auto& text_of) {
    std::size_t k = 0;
    std::string text;
    for (const auto& [key, value] : rows.front().items()) {
      const std::string field = text_of(key);
      text += k == 0 ? fmt::format("{:<{}}", field, width[k])
                     : fmt::format("  {:>{}}", field, width[k]);
      ++k;
    }
    fmt::print("{}\n", text);
  };
  line([](const std::string& key) { return key; });
  for (const auto& row : rows) line([&](const std::string& key) { return cell(row.at(key)); });
  fmt::print("\n");
}

}  // namespace coterie::bench
