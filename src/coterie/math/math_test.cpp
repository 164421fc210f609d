#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <set>

#include "coterie/math/parallel.hpp"
#include "coterie/math/prox.hpp"
#include "coterie/math/random.hpp"
#include "coterie/math/simplex.hpp"

namespace coterie {
namespace {

Vector random_vector(Random& random, Index size, double scale) {
  Vector v(size);
  for (double& x : v) x = scale * random.normal();
  return v;
}

// x is the projection of v on a convex set D iff (v - x)'(z - x) <= 0 for all z in D, that is, iff the
// linear function -(v - x)'z is smallest over D at x.
void expect_projection(const WeightSet& set, const Vector& v, const Vector& x, double tolerance) {
  EXPECT_TRUE(set.contains(x, 1e-12)) << x.transpose();
  const Vector c = x - v;
  EXPECT_NEAR(c.dot(x), set.smallest(c), tolerance * (1 + v.norm())) << "p = " << set.p();
}

TEST(WeightSet, ProjectionSatisfiesItsVariationalInequality) {
  Random random(1);
  for (const double p : {1.0, 1.0000000000000002, 1.000001, 1.0001, 1.001, 1.01, 1.2, 1.5, 2.0, 3.0,
                         8.0, 50.0, 1000.0, std::numeric_limits<double>::infinity()}) {
    const WeightSet set(p);
    for (int i = 0; i < 30; ++i) {
      const Vector v =
          random_vector(random, 1 + random.below(12), std::pow(10, random.uniform(-2, 2)));
      expect_projection(set, v, set.project(v), p == 1 || p == 2 || std::isinf(p) ? 1e-12 : 1e-9);
    }
  }
}

TEST(WeightSet, SmallestIsAttainedByNoPointBelowIt) {
  Random random(2);
  for (const double p : {1.0, 1.5, 2.0, 4.0}) {
    const WeightSet set(p);
    for (int i = 0; i < 50; ++i) {
      const Vector c = random_vector(random, 6, 1);
      const double bound = set.smallest(c);
      double best = std::numeric_limits<double>::infinity();
      for (int j = 0; j < 200; ++j)
        best = std::min(best, c.dot(set.project(random_vector(random, 6, 2) - 10.0 * j / 200 * c)));
      EXPECT_GE(best, bound - 1e-12);
      EXPECT_LE(best, bound + 0.2 * c.norm());
    }
  }
}

// Entries of 1e-200 and 1e200: neither powers nor sums may leave the range of numbers.
TEST(WeightSet, TheMinimiserAttainsTheSmallestValue) {
  Random random(3);
  for (const double p : {1.0, 1.0000000000000002, 1.000001, 1.01, 1.5, 2.0, 4.0, 50.0,
                         std::numeric_limits<double>::infinity()}) {
    const WeightSet set(p);
    for (const double scale : {1e-200, 1.0, 1e200}) {
      for (int i = 0; i < 20; ++i) {
        const Vector c = random_vector(random, 1 + random.below(12), scale);
        const Vector x = set.minimiser(c);
        EXPECT_TRUE(set.contains(x, 1e-12)) << "p = " << p;
        EXPECT_NEAR(c.dot(x) / scale, set.smallest(c) / scale, 1e-9) << "p = " << p;
      }
    }
  }
}

TEST(WeightSet, UniformLiesOnTheBoundary) {
  EXPECT_NEAR(WeightSet(1).uniform(10).sum(), 1, 1e-15);
  EXPECT_NEAR(WeightSet(2).uniform(10).norm(), 1, 1e-15);
  EXPECT_EQ(WeightSet(std::numeric_limits<double>::infinity()).uniform(3), Vector::Ones(3));
}

TEST(Prox, PairwiseMapSatisfiesItsOptimalityCondition) {
  Random random(3);
  int fused = 0;
  for (int i = 0; i < 200; ++i) {
    const Vector a = random_vector(random, 5, 1);
    const Vector b = random_vector(random, 5, 1);
    const double kappa = random.uniform(0.01, 3);
    const auto [x, y] = prox_pairwise(a, b, kappa);
    EXPECT_LE((x + y - a - b).norm(), 1e-12);
    const Vector g = (a - x) / kappa;  // optimal iff g is a subgradient of the norm at x - y
    EXPECT_LE(g.norm(), 1 + 1e-12);
    EXPECT_NEAR(g.dot(x - y), (x - y).norm(), 1e-12);
    fused += x == y;
  }
  EXPECT_GT(fused, 20);
  EXPECT_LT(fused, 180);
}

TEST(Random, SameSeedSameSequence) {
  Random first(0);
  Random second(0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(first.next(), second.next());
  EXPECT_NE(Random(0).next(), Random(1).next());
}

TEST(Random, BelowCoversItsRangeAndNormalHasItsMoments) {
  Random random(4);
  std::set<Index> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.below(7));
  EXPECT_EQ(seen.size(), 7U);
  EXPECT_EQ(*seen.rbegin(), 6);
  const int n = 20000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 4 / std::sqrt(n));  // four standard errors
  EXPECT_NEAR(squares / n, 1, 4 * std::sqrt(2) / std::sqrt(n));
}

TEST(Parallel, VisitsEveryIndexOnceAndPassesErrorsOn) {
  for (const int threads : {1, 2, 0}) {
    std::vector<std::atomic<int>> visits(1000);
    parallel_for(1000, threads, [&](Index i) { ++visits[static_cast<std::size_t>(i)]; });
    for (const auto& count : visits) EXPECT_EQ(count, 1);
    EXPECT_THROW(parallel_for(10, threads,
                              [](Index i) {
                                if (i == 7) throw InputError("seven");
                              }),
                 InputError);
  }
}

}  // namespace
}  // namespace coterie
