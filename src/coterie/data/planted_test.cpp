#include "coterie/data/planted.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coterie/math/dense.hpp"

namespace coterie {
namespace {

TEST(Planted, HasTheShapeAskedFor) {
  const Planted planted = plant_groups({});
  const Samples& samples = planted.samples;
  EXPECT_EQ(samples.X.rows(), 12 * 60);
  EXPECT_EQ(samples.X.cols(), 3 * 4);
  EXPECT_EQ(samples.features.front(), "f1");
  EXPECT_EQ(samples.features.back(), "f12");
  EXPECT_EQ(samples.tasks.front(), "t01");
  EXPECT_EQ(samples.tasks.back(), "t12");
  EXPECT_EQ(planted.group, (std::vector<Index>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
  const Dataset data = cast_into_tasks(samples, Casting::binary);
  check_dataset(data);
  for (const Task& task : data.tasks) EXPECT_EQ(task.y.sum(), 0);  // 3 of 30 flipped in each class
}

TEST(Planted, SameSeedSameData) {
  EXPECT_EQ(plant_groups({.seed = 7}).samples, plant_groups({.seed = 7}).samples);
  EXPECT_FALSE(plant_groups({.seed = 7}).samples == plant_groups({.seed = 8}).samples);
}

TEST(Planted, SizesSpreadAndClassesLean) {
  const Planted planted =
      plant_groups({.tasks = 40, .noise = 0, .positive_share = 0.2, .size_spread = 0.5});
  const Dataset data = cast_into_tasks(planted.samples, Casting::binary);
  Index smallest = 1000, largest = 0;
  for (const Task& task : data.tasks) {
    smallest = std::min(smallest, task.size());
    largest = std::max(largest, task.size());
    const auto n = static_cast<double>(task.size());
    EXPECT_EQ((task.y.array() > 0).count(), std::lround(0.2 * n));
  }
  EXPECT_GE(smallest, 30);
  EXPECT_LE(largest, 90);
  EXPECT_GE(largest - smallest, 30);
}

// The share of the variance of y that least squares on 1 and the columns of B explains.
double explained(const Matrix& B, const Vector& y) {
  Matrix A(B.rows(), B.cols() + 1);
  A << Vector::Ones(B.rows()), B;
  Eigen::MatrixXd L = A.transpose() * A;
  EXPECT_TRUE(cholesky(L));
  const Vector coefficients = cholesky_solve(L, Vector(A.transpose() * y));
  return 1 - (A * coefficients - y).squaredNorm() / (y.array() - y.mean()).matrix().squaredNorm();
}

// In the group's own block even groups are linear and odd ones quadratic; other blocks explain what chance does, about d/n.
TEST(Planted, OnlyTheGroupsOwnKernelMatters) {
  const PlantedSettings settings = {.tasks = 4, .groups = 4, .samples = 1000, .noise = 0.05};
  const Planted planted = plant_groups(settings);
  const Dataset data = cast_into_tasks(planted.samples, Casting::binary);
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const Task& task = data.tasks[t];
    for (Index g = 0; g < settings.groups; ++g) {
      const Matrix block = data.X(task.rows, Eigen::seqN(4 * g, 4));
      const bool own = planted.group[t] == g;
      const double linear = explained(block, task.y), square = explained(block.cwiseAbs2(), task.y);
      EXPECT_EQ(linear > 0.3, own && g % 2 == 0) << t << ' ' << g << ' ' << linear;
      EXPECT_EQ(square > 0.3, own && g % 2 == 1) << t << ' ' << g << ' ' << square;
      EXPECT_LT(own ? 0 : linear + square, 0.05);
    }
  }
}

TEST(Planted, SmallestTasksKeepBothClasses) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Planted planted = plant_groups(
        {.samples = 2, .noise = 0.49, .positive_share = 0.1, .size_spread = 0.9, .seed = seed});
    check_dataset(cast_into_tasks(planted.samples, Casting::binary));
  }
}

TEST(Planted, SillySettingsAreErrors) {
  const auto message = [](const PlantedSettings& settings) -> std::string {
    try {
      plant_groups(settings);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({.tasks = 0}), "tasks is 0; it must be between 1 and 1000000.");
  EXPECT_EQ(message({.tasks = 2, .groups = 3}),
            "groups is 3; it must be between 1 and the number of tasks.");
  EXPECT_EQ(message({.samples = 1}), "samples is 1; it must be between 2 and 1000000000.");
  EXPECT_EQ(message({.features_per_block = 0}),
            "features_per_block is 0; it must be between 1 and 1000000.");
  EXPECT_EQ(message({.noise = 0.5}), "noise is 0.5; it must be at least 0 and below 0.5.");
  EXPECT_EQ(message({.noise = std::numeric_limits<double>::quiet_NaN()}),
            "noise is nan; it must be at least 0 and below 0.5.");
  EXPECT_EQ(message({.positive_share = 1}), "positive_share is 1; it must be between 0 and 1.");
  EXPECT_EQ(message({.size_spread = 1}), "size_spread is 1; it must be at least 0 and below 1.");
  EXPECT_EQ(
      message({.tasks = 1'000'000, .samples = 1'000'000}),
      "tasks x samples x groups x features_per_block is 12000000000000; it must be at most 1e10.");
}

}  // namespace
}  // namespace coterie
