#include "coterie/stats/paired.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "coterie/math/random.hpp"
#include "coterie/stats/distributions.hpp"
#include "coterie/stats/ranks.hpp"

namespace coterie {
namespace {

TEST(Wilcoxon, AllOfOneSign) {
  // Of the 2^5 choices of signs, only all + and all - are as far out.
  const Wilcoxon test = wilcoxon_test(Vector{{5, 1, 2, 4, 3}});
  EXPECT_EQ(test.n, 5);
  EXPECT_EQ(test.plus, 15);
  EXPECT_EQ(test.minus, 0);
  EXPECT_TRUE(test.exact);
  EXPECT_DOUBLE_EQ(test.p, 2.0 / 32);
}

// The differences of Demsar (JMLR 2006), table 2, in thousandths. He ranks the two zeros and splits them; we drop them, so that all his ranks
// fall by 2: the negative ones, 7 and 3.5, become 5 and 1.5.
TEST(Wilcoxon, WorksAsInDemsarButForTheZeros) {
  const Wilcoxon test = wilcoxon_test(Vector{{5, -8, 17, 33, 6, -5, 7, 0, 63, 0, 22, 47, 9, 21}});
  EXPECT_EQ(test.n, 12);
  EXPECT_EQ(test.minus, 6.5);
  EXPECT_EQ(test.plus, 12 * 13 / 2 - 6.5);
  EXPECT_FALSE(test.exact);  // 5 and -5 are equal in size
  const double variance = 12.0 * 13 * 25 / 24 - (8.0 - 2) / 48;
  EXPECT_DOUBLE_EQ(test.p, normal_two_sided((39 - 6.5 - 0.5) / std::sqrt(variance)));
}

// p against a count over all choices of signs.
TEST(Wilcoxon, ExactMeansCounted) {
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    const Index n = 1 + random.below(9);
    Vector d(n);
    for (double& value : d) value = random.uniform(-1, 1);
    const Wilcoxon test = wilcoxon_test(d);
    const Vector ranks = rank_descending(-d.cwiseAbs());
    const double middle = ranks.sum() / 2, distance = std::abs(test.plus - middle);
    Index as_far = 0;
    for (Index signs = 0; signs < (Index{1} << n); ++signs) {
      double sum = 0;
      for (Index i = 0; i < n; ++i)
        if ((signs >> i & 1) != 0) sum += ranks[i];
      as_far += std::abs(sum - middle) >= distance;
    }
    EXPECT_TRUE(test.exact);
    EXPECT_NEAR(test.p, std::ldexp(static_cast<double>(as_far), -static_cast<int>(n)), 1e-14);
  }
}

TEST(Wilcoxon, BothFormsMeetWhereTheyChange) {
  Random random(2);
  for (int round = 0; round < 30; ++round) {
    Vector d(50);
    for (double& value : d) value = random.uniform(-1, 1.3);
    const Wilcoxon exact = wilcoxon_test(d);
    Vector more(51);  // a smallest difference changes little
    more << d, 1e-9;
    const Wilcoxon normal = wilcoxon_test(more);
    EXPECT_TRUE(exact.exact);
    EXPECT_FALSE(normal.exact);
    EXPECT_NEAR(exact.p, normal.p, 0.03);
  }
}

TEST(Wilcoxon, NoDifference) {
  EXPECT_EQ(wilcoxon_test(Vector::Zero(4)).p, 1);
  EXPECT_EQ(wilcoxon_test(Vector::Zero(4)).n, 0);
}

TEST(MeanInterval, OfThree) {
  // s = 1; two degrees of freedom, where P(|T| >= t) = 1 - t / sqrt(2 + t^2): 0.05 at t = 0.95 sqrt(2 / (1 - 0.95^2)).
  const MeanInterval interval = mean_interval(Vector{{1, 2, 3}});
  const double t = 0.95 * std::sqrt(2 / (1 - 0.95 * 0.95));
  EXPECT_DOUBLE_EQ(interval.mean, 2);
  EXPECT_DOUBLE_EQ(interval.standard_error, 1 / std::sqrt(3));
  EXPECT_NEAR(interval.low, 2 - t / std::sqrt(3), 1e-13);
  EXPECT_NEAR(interval.high, 2 + t / std::sqrt(3), 1e-13);
  EXPECT_TRUE(std::isnan(mean_interval(Vector{{1}}).low));
}

TEST(ResampledT, WidensTheErrorByTheOverlap) {
  const PairedT plain = resampled_t_test(Vector{{1, 2, 3}}, 0),
                corrected = resampled_t_test(Vector{{1, 2, 3}}, 0.5);
  EXPECT_DOUBLE_EQ(plain.t, 2 * std::sqrt(3));
  EXPECT_DOUBLE_EQ(corrected.t, 2 / std::sqrt(1.0 / 3 + 0.5));
  EXPECT_EQ(corrected.degrees, 2);
  EXPECT_NEAR(corrected.p, 1 - corrected.t / std::sqrt(2 + corrected.t * corrected.t), 1e-14);
}

TEST(ResampledT, EqualDifferences) {
  const PairedT same = resampled_t_test(Vector::Constant(3, 0.1), 0.5),
                none = resampled_t_test(Vector::Zero(3), 0.5),
                single = resampled_t_test(Vector{{1}}, 0.5);
  EXPECT_TRUE(std::isinf(same.t));
  EXPECT_EQ(same.p, 0);
  EXPECT_EQ(none.t, 0);
  EXPECT_EQ(none.p, 1);
  EXPECT_TRUE(std::isnan(single.p));
}

// Under the null hypothesis, with independent differences and ratio 0, p is uniform: about 5 % lie below 0.05 (standard error 0.5 %).
TEST(ResampledT, KeepsItsLevel) {
  Random random(5);
  Index found = 0;
  constexpr Index rounds = 2000;
  for (Index round = 0; round < rounds; ++round) {
    Vector d(8);
    for (double& value : d) value = random.normal();
    found += resampled_t_test(d, 0).p < 0.05;
  }
  EXPECT_NEAR(static_cast<double>(found) / rounds, 0.05, 0.02);
}

}  // namespace
}  // namespace coterie
