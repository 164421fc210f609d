// Tasks whose weight vectors have a planted structure, to see which method finds which.
//
//   weights      clusters of weight vectors: w_t near the centre of its cluster
//   features     every feature has clusters of its own; tasks have no clusters, so truth is per feature
//   coclusters   clusters of tasks, each with a block of features of its own
//   subspaces    clusters of tasks, the weights of each in a subspace of its own
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
  Index tasks = 12, clusters = 3, samples = 60, features = 20;
  double spread = 0.1;  // of tasks around what they share, relative
  double noise = 0.05;  // share of labels turned over
  std::uint64_t seed = 1;
};

struct PlantedWeights {
  Samples samples;                             // of all tasks
  Matrix W;                                    // T x d, the truth
  std::vector<Index> cluster;                  // per task; `features`: empty
  std::vector<std::vector<Index>> of_feature;  // `features`: [feature][task]; `coclusters`: empty
  std::vector<Index> feature_cluster;          // `coclusters`: per feature
};
PlantedWeights plant_weights(const PlantedWeightsSettings& settings);

}  // namespace coterie
