#include "coterie/stats/ranks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "coterie/math/random.hpp"
#include "coterie/stats/comparison.hpp"
#include "coterie/stats/distributions.hpp"

namespace coterie {
namespace {

// Demsar (JMLR 2006), table 6: ranks of C4.5 and three variants of it (m, cf, m+cf) on 14 data sets, by AUC. As printed: of the two equal
// values in the last row but one, one has rank 2 and the other 3.
Matrix demsar_ranks() {
  Matrix ranks(14, 4);
  ranks << 4, 3, 2, 1,     //
      1, 2, 3, 4,          //
      4, 1, 2, 3,          //
      4, 1, 3, 2,          //
      4, 2, 3, 1,          //
      1, 2.5, 4, 2.5,      //
      3, 2, 4, 1,          //
      2.5, 2.5, 4, 1,      //
      4, 3, 2, 1,          //
      2.5, 2.5, 2.5, 2.5,  //
      4, 2.5, 1, 2.5,      //
      3, 2, 4, 1,          //
      4, 1, 2, 3,          //
      3, 1, 4, 2;
  return ranks;
}

// ---- Distributions

TEST(Distributions, HaveTheirClosedForms) {
  for (const double x : {0.1, 1.0, 3.7, 20.0}) {
    EXPECT_NEAR(chi_square_upper_tail(x, 2), std::exp(-x / 2), 1e-15);
    EXPECT_NEAR(f_upper_tail(x, 2, 6), std::pow(1 + 2 * x / 6, -3), 1e-15);
    EXPECT_NEAR(student_two_sided(-x, 1), 1 - 2 / std::numbers::pi * std::atan(x), 1e-15);
    EXPECT_NEAR(student_two_sided(x, 2), 1 - x / std::sqrt(2 + x * x), 1e-15);
    EXPECT_NEAR(normal_two_sided(x), std::erfc(x / std::numbers::sqrt2), 1e-15);
    // The range of two is |X - Y|, and X - Y is normal with variance 2.
    EXPECT_NEAR(range_upper_tail(x, 2), std::erfc(x / 2), 1e-14);
    EXPECT_NEAR(student_two_sided(student_quantile(0.975, x), x), 0.05, 1e-14);
  }
}

TEST(Distributions, MeanRangeOfThree) {
  // It is 3 / sqrt(pi), and the integral of the tail.
  double mean = 0;
  constexpr double step = 0.01;
  for (double q = step / 2; q < 20; q += step) mean += step * range_upper_tail(q, 3);
  EXPECT_NEAR(mean, 3 / std::sqrt(std::numbers::pi), 1e-5);  // midpoint rule: step^2
}

TEST(Distributions, RangeQuantilesAreThoseOfTheTables) {
  // Demsar (2006), table 5 (a): q / sqrt(2), to three digits, of 2 to 10 methods.
  const double at_5[] = {1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164};
  const double at_10[] = {1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920};
  for (int k = 2; k <= 10; ++k) {
    EXPECT_NEAR(range_upper_quantile(0.05, k) / std::numbers::sqrt2, at_5[k - 2], 1.01e-3);
    EXPECT_NEAR(range_upper_quantile(0.10, k) / std::numbers::sqrt2, at_10[k - 2], 1.01e-3);
  }
  for (const double p : {0.5, 0.05, 1e-6})
    for (const double k : {2.0, 7.0, 300.0})
      EXPECT_NEAR(range_upper_tail(range_upper_quantile(p, k), k), p, 1e-13);
  EXPECT_EQ(range_upper_tail(0, 5), 1);
}

// ---- Ranks

TEST(Ranks, EqualValuesShareTheMean) {
  EXPECT_EQ(rank_descending(Vector{{3, 1, 3, 7, 3}}), (Vector{{3, 5, 3, 1, 3}}));
  EXPECT_EQ(rank_descending(Vector{{2, 2}}), (Vector{{1.5, 1.5}}));
  EXPECT_EQ(rank_methods(Matrix{{0.1, 0.9}, {0.5, 0.2}}), (Matrix{{2, 1}, {1, 2}}));
}

// A rank counts who is better: 1 + (larger) + (equal others) / 2.
TEST(Ranks, CountTheBetterOnes) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    Vector values(1 + random.below(12));
    for (double& value : values) value = static_cast<double>(random.below(6));
    const Vector ranks = rank_descending(values);
    for (Index i = 0; i < values.size(); ++i) {
      const auto larger = (values.array() > values[i]).count();
      const auto equal = (values.array() == values[i]).count() - 1;
      EXPECT_EQ(ranks[i], 1 + static_cast<double>(larger) + static_cast<double>(equal) / 2);
    }
  }
}

// ---- Friedman, Holm, Nemenyi: the example of Demsar (2006), section 3.2, to the digits given there

