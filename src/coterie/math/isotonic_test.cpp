#include "coterie/math/isotonic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

// x_i = max_{a <= i} min_{b >= i} mean(z[a..b]): the known formula of isotonic regression.
double isotonic_value(const Vector& z, const Vector& weight, Index i) {
  double highest = -std::numeric_limits<double>::infinity();
  for (Index a = 0; a <= i; ++a) {
    double lowest = std::numeric_limits<double>::infinity();
    for (Index b = i; b < z.size(); ++b) {
      const Index n = b - a + 1;
      lowest =
          std::min(lowest, weight.segment(a, n).dot(z.segment(a, n)) / weight.segment(a, n).sum());
    }
    highest = std::max(highest, lowest);
  }
  return highest;
}

TEST(Isotonic, IsTheMaximumOfMinimaOfMeans) {
  Random random(1);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Index n = 1 + random.below(15);
    Vector z(n);
    Vector weight(n);
    for (double& x : z) x = std::round(3 * random.normal()) + (repeat % 2) * random.normal();
    for (double& w : weight) w = repeat % 3 == 0 ? 1 : random.uniform(0.1, 2);
    const Isotonic fit = isotonic_regression(z, weight);
    for (Index i = 0; i < n; ++i) EXPECT_NEAR(fit.x[i], isotonic_value(z, weight, i), 1e-12);
    ASSERT_FALSE(fit.first.empty());
    EXPECT_EQ(fit.first.front(), 0);
    for (Index i = 1; i < n; ++i) {  // a new block where the value changes, and only there
      const bool begins = std::ranges::count(fit.first, i) == 1;
      EXPECT_EQ(begins, fit.x[i] > fit.x[i - 1]);
      if (!begins) {
        EXPECT_EQ(fit.x[i], fit.x[i - 1]);
      }
    }
    EXPECT_TRUE(std::ranges::is_sorted(fit.first));
  }
}

TEST(Isotonic, LeavesWhatIncreases) {
  EXPECT_EQ(isotonic_regression(Vector(), Vector()).x.size(), 0);
  const Vector z = Vector::LinSpaced(9, -1, 0.3);
  EXPECT_EQ(isotonic_regression(z, Vector::Ones(9)).x, z);
  EXPECT_EQ(isotonic_regression(z, Vector::Ones(9)).first.size(), 9);
  const Vector same = Vector::Constant(7, 0.1);  // whose sum is not 7 times 0.1 in doubles
  EXPECT_EQ(isotonic_regression(same, Vector::Ones(7)).x, same);
  EXPECT_EQ(isotonic_regression(same, Vector::Ones(7)).first.size(), 1);
}

}  // namespace
}  // namespace coterie
