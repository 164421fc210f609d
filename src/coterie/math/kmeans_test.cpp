#include "coterie/math/kmeans.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

Matrix random_points(Random& random, Index n, Index d) {
  Matrix points(n, d);
  for (double& x : points.reshaped()) x = random.normal();
  return points;
}

double spread_of(const Matrix& points, const std::vector<Index>& label, Index clusters) {
  double spread = 0;
  for (Index k = 0; k < clusters; ++k) {
    std::vector<Index> members;
    for (Index i = 0; i < points.rows(); ++i)
      if (label[i] == k) members.push_back(i);
    if (members.empty()) continue;
    const Matrix own = points(members, Eigen::all);
    spread += (own.rowwise() - own.colwise().mean()).squaredNorm();
  }
  return spread;
}

// Over all labellings of few points.
double smallest_spread(const Matrix& points, Index clusters) {
  std::vector<Index> label(static_cast<std::size_t>(points.rows()), 0);
  double best = std::numeric_limits<double>::infinity();
  for (;;) {
    best = std::min(best, spread_of(points, label, clusters));
    std::size_t i = 0;
    while (i < label.size() && ++label[i] == clusters) label[i++] = 0;
    if (i == label.size()) return best;
  }
}

TEST(Kmeans, FindsTheBestOfAllLabellingsOfFewPoints) {
  Random random(1);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const Matrix points = random_points(random, 7, 2);
    for (const Index k : {1, 2, 3}) {
      const Kmeans found = kmeans(points, k, 50, 1);
      EXPECT_NEAR(found.spread, smallest_spread(points, k), 1e-12);
      EXPECT_NEAR(found.spread, spread_of(points, found.label, k), 1e-12);
    }
  }
}

TEST(Kmeans, EndsWhereNoCentreMoves) {
  Random random(2);
  const Matrix points = random_points(random, 60, 3);
  const Kmeans found = kmeans(points, 6, 3, 5);
  ASSERT_EQ(found.centres.rows(), 6);
  for (Index i = 0; i < 60; ++i) {
    Index nearest = 0;
    (found.centres.rowwise() - points.row(i)).rowwise().squaredNorm().minCoeff(&nearest);
    EXPECT_EQ(found.label[i], nearest);
  }
  EXPECT_NEAR(found.spread, spread_of(points, found.label, 6), 1e-12 * found.spread);
  Index next = 0;  // numbered by first appearance
  for (const Index label : found.label) {
    EXPECT_LE(label, next);
    next = std::max(next, label + 1);
  }
  EXPECT_EQ(kmeans(points, 6, 3, 5).label, found.label);
  EXPECT_LE(kmeans(points, 6, 30, 5).spread, found.spread);
}

TEST(Kmeans, HasNoMoreClustersThanDistinctPoints) {
  Matrix points(6, 1);
  points << 2, 1, 2, 1, 5, 2;
  const Kmeans found = kmeans(points, 5, 4, 1);
  EXPECT_EQ(found.label, (std::vector<Index>{0, 1, 0, 1, 2, 0}));
  EXPECT_EQ(found.centres, (Matrix(3, 1) << 2, 1, 5).finished());
  EXPECT_EQ(found.spread, 0);
  EXPECT_EQ(kmeans(points, 100, 1, 1).centres.rows(), 3);
  EXPECT_TRUE(kmeans(Matrix(0, 2), 3, 1, 1).label.empty());
}

TEST(Kmeans, FindsPlantedClusters) {
  Random random(3);
  Matrix points = random_points(random, 40, 4);
  for (Index i = 0; i < 40; ++i) points(i, i % 4) += 30;
  const Kmeans found = kmeans(points, 4, 10, 7);
  for (Index i = 0; i < 40; ++i) EXPECT_EQ(found.label[i], i % 4);
}

}  // namespace
}  // namespace coterie
