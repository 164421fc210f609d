#include "coterie/data/planted_weights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "coterie/data/planted_samples.hpp"
#include "coterie/math/spectrum.hpp"

namespace coterie {
namespace {

void check(const PlantedWeightsSettings& s) {
  const auto number = [](Index n) { return static_cast<double>(n); };
  require_setting(s.tasks >= 1 && s.tasks <= 1'000'000, "tasks", number(s.tasks),
                  "between 1 and 1000000");
  require_setting(s.clusters >= 1 && s.clusters <= s.tasks, "clusters", number(s.clusters),
                  "between 1 and the number of tasks");
  require_setting(s.samples >= 2 && s.samples <= 1'000'000'000, "samples", number(s.samples),
                  "between 2 and 1000000000");
  require_setting(s.features >= 1 && s.features <= 1'000'000, "features", number(s.features),
                  "between 1 and 1000000");
  require_setting(s.structure != Structure::coclusters || s.features >= s.clusters, "features",
                  number(s.features), "at least the number of clusters");
  require_setting(s.structure != Structure::subspaces || s.features >= 2, "features",
                  number(s.features), "at least 2");
  require_setting(s.deviation >= 0 && s.deviation <= 1000, "deviation", s.deviation,
                  "between 0 and 1000");
  require_setting(s.noise >= 0 && s.noise < 0.5, "noise", s.noise, "at least 0 and below 0.5");
  const double entries = number(s.tasks) * number(s.samples) * number(s.features);
  require_setting(entries <= 1e10, "tasks x samples x features", entries, "at most 1e10");
}

// Entries of variance 1 / columns, so that rows have about the length 1.
Matrix random_rows(Index rows, Index columns, Random& random) {
  Matrix R(rows, columns);
  const double deviation = 1 / std::sqrt(static_cast<double>(columns));
  for (double& value : R.reshaped<Eigen::RowMajor>()) value = deviation * random.normal();
  return R;
}

// Values of a feature: `count` levels around a random centre, equally far from each other, with variance 1.
Vector random_levels(Index count, Random& random) {
  Vector levels = Vector::LinSpaced(count, -1, 1);
  if (count == 1) levels[0] = 0;
  if (count > 1) levels /= std::sqrt(levels.squaredNorm() / static_cast<double>(count));
  return levels.array() + random.normal();
}

// An orthonormal basis of a random plane, as two columns.
Matrix random_plane(Index d, Random& random) {
  return orthonormal(random_rows(2, d, random).transpose());
}

void plant_centres(const PlantedWeightsSettings& s, Random& random, PlantedWeights& planted) {
  const Matrix centres = random_rows(s.clusters, s.features, random);
  planted.W =
      centres(planted.cluster, Eigen::all) + s.deviation * random_rows(s.tasks, s.features, random);
}

void plant_features(const PlantedWeightsSettings& s, Random& random, PlantedWeights& planted) {
  Matrix U(s.tasks, s.features);
  std::vector<Index> order(s.tasks);
  std::iota(order.begin(), order.end(), Index{0});
  for (Index j = 0; j < s.features; ++j) {
    const Index fewest = std::min<Index>(2, s.clusters);
    const Index count = fewest + random.below(s.clusters - fewest + 1);
    random.shuffle(order);
    const Vector levels = random_levels(count, random);
    std::vector<Index>& cluster = planted.of_feature.emplace_back(s.tasks);
    for (Index i = 0; i < s.tasks; ++i) cluster[order[i]] = i % count;
    U.col(j) = levels(cluster);
  }
  U /= std::sqrt(static_cast<double>(s.features));
  planted.W = U + s.deviation * random_rows(s.tasks, s.features, random);
}

void plant_blocks(const PlantedWeightsSettings& s, Random& random, PlantedWeights& planted) {
  planted.W.setZero(s.tasks, s.features);
  for (Index c = 0; c < s.clusters; ++c) {
    const Index first = c * s.features / s.clusters;
    const Index size = (c + 1) * s.features / s.clusters - first;
    planted.feature_cluster.insert(planted.feature_cluster.end(), size, c);
    const Matrix centre = random_rows(1, size, random);
    for (Index t = c; t < s.tasks; t += s.clusters)
      planted.W.row(t).segment(first, size) = centre + s.deviation * random_rows(1, size, random);
  }
}

void plant_planes(const PlantedWeightsSettings& s, Random& random, PlantedWeights& planted) {
  planted.W.resize(s.tasks, s.features);
  for (Index c = 0; c < s.clusters; ++c) {
    const Matrix plane = random_plane(s.features, random);
    for (Index t = c; t < s.tasks; t += s.clusters) {
      const Vector direction = random_rows(1, 2, random).row(0).normalized();
      planted.W.row(t) =
          (plane * direction).transpose() + s.deviation * random_rows(1, s.features, random).row(0);
    }
  }
}

// Rows of a task, drawn until both classes are there, with the signs of w'x as labels, then noise.
void draw_task(const PlantedWeightsSettings& s, ConstVectorRef w, Index first, Random& random,
               Samples& samples) {
  Index positives = 0;
  do {
    positives = 0;
    for (Index i = first; i < first + s.samples; ++i) {
      for (double& value : samples.X.row(i)) value = random.normal();
      positives += samples.X.row(i).dot(w) > 0 ? 1 : 0;
    }
  } while (positives == 0 || positives == s.samples);

  std::vector<Index> minus, plus;
  for (Index i = first; i < first + s.samples; ++i) {
    const bool positive = samples.X.row(i).dot(w) > 0;
    samples.label.push_back(positive ? 1 : 0);
    (positive ? plus : minus).push_back(i);
  }
  turn_over(minus, s.noise, samples.label, random);
  turn_over(plus, s.noise, samples.label, random);
}

}  // namespace

std::string to_string(Structure structure) {
  switch (structure) {
    case Structure::weights:
      return "weights";
    case Structure::features:
      return "features";
    case Structure::coclusters:
      return "coclusters";
    case Structure::subspaces:
      break;
  }
  return "subspaces";
}

std::optional<Structure> structure_from(const std::string& text) {
  for (const Structure structure :
       {Structure::weights, Structure::features, Structure::coclusters, Structure::subspaces})
    if (text == to_string(structure)) return structure;
  return std::nullopt;
}

PlantedWeights plant_weights(const PlantedWeightsSettings& settings) {
  check(settings);
  Random random(settings.seed);
  PlantedWeights planted;
  if (settings.structure != Structure::features)
    for (Index t = 0; t < settings.tasks; ++t) planted.cluster.push_back(t % settings.clusters);
  switch (settings.structure) {
    case Structure::weights:
      plant_centres(settings, random, planted);
      break;
    case Structure::features:
      plant_features(settings, random, planted);
      break;
    case Structure::coclusters:
      plant_blocks(settings, random, planted);
      break;
    case Structure::subspaces:
      plant_planes(settings, random, planted);
      break;
  }
  planted.samples =
      planted_samples(settings.tasks, settings.features, settings.tasks * settings.samples);
  for (Index t = 0; t < settings.tasks; ++t) {
    draw_task(settings, planted.W.row(t).transpose(), t * settings.samples, random,
              planted.samples);
    planted.samples.task.insert(planted.samples.task.end(), settings.samples, t);
  }
  return planted;
}

}  // namespace coterie
