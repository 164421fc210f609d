#include "coterie/stats/scores.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

struct Sample {
  Vector f, y;
};

// Scores on a coarse grid, so that many are equal; some are exactly 0, which is no positive.
Sample random_sample(Random& random, Index n) {
  Sample sample{Vector(n), Vector(n)};
  for (double& y : sample.y) y = random.below(3) == 0 ? 1 : -1;
  for (Index i = 0; i < n; ++i)
    sample.f[i] = std::round(3 * (0.4 * sample.y[i] + random.normal())) / 3;
  return sample;
}

TEST(Scores, AreWhatTheirDefinitionsSay) {
  Random random(1);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const auto [f, y] = random_sample(random, 2 + random.below(60));
    Index errors = 0;
    double n[2] = {0, 0};
    double right[2] = {0, 0};
    double wins = 0;
    for (Index i = 0; i < f.size(); ++i) {
      const int k = y[i] == 1 ? 1 : 0;
      const bool correct = (f[i] > 0) == (y[i] == 1);
      ++n[k];
      right[k] += correct ? 1 : 0;
      errors += correct ? 0 : 1;
      for (Index j = 0; j < f.size(); ++j)
        if (y[i] == 1 && y[j] == -1) wins += f[i] > f[j] ? 1 : (f[i] == f[j] ? 0.5 : 0);
    }
    EXPECT_EQ(count_errors(f, y), errors);
    EXPECT_EQ(accuracy(f, y), (right[0] + right[1]) / (n[0] + n[1]));
    if (n[0] == 0 || n[1] == 0) continue;
    EXPECT_DOUBLE_EQ(balanced_accuracy(f, y), (right[0] / n[0] + right[1] / n[1]) / 2);
    EXPECT_EQ(auc(f, y), wins / (n[0] * n[1]));
  }
}

TEST(Scores, AucIsOfRanksOnly) {
  Random random(2);
  const auto [f, y] = random_sample(random, 80);
  const Vector cubed = f.array().cube() * 1e9 - 5;
  EXPECT_EQ(auc(cubed, y), auc(f, y));
  EXPECT_DOUBLE_EQ(auc(-f, y), 1 - auc(f, y));
  EXPECT_DOUBLE_EQ(auc(f, -y), 1 - auc(f, y));
  EXPECT_EQ(auc(Vector::Constant(80, -7), y), 0.5);
  EXPECT_EQ(auc(y, y), 1);
}

TEST(Scores, UndefinedOnesAreNotNumbers) {
  const Vector none(0);
  EXPECT_EQ(count_errors(none, none), 0);
  EXPECT_TRUE(std::isnan(accuracy(none, none)));
  EXPECT_TRUE(std::isnan(balanced_accuracy(none, none)));
  EXPECT_TRUE(std::isnan(auc(none, none)));
  EXPECT_TRUE(std::isnan(log_loss(none, none)));
  EXPECT_TRUE(std::isnan(brier_score(none, none)));
  EXPECT_TRUE(std::isnan(log_loss(Matrix(0, 3), {})));
  const Vector f = Vector::LinSpaced(4, -2, 1);
  const Vector y = Vector::Ones(4);
  EXPECT_TRUE(std::isnan(auc(f, y)));
  EXPECT_EQ(balanced_accuracy(f, y), 0.25);  // the recall of the one class present
}

TEST(Scores, BalancedAccuracyOfManyClassesSkipsThoseAbsent) {
  Matrix confusion(3, 3);
  confusion << 3, 1, 0,  //
      0, 0, 0,           //
      1, 0, 1;
  EXPECT_DOUBLE_EQ(balanced_accuracy(confusion), (0.75 + 0.5) / 2);
}

TEST(Scores, LogLossAndBrierScore) {
  Vector p(3);
  p << 0.9, 0.2, 0.5;
  Vector y(3);
  y << 1, -1, -1;
  EXPECT_DOUBLE_EQ(log_loss(p, y), -(std::log(0.9) + std::log(0.8) + std::log(0.5)) / 3);
  EXPECT_DOUBLE_EQ(brier_score(p, y), (0.01 + 0.04 + 0.25) / 3);
  // One column per class says the same.
  Matrix both(3, 2);
  both << 1 - p.array(), p;
  EXPECT_DOUBLE_EQ(log_loss(both, {1, 0, 0}), log_loss(p, y));
  // No constant does better than the share of positives: both scores are proper.
  for (const double constant : {0.1, 0.3, 0.35, 0.9}) {
    EXPECT_GT(log_loss(Vector::Constant(3, constant), y),
              log_loss(Vector::Constant(3, 1.0 / 3), y));
    EXPECT_GT(brier_score(Vector::Constant(3, constant), y),
              brier_score(Vector::Constant(3, 1.0 / 3), y));
  }
}

TEST(Scores, WrongCertaintyCostsAFiniteAmount) {
  const double most = -std::log(std::numeric_limits<double>::epsilon());
  EXPECT_DOUBLE_EQ(log_loss(Vector::Zero(2), Vector::Ones(2)), most);
  EXPECT_NEAR(log_loss(Vector::Ones(2), -Vector::Ones(2)), most, 1e-12);
  EXPECT_LT(log_loss(Vector::Ones(2), Vector::Ones(2)), 1e-15);
}

TEST(Scores, ReliabilityTablePartsTheSamples) {
  Random random(3);
  Vector p(500);
  Vector y(500);
  for (Index i = 0; i < 500; ++i) {
    p[i] = i < 11 ? static_cast<double>(i) / 10 : random.uniform();  // the bounds first
    y[i] = random.uniform() < p[i] ? 1 : -1;
  }
  const std::vector<ReliabilityBin> table = reliability_table(p, y, 10);
  ASSERT_EQ(table.size(), 10);
  Index count = 0;
  double predicted = 0;
  double observed = 0;
  for (const ReliabilityBin& bin : table) {
    Index inside = 0;
    for (const double value : p)
      if (value >= bin.low && (value < bin.high || bin.high == 1)) ++inside;
    EXPECT_EQ(bin.count, inside);
    EXPECT_GE(bin.mean_predicted, bin.low);
    EXPECT_LE(bin.mean_predicted, bin.high);
    count += bin.count;
    predicted += bin.mean_predicted * static_cast<double>(bin.count);
    observed += bin.share_observed * static_cast<double>(bin.count);
  }
  EXPECT_EQ(count, 500);
  EXPECT_NEAR(predicted, p.sum(), 1e-10);
  EXPECT_NEAR(observed, (y.array() > 0).count(), 1e-10);
  EXPECT_EQ(table.front().low, 0);
  EXPECT_EQ(table.back().high, 1);

  const std::vector<ReliabilityBin> one = reliability_table(Vector::Ones(2), Vector::Ones(2), 5);
  EXPECT_EQ(one.back().count, 2);
  EXPECT_EQ(one.back().share_observed, 1);
  EXPECT_TRUE(std::isnan(one.front().mean_predicted) && std::isnan(one.front().share_observed));
}

}  // namespace
}  // namespace coterie
