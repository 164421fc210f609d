#include "coterie/stats/partitions.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

using Labels = std::vector<Index>;

// From the four counts of pairs: together in both, in one only, in none.
double by_pairs(const Labels& a, const Labels& b) {
  double both = 0, only_a = 0, only_b = 0, none = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool in_a = a[i] == a[j];
      const bool in_b = b[i] == b[j];
      (in_a ? (in_b ? both : only_a) : (in_b ? only_b : none)) += 1;
    }
  }
  return 2 * (both * none - only_a * only_b) /
         ((both + only_a) * (only_a + none) + (both + only_b) * (only_b + none));
}

TEST(AdjustedRandIndex, AgreesWithCountsOfPairs) {
  Random random(1);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Index n = 3 + random.below(20);
    Labels a(static_cast<std::size_t>(n));
    Labels b = a;
    for (Index& label : a) label = random.below(4);
    for (Index& label : b) label = random.below(3);
    if (std::ranges::count(a, a[0]) == n || std::ranges::count(b, b[0]) == n) continue;
    EXPECT_NEAR(adjusted_rand_index(a, b), by_pairs(a, b), 1e-12);
    EXPECT_EQ(adjusted_rand_index(a, b), adjusted_rand_index(b, a));
    Labels renamed = a;
    for (Index& label : renamed) label = 7 - 2 * label;
    EXPECT_EQ(adjusted_rand_index(renamed, a), 1);
    EXPECT_EQ(adjusted_rand_index(renamed, b), adjusted_rand_index(a, b));
  }
}

TEST(AdjustedRandIndex, IsZeroOnAverageOverAllOrders) {
  const Labels a{0, 0, 0, 1, 1, 2};
  Labels b{0, 0, 1, 1, 2, 2};
  double sum = 0;
  double count = 0;
  do {
    sum += adjusted_rand_index(a, b);
    ++count;
  } while (std::next_permutation(b.begin(), b.end()));
  EXPECT_EQ(count, 90);
  EXPECT_NEAR(sum, 0, 1e-12);
}

TEST(AdjustedRandIndex, OfTrivialPartitions) {
  const Labels one{0, 0, 0, 0};
  const Labels apart{0, 1, 2, 3};
  EXPECT_EQ(adjusted_rand_index(one, one), 1);
  EXPECT_EQ(adjusted_rand_index(apart, apart), 1);
  EXPECT_EQ(adjusted_rand_index(one, apart), 0);
  EXPECT_EQ(adjusted_rand_index({}, {}), 1);
  EXPECT_EQ(adjusted_rand_index({5}, {3}), 1);
}

}  // namespace
}  // namespace coterie
