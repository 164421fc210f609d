#include "coterie/data/planted_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "coterie/math/spectrum.hpp"

namespace coterie {
namespace {

constexpr Structure kAll[] = {Structure::weights, Structure::features, Structure::coclusters,
                              Structure::subspaces};

// Rows of W of the tasks of cluster c.
Matrix members(const PlantedWeights& planted, Index c) {
  std::vector<Index> rows;
  for (std::size_t t = 0; t < planted.cluster.size(); ++t)
    if (planted.cluster[t] == c) rows.push_back(static_cast<Index>(t));
  return planted.W(rows, Eigen::all);
}

TEST(PlantedWeights, HaveTheShapeAskedFor) {
  for (const Structure structure : kAll) {
    const PlantedWeights planted = plant_weights({.structure = structure});
    const Samples& samples = planted.samples;
    EXPECT_EQ(samples.X.rows(), 12 * 60);
    EXPECT_EQ(samples.X.cols(), 20);
    EXPECT_EQ(planted.W.rows(), 12);
    EXPECT_EQ(planted.W.cols(), 20);
    EXPECT_EQ(samples.features.front(), "f1");
    EXPECT_EQ(samples.features.back(), "f20");
    EXPECT_EQ(samples.tasks.front(), "t01");
    EXPECT_EQ(samples.tasks.back(), "t12");
    const bool per_feature = structure == Structure::features;
    EXPECT_EQ(planted.cluster, per_feature
                                   ? std::vector<Index>{}
                                   : (std::vector<Index>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
    EXPECT_EQ(std::ssize(planted.of_feature), per_feature ? 20 : 0);
    EXPECT_EQ(std::ssize(planted.feature_cluster), structure == Structure::coclusters ? 20 : 0);
    const Dataset data = cast_into_tasks(samples, Casting::binary);
    check_dataset(data);
    for (const Task& task : data.tasks) EXPECT_EQ(task.size(), 60);
    EXPECT_NEAR(samples.X.mean(), 0, 4 / std::sqrt(14400.0));
    EXPECT_NEAR(samples.X.squaredNorm() / 14400, 1, 4 * std::sqrt(2 / 14400.0));
    EXPECT_EQ(structure_from(to_string(structure)), structure);
  }
  EXPECT_EQ(structure_from("planes"), std::nullopt);
}

TEST(PlantedWeights, SameSeedSameDataAndTruthForAnySize) {
  for (const Structure structure : kAll) {
    const PlantedWeights planted = plant_weights({.structure = structure, .seed = 7});
    EXPECT_EQ(planted.samples, plant_weights({.structure = structure, .seed = 7}).samples);
    EXPECT_FALSE(planted.samples == plant_weights({.structure = structure, .seed = 8}).samples);
    const PlantedWeights more =
        plant_weights({.structure = structure, .samples = 200, .noise = 0, .seed = 7});
    EXPECT_EQ(planted.W, more.W);
    EXPECT_EQ(planted.of_feature, more.of_feature);
  }
}

TEST(PlantedWeights, LabelsAreSignsButForNoise) {
  for (const Structure structure : kAll)
    for (const double noise : {0.0, 0.1, 0.45}) {
      const PlantedWeights planted = plant_weights({.structure = structure, .noise = noise});
      const Dataset data = cast_into_tasks(planted.samples, Casting::binary);
      for (std::size_t t = 0; t < data.tasks.size(); ++t) {
        const Task& task = data.tasks[t];
        std::array<Index, 2> size = {}, turned = {};
        for (std::size_t i = 0; i < task.rows.size(); ++i) {
          double score = 0;
          for (Index j = 0; j < 20; ++j)
            score += data.X(task.rows[i], j) * planted.W(static_cast<Index>(t), j);
          const bool positive = score > 0;
          ++size[positive];
          if (positive != (task.y[static_cast<Index>(i)] > 0)) ++turned[positive];
        }
        for (const bool positive : {false, true})
          EXPECT_EQ(turned[positive],
                    static_cast<Index>(noise * static_cast<double>(size[positive])));
      }
    }
}

// Without own parts the tasks of a cluster are equal, and clusters differ.
TEST(PlantedWeights, WeightsAreCentresAndOwnParts) {
  const PlantedWeights exact = plant_weights({.deviation = 0});
  std::vector<Vector> centres;
  for (Index c = 0; c < 3; ++c) {
    const Matrix group = members(exact, c);
    for (Index i = 1; i < group.rows(); ++i) EXPECT_EQ(group.row(i), group.row(0));
    centres.push_back(group.row(0));
  }
  for (Index c = 0; c < 3; ++c) EXPECT_GT((centres[c] - centres[(c + 1) % 3]).norm(), 0.5);

  // The mean square of the own parts, over the 11 / 12 that the centring of 12 tasks leaves, is deviation^2 within 4 deviations.
  const PlantedWeights near = plant_weights({.tasks = 12, .clusters = 1, .deviation = 0.3});
  const Matrix own = near.W.rowwise() - near.W.colwise().mean();
  EXPECT_NEAR(own.squaredNorm() / 11, 0.09, 4 * 0.09 * std::sqrt(2.0 / (11 * 20)));
}

TEST(PlantedWeights, FeaturesHaveClustersOfTheirOwn) {
  const PlantedWeights exact =
      plant_weights({.structure = Structure::features, .features = 40, .deviation = 0});
  std::set<std::size_t> counts;
  std::set<std::vector<Index>> partitions;
  for (Index j = 0; j < 40; ++j) {
    const std::vector<Index>& cluster = exact.of_feature[j];
    for (Index s = 0; s < 12; ++s)
      for (Index t = 0; t < 12; ++t)
        EXPECT_EQ(exact.W(s, j) == exact.W(t, j), cluster[s] == cluster[t]);
    const std::set<Index> used(cluster.begin(), cluster.end());
    counts.insert(used.size());
    partitions.insert(cluster);
    for (const Index c : used)  // of equal size
      EXPECT_EQ(std::ranges::count(cluster, c), 12 / std::ssize(used));
    const Vector column = exact.W.col(j);
    EXPECT_NEAR((column.array() - column.mean()).square().mean(), 1.0 / 40, 1e-14);
  }
  EXPECT_EQ(counts, (std::set<std::size_t>{2, 3}));
  EXPECT_GT(std::ssize(partitions), 35);  // independent: hardly two are equal
  const PlantedWeights one =
      plant_weights({.structure = Structure::features, .clusters = 1, .deviation = 0});
  for (Index t = 1; t < 12; ++t) EXPECT_EQ(one.W.row(t), one.W.row(0));
}

// The block of a cluster has rank one up to own parts; everything outside is zero.
TEST(PlantedWeights, CoclustersHaveBlocks) {
  for (const double deviation : {0.0, 0.2}) {
    const PlantedWeights planted =
        plant_weights({.structure = Structure::coclusters, .deviation = deviation});
    EXPECT_EQ(std::set<Index>(planted.feature_cluster.begin(), planted.feature_cluster.end()),
              (std::set<Index>{0, 1, 2}));
    for (Index t = 0; t < 12; ++t)
      for (Index j = 0; j < 20; ++j)
        EXPECT_EQ(planted.W(t, j) != 0, planted.cluster[t] == planted.feature_cluster[j]);
    for (Index c = 0; c < 3; ++c) {
      const Vector sigma = singular_values(members(planted, c));
      EXPECT_EQ(sigma[1] > 1e-14 * sigma[0], deviation > 0);
      EXPECT_LE(sigma[1], 0.5 * sigma[0]);
    }
  }
}

// Two singular values per cluster, and directions of all kinds: tasks of a cluster are no more alike than their plane makes them.
TEST(PlantedWeights, SubspacesArePlanes) {
  const PlantedWeights exact = plant_weights(
      {.structure = Structure::subspaces, .tasks = 30, .clusters = 3, .deviation = 0});
  double smallest = 1, largest = 0;
  for (Index c = 0; c < 3; ++c) {
    const Matrix group = members(exact, c);
    const Vector sigma = singular_values(group);
    EXPECT_GE(sigma[1], 0.2 * sigma[0]);
    EXPECT_LE(sigma[2], 1e-14 * sigma[0]);
    for (Index i = 0; i < group.rows(); ++i) {
      EXPECT_NEAR(group.row(i).norm(), 1, 1e-14);
      for (Index k = 0; k < i; ++k) {
        const double cosine = std::abs(group.row(i).dot(group.row(k)));
        smallest = std::min(smallest, cosine);
        largest = std::max(largest, cosine);
      }
    }
  }
  EXPECT_LE(smallest, 0.05);
  EXPECT_GE(largest, 0.99);
  EXPECT_GE(singular_values(exact.W)[5], 0.2);  // three planes, not one

  const PlantedWeights near = plant_weights(
      {.structure = Structure::subspaces, .tasks = 30, .clusters = 3, .deviation = 0.1});
  EXPECT_GE(singular_values(members(near, 0))[2], 0.01);
}

TEST(PlantedWeights, SmallestTasksKeepBothClasses) {
  for (const Structure structure : kAll)
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      check_dataset(
          cast_into_tasks(plant_weights({.structure = structure,
                                         .samples = 2,
                                         .features = structure == Structure::coclusters ? 3 : 2,
                                         .noise = 0.49,
                                         .seed = seed})
                              .samples,
                          Casting::binary));
}

TEST(PlantedWeights, SillySettingsAreErrors) {
  const auto message = [](const PlantedWeightsSettings& settings) -> std::string {
    try {
      plant_weights(settings);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({.tasks = 0}), "tasks is 0; it must be between 1 and 1000000.");
  EXPECT_EQ(message({.tasks = 2, .clusters = 3}),
            "clusters is 3; it must be between 1 and the number of tasks.");
  EXPECT_EQ(message({.samples = 1}), "samples is 1; it must be between 2 and 1000000000.");
  EXPECT_EQ(message({.features = 0}), "features is 0; it must be between 1 and 1000000.");
  EXPECT_EQ(message({.structure = Structure::coclusters, .features = 2}),
            "features is 2; it must be at least the number of clusters.");
  EXPECT_EQ(message({.structure = Structure::subspaces, .features = 1}),
            "features is 1; it must be at least 2.");
  EXPECT_EQ(message({.deviation = -1}), "deviation is -1; it must be between 0 and 1000.");
  EXPECT_EQ(message({.deviation = std::numeric_limits<double>::quiet_NaN()}),
            "deviation is nan; it must be between 0 and 1000.");
  EXPECT_EQ(message({.noise = 0.5}), "noise is 0.5; it must be at least 0 and below 0.5.");
  EXPECT_EQ(message({.tasks = 1'000'000, .samples = 1'000'000}),
            "tasks x samples x features is 20000000000000; it must be at most 1e10.");
}

}  // namespace
}  // namespace coterie
