// Seeded random numbers with the same sequence on every machine and standard library.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// xoshiro256** of Blackman and Vigna (2018), seeded through splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  double uniform();  // in [0, 1)
  double uniform(double low, double high);
  double normal();           // mean 0, variance 1
  Index below(Index bound);  // in {0, .., bound - 1}, without bias

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (Index i = std::ssize(items) - 1; i > 0; --i) std::swap(items[i], items[below(i + 1)]);
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace coterie