TEST(Friedman, WorksAsInDemsar) {
  const Friedman test = friedman_test(demsar_ranks());
  EXPECT_EQ(test.degrees, 3);
  EXPECT_EQ(test.F_degrees_below, 39);
  EXPECT_NEAR(test.uncorrected.chi_square, 9.28, 0.005);
  EXPECT_NEAR(test.uncorrected.F, 3.69, 0.005);
  EXPECT_GT(test.corrected.chi_square, test.uncorrected.chi_square);  // there are ties
}

TEST(Holm, WorksAsInDemsar) {
  const Vector average = demsar_ranks().colwise().mean();
  const std::vector<AgainstControl> rows = compare_with_control(average, 14, 0, 0.05);
  ASSERT_EQ(rows.size(), 3);
  const Index method[] = {3, 1, 2};
  const double z[] = {2.416, 2.343, 0.512}, p[] = {0.016, 0.019, 0.608},
               alpha[] = {0.05 / 3, 0.025, 0.05};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i].method, method[i]);
    EXPECT_NEAR(-rows[i].z, z[i], 0.0011);  // z is positive where the control is better
    EXPECT_NEAR(rows[i].holm.p, p[i], 0.0006);
    EXPECT_DOUBLE_EQ(rows[i].holm.adjusted_alpha, alpha[i]);
    EXPECT_EQ(rows[i].holm.rejected, i < 2);
  }
}

TEST(Nemenyi, WorksAsInDemsar) {
  const Vector average = demsar_ranks().colwise().mean();
  EXPECT_NEAR(nemenyi_test(average, 14, 0.05).critical_difference, 1.25, 0.006);
  const Nemenyi test = nemenyi_test(average, 14, 0.10);
  EXPECT_NEAR(test.critical_difference, 1.12, 0.006);
  // "C4.5 is significantly worse than C4.5+m and C4.5+m+cf", and no more can be said: 2.893 - 1.964 < 1.12.
  EXPECT_EQ(test.groups, (std::vector<std::vector<Index>>{{3, 1, 2}, {2, 0}}));
}

// Iman and Davenport's F is a function of chi-square, with either.
TEST(Friedman, StatisticsBelongTogether) {
  Random random(2);
  for (int round = 0; round < 100; ++round) {
    const Index N = 2 + random.below(8), k = 2 + random.below(6);
    Matrix scores(N, k);
    for (double& value : scores.reshaped()) value = static_cast<double>(random.below(5));
    const Matrix ranks = rank_methods(scores);
    const Friedman test = friedman_test(ranks);
    const double n = static_cast<double>(N), m = static_cast<double>(k);
    for (const RankStatistic& s : {test.corrected, test.uncorrected})
      if (std::isfinite(s.F)) {
        EXPECT_NEAR(s.F * (n * (m - 1) - s.chi_square), (n - 1) * s.chi_square,
                    1e-9 * (1 + s.F * n * m));
      }
    // The textbook's formula, and its correction for ties.
    const Vector R = ranks.colwise().mean();
    const double plain = 12 * n / (m * (m + 1)) * (R.squaredNorm() - m * (m + 1) * (m + 1) / 4);
    EXPECT_NEAR(test.uncorrected.chi_square, plain, 1e-9);
    double ties = 0;  // sum of t^3 - t
    for (Index i = 0; i < N; ++i)
      for (Index j = 0; j < k; ++j) {
        const auto t = static_cast<double>((ranks.row(i).array() == ranks(i, j)).count());
        ties += t * t - 1;
      }
    const double correction = 1 - ties / (n * m * (m * m - 1));
    EXPECT_NEAR(test.corrected.chi_square * correction, plain, 1e-9);
  }
}

TEST(Friedman, EndsOfTheScale) {
  const Friedman same = friedman_test(Matrix{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}});
  EXPECT_DOUBLE_EQ(same.corrected.chi_square, 6);  // N (k-1)
  EXPECT_TRUE(std::isinf(same.corrected.F));
  EXPECT_EQ(same.corrected.F_p, 0);
  const Friedman none = friedman_test(Matrix::Constant(4, 3, 2.0));
  EXPECT_EQ(none.corrected.chi_square, 0);
  EXPECT_EQ(none.corrected.chi_square_p, 1);
  EXPECT_EQ(none.corrected.F_p, 1);
}

// By its definition: the i-th smallest is rejected iff all up to it are below their levels; adjusted p-values say the same.
TEST(Holm, StepsDown) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> p(static_cast<std::size_t>(1 + random.below(8)));
    for (double& value : p) value = std::pow(random.uniform(), 3);
    const std::vector<HolmStep> steps = holm_steps(p, 0.05);
    ASSERT_EQ(steps.size(), p.size());
    bool all = true;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(steps[i].p, p[static_cast<std::size_t>(steps[i].which)]);
      if (i > 0) {
        EXPECT_LE(steps[i - 1].p, steps[i].p);
        EXPECT_LE(steps[i - 1].adjusted_p, steps[i].adjusted_p);
      }
      all = all && steps[i].p < 0.05 / static_cast<double>(steps.size() - i);
      EXPECT_EQ(steps[i].rejected, all);
      EXPECT_EQ(steps[i].adjusted_p < 0.05, all);
      EXPECT_LE(steps[i].adjusted_p, 1);
    }
  }
}

