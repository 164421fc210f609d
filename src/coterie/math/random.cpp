#include "coterie/math/random.hpp"

#include <bit>
#include <cmath>
#include <numbers>

namespace coterie {

Random::Random(std::uint64_t seed) : state_{} {
  for (std::uint64_t& word : state_) {  // splitmix64
    seed += 0x9e3779b97f4a7c15U;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    word = z ^ (z >> 31U);
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }

double Random::
    normal() {  // Box and Muller; the second number of the pair is not kept, so that a call has no memory
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

Index Random::below(Index bound) {
  const auto range = static_cast<std::uint64_t>(bound);
  const std::uint64_t limit = -range % range;  // values below it would favour small remainders
  std::uint64_t value = next();
  while (value < limit) value = next();
  return static_cast<Index>(value % range);
}

}  // namespace coterie
