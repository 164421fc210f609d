// Clocks, medians, contestants in turn, exponents.
#pragma once

#include <chrono>
#include <functional>
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

// Median seconds of every contestant, and how often each ran.
struct Timing {
  std::vector<double> seconds;
  int runs = 0;
};

// Lets the contestants run in turn, so that all of them see the same machine. Each returns the seconds that count. Short runs are
// repeated more often, up to five times `runs`, until a second has passed; a run of all contestants that takes more than 20 s is
// repeated 3 times at most.
Timing interleave(int runs, const std::vector<std::function<double()>>& contestants);

// seconds = factor * size^exponent, by least squares on logarithms.
struct PowerLaw {
  double factor = 0, exponent = 0;
};
PowerLaw fit_power_law(const std::vector<double>& sizes, const std::vector<double>& seconds);

// Memory of this process in bytes, as the kernel counts it: now, and the peak since the start or since the last reset_peak().
// `reset_peak` says whether the system could do it.
double memory_now();
double memory_peak();
bool reset_peak();

}  // namespace coterie::bench