// Groups are all the runs of neighbours that lie within the critical difference and are part of no larger one.
TEST(Nemenyi, GroupsAreTheLargest) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    const Index k = 2 + random.below(8), N = 2 + random.below(40);
    Vector average(k);
    for (double& rank : average) rank = random.uniform(1, static_cast<double>(k));
    const Nemenyi test = nemenyi_test(average, N, 0.05);
    for (Index i = 0; i < k; ++i)
      for (Index j = 0; j < i; ++j) {
        bool together = false;
        for (const auto& group : test.groups)
          together =
              together || (std::ranges::count(group, i) > 0 && std::ranges::count(group, j) > 0);
        EXPECT_EQ(together, std::abs(average[i] - average[j]) < test.critical_difference);
      }
    for (const auto& a : test.groups)
      for (const auto& b : test.groups)
        if (&a != &b) {
          EXPECT_FALSE(
              std::ranges::all_of(a, [&](Index i) { return std::ranges::count(b, i) > 0; }));
        }
  }
}

// ---- A block as a whole

TEST(Comparison, LowerIsBetterTurnsTheRanks) {
  const ResultBlock block{
      .datasets = {"a", "b", "c"},
      .methods = {"x", "y"},
      .scores = {Matrix{{1, 3}, {5, 7}}, Matrix{{1, 1}, {2, 2}}, Matrix{{9}, {4}}}};
  EXPECT_EQ(mean_scores(block), (Matrix{{2, 6}, {1, 2}, {9, 4}}));
  const Comparison high = compare_methods(block, "x", 0.05),
                   low = compare_methods(block, "x", 0.05, Better::lower);
  EXPECT_NEAR(high.average_ranks[0], 5.0 / 3, 1e-15);
  EXPECT_NEAR(low.average_ranks[0], 4.0 / 3, 1e-15);
  EXPECT_EQ(high.holm[0].z, -low.holm[0].z);
  EXPECT_EQ(high.wilcoxon[0].plus, low.wilcoxon[0].minus);
  EXPECT_EQ(high.wilcoxon[0].plus,
            3);  // of the differences -4, -1, 5 the last has the largest size
}

TEST(Comparison, DecimalsThatAreEqualOnPaperAreTied) {
  // In doubles 0.1 + 0.2 + 0.3 differs from 0.3 + 0.2 + 0.1, and 0.3 - 0.2 from 0.2 - 0.1.
  const Matrix orders{{0.1, 0.2, 0.3}, {0.3, 0.2, 0.1}, {0.2, 0.2, 0.2}};
  const ResultBlock means{.datasets = {"a"}, .methods = {"x", "y", "z"}, .scores = {orders}};
  EXPECT_EQ(rank_methods(mean_scores(means)), Matrix::Constant(1, 3, 2.0));
  ASSERT_NE(0.3 - 0.2, 0.2 - 0.1);
  const ResultBlock block{.datasets = {"a", "b"},
                          .methods = {"x", "y"},
                          .scores = {Matrix{{0.3}, {0.2}}, Matrix{{0.1}, {0.2}}}};
  const Wilcoxon test = compare_methods(block, "x", 0.05).wilcoxon[0];
  EXPECT_EQ(test.plus, 1.5);
  EXPECT_FALSE(test.exact);
}

// Scores at the end of what doubles hold.
TEST(Comparison, BearsHugeScores) {
  const Matrix huge{{1e308, 1.5e308}, {-1e308, -1e308}};
  const ResultBlock block{.datasets = {"a", "b"}, .methods = {"x", "y"}, .scores = {huge, huge}};
  const Comparison result = compare_methods(block, "x", 0.05);
  EXPECT_EQ(result.average_ranks, (Vector{{1, 2}}));
  EXPECT_EQ(result.wilcoxon[0].plus, 3);
}

TEST(Comparison, SaysWhatIsMissing) {
  const auto message = [](ResultBlock block, const std::string& control) -> std::string {
    try {
      compare_methods(block, control, 0.05);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  const Matrix two{{1}, {2}}, one{{1}};
  EXPECT_EQ(message({"", {"a", "b"}, {"x", "y"}, {two, two}}, "x"), "no error");
  EXPECT_EQ(message({"", {"a", "b"}, {"x", "y"}, {two, two}}, "z"),
            "`control` is 'z', but the methods are x, y. Name one of them.");
  EXPECT_EQ(message({"10", {"a", "b"}, {"x", "y"}, {two, two}}, "z"),
            "`control` is 'z', but in block '10' the methods are x, y. Name one of them.");
  EXPECT_EQ(message({"10", {"a"}, {"x", "y"}, {two}}, "x"),
            "block '10': there is one data set only; ranks are compared over two or more.");
  EXPECT_EQ(message({"", {"a", "b"}, {"x"}, {one, one}}, "x"),
            "there is one method only; a comparison needs two or more.");
}

}  // namespace
}  // namespace coterie
