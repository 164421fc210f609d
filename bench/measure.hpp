// Clocks, medians, tables and the JSON that every part prints.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace coterie::bench {

class Watch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double median(std::vector<double> values);
double peak_memory_bytes();  // of the process, so far

// A table of numbers for people and machines: rows are JSON objects with the same keys in the same order.
struct Report {
  std::string part, about;
  std::vector<nlohmann::ordered_json> rows;
  void print(bool json) const;
};

}  // namespace coterie::bench
