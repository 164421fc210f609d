// Tasks whose weight vectors have a planted structure, to see which method finds which.
//
//   weights      w_t = centre of the task's cluster + own part
//   features     w_tj = value of the cluster that task t has in feature j + own part; each feature divides the tasks in its own way
//   coclusters   as weights, but a cluster has a block of features of its own, and other weights are 0
//   subspaces    w_t = a random direction in the plane of the task's cluster + own part: tasks of a cluster need not be alike
//
// What is shared has about the length 1, the own part about the length `deviation`. Features are standard normal and labels are
//
//   y = sign(w_t'x),
//
// then a share `noise` of the labels of each class is turned over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coterie/data/dataset.hpp"

namespace coterie {

enum class Structure { weights, features, coclusters, subspaces };
std::string to_string(Structure structure);
std::optional<Structure> structure_from(const std::string& text);

struct PlantedWeightsSettings {
  Structure structure = Structure::weights;
  Index tasks = 12;
  Index clusters = 3;  // of tasks; `features`: 2 to this many in every feature
  Index samples = 60;  // per task
  Index features = 20;
  double deviation = 0.1;  // of a task from what it shares, relative
  double noise = 0.1;      // share of labels turned over, in [0, 0.5)
  std::uint64_t seed = 1;
  bool operator==(const PlantedWeightsSettings&) const = default;
};

struct PlantedWeights {
  Samples samples;             // tasks t01, t02, ..; labels -1 and 1; features f1, f2, ..
  Matrix W;                    // T x d, the truth; the same for every number of samples
  std::vector<Index> cluster;  // per task; `features`: empty
  std::vector<std::vector<Index>> of_feature;  // `features`: [feature][task]; else empty
  std::vector<Index> feature_cluster;          // `coclusters`: per feature; else empty
};

PlantedWeights plant_weights(const PlantedWeightsSettings& settings);

}  // namespace coterie
