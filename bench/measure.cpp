#include "measure.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace coterie::bench {

namespace {

constexpr double long_run_seconds = 20;
constexpr double enough_seconds = 1;

double status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return 1024.0 * std::stod(line.substr(field.size() + 1));
  return 0;
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Timing interleave(int runs, const std::vector<std::function<double()>>& contestants) {
  std::vector<std::vector<double>> seconds(contestants.size());
  Timing timing;
  const Watch all;
  while (timing.runs < runs ||
         (runs > 3 && timing.runs < 5 * runs && all.seconds() < enough_seconds)) {
    const Watch watch;
    for (std::size_t k = 0; k < contestants.size(); ++k) seconds[k].push_back(contestants[k]());
    ++timing.runs;
    if (watch.seconds() > long_run_seconds) runs = std::min(runs, 3);
  }
  for (const std::vector<double>& one : seconds) timing.seconds.push_back(median(one));
  return timing;
}

PowerLaw fit_power_law(const std::vector<double>& sizes, const std::vector<double>& seconds) {
  const double n = static_cast<double>(sizes.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    mean_x += std::log(sizes[i]) / n;
    mean_y += std::log(seconds[i]) / n;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double x = std::log(sizes[i]) - mean_x;
    xx += x * x;
    xy += x * (std::log(seconds[i]) - mean_y);
  }
  const double exponent = xx > 0 ? xy / xx : 0;
  return {std::exp(mean_y - exponent * mean_x), exponent};
}

double memory_now() { return status_bytes("VmRSS:"); }
double memory_peak() { return status_bytes("VmHWM:"); }

bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << 5 << std::flush;
  return static_cast<bool>(file);
}

}  // namespace coterie::bench
