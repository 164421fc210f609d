#include "coterie/data/planted_samples.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace coterie {

void require_setting(bool good, const char* name, double value, const char* rule) {
  if (!good) throw InputError(fmt::format("{} is {}; it must be {}.", name, value, rule));
}

Samples planted_samples(Index tasks, Index features, Index rows) {
  Samples samples;
  samples.labels = {"-1", "1"};
  for (Index j = 0; j < features; ++j) samples.features.push_back(fmt::format("f{}", j + 1));
  const std::size_t digits = std::max<std::size_t>(2, std::to_string(tasks).size());
  for (Index t = 0; t < tasks; ++t) samples.tasks.push_back(fmt::format("t{:0{}}", t + 1, digits));
  samples.X.resize(rows, features);
  return samples;
}

void turn_over(std::vector<Index> members, double share, std::vector<Index>& label,
               Random& random) {
  random.shuffle(members);
  const Index flips = static_cast<Index>(share * static_cast<double>(members.size()));
  for (Index i = 0; i < flips; ++i) label[members[i]] = 1 - label[members[i]];
}

}  // namespace coterie
