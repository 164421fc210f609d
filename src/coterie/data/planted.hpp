// Tasks with planted groups, to see whether a method finds them.
//
// Every group g owns a block of features; every feature is standard normal. A task t of group g is labelled by a score of that
// block alone, all other blocks are noise:
//
//   g even:  score = w_t' x_g          a random unit direction w_t per task
//   g odd:   score = ||x_g - s_t||     a small random shift s_t per task
//
// y = +1 for the samples with the largest scores, as many as positive_share asks for; then a share `noise` of the labels of each
// class is flipped. So the tasks of a group need the same kernel (linear or Gaussian, on the group's block) but not the same classifier.
#pragma once

#include <cstdint>
#include <vector>

#include "coterie/data/dataset.hpp"

namespace coterie {

struct PlantedSettings {
  Index tasks = 12;
  Index groups = 3;
  Index samples = 60;  // per task
  Index features_per_block = 4;
  double noise = 0.1;           // share of flipped labels, in [0, 0.5)
  double positive_share = 0.5;  // before labels are flipped
  double size_spread = 0;  // tasks have samples * (1 + u size_spread) samples, u uniform in [-1, 1]
  std::uint64_t seed = 1;
  bool operator==(const PlantedSettings&) const = default;
};

struct Planted {
  Samples samples;  // tasks t01, t02, ..; labels -1 and 1; features f1, f2, .., block after block
  std::vector<Index> group;  // per task
};

Planted plant_groups(const PlantedSettings& settings);

}  // namespace coterie
