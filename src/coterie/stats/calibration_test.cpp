#include "coterie/stats/calibration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/math/random.hpp"
#include "coterie/stats/scores.hpp"

namespace coterie {
namespace {

constexpr Calibration::Kind kinds[] = {Calibration::Kind::none, Calibration::Kind::platt,
                                       Calibration::Kind::isotonic};

struct Sample {
  Vector f, y;
};

// Scores whose true probabilities are sigmoid(slope f + offset); `grid` > 0 makes many scores equal.
Sample random_sample(Random& random, Index n, double slope, double offset, double grid = 0) {
  Sample sample{Vector(n), Vector(n)};
  for (Index i = 0; i < n; ++i) {
    double f = 2 * random.normal();
    if (grid > 0) f = std::round(f / grid) * grid;
    sample.f[i] = f;
    sample.y[i] = random.uniform() < 1 / (1 + std::exp(-slope * f - offset)) ? 1 : -1;
  }
  return sample;
}

Vector platt_targets(const Vector& y) {
  const auto positives = static_cast<double>((y.array() > 0).count());
  const double negatives = static_cast<double>(y.size()) - positives;
  Vector t(y.size());
  for (Index i = 0; i < y.size(); ++i)
    t[i] = y[i] > 0 ? (positives + 1) / (positives + 2) : 1 / (negatives + 2);
  return t;
}

TEST(Calibration, NoneIsThePlainSigmoid) {
  for (const double f : {-3.0, -0.5, 0.0, 1.0, 20.0})
    EXPECT_DOUBLE_EQ(probability({}, f), 1 / (1 + std::exp(-f)));
  EXPECT_EQ(probability({}, 1e300), 1);
  EXPECT_EQ(probability({}, -1e300), 0);
}

TEST(Calibration, KindsHaveNames) {
  for (const auto kind : kinds) EXPECT_EQ(calibration_kind_from(to_string(kind)), kind);
  EXPECT_EQ(calibration_kind_from("Platt"), std::nullopt);
}

// The cross-entropy is convex: (slope, offset) is its minimum iff the gradient is 0, or, at slope = 0, does not ask for more.
TEST(Platt, IsTheMinimumOfTheCrossEntropy) {
  Random random(1);
  int flat = 0;
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Index n = 1 + random.below(80);
    const auto [f, y] =
        random_sample(random, n, random.uniform(-0.5, 3), random.uniform(-2, 2), 0.25);
    const Calibration fit = fit_platt(f, y);
    ASSERT_EQ(fit.kind, Calibration::Kind::platt);
    ASSERT_GE(fit.slope, 0);
    const Vector residual = probabilities(fit, f) - platt_targets(y);
    const double tolerance = 1e-6 * static_cast<double>(n);
    EXPECT_NEAR(residual.sum(), 0, tolerance);
    if (fit.slope > 0)
      EXPECT_NEAR(residual.dot(f), 0, tolerance);
    else
      EXPECT_GE(residual.dot(f), -tolerance);
    flat += fit.slope == 0 ? 1 : 0;
  }
  EXPECT_GT(flat, 10);  // both cases were met
  EXPECT_LT(flat, 100);
}

TEST(Platt, FindsTheTrueSigmoid) {
  Random random(2);
  const auto [f, y] = random_sample(random, 40'000, 1.7, -0.6);
  const Calibration fit = fit_platt(f, y);
  EXPECT_NEAR(fit.slope, 1.7, 0.1);  // some four standard errors
  EXPECT_NEAR(fit.offset, -0.6, 0.1);
  EXPECT_LT(log_loss(probabilities(fit, f), y), log_loss(probabilities({}, f), y));
}

TEST(Platt, FollowsTheScaleAndTheShiftOfScores) {
  Random random(3);
  const auto [f, y] = random_sample(random, 60, 1, 0.5);
  const Vector p = probabilities(fit_platt(f, y), f);
  for (const double scale : {1e-200, 1e-5, 3.0, 1e8, 1e300}) {
    const Vector scaled = scale * f;
    EXPECT_LE((probabilities(fit_platt(scaled, y), scaled) - p).cwiseAbs().maxCoeff(), 1e-6)
        << scale;
  }
  const Vector shifted = f.array() + 1e6;
  EXPECT_LE((probabilities(fit_platt(shifted, y), shifted) - p).cwiseAbs().maxCoeff(), 1e-6);
  // The other class as the positive one.
  const Vector turned = probabilities(fit_platt(-f, -y), -f);
  EXPECT_LE((turned + p - Vector::Ones(60)).cwiseAbs().maxCoeff(), 1e-6);
}

// One score far from the others leaves Newton's equations ill-conditioned; here they still say where the minimum is. With its label
// wrong there is nothing to learn: the target 1 / (n_- + 2) makes a slope too dear.
TEST(Platt, IsTheMinimumWithAFarScoreToo) {
  Random random(4);
  for (const double far : {1e4, 1e7, -1e7}) {
    for (const double label : {1.0, -1.0}) {
      Sample sample = random_sample(random, 200, 1, 0);
      sample.f[7] = far;
      sample.y[7] = label;
      const Calibration fit = fit_platt(sample.f, sample.y);
      const Vector residual = probabilities(fit, sample.f) - platt_targets(sample.y);
      EXPECT_NEAR(residual.sum(), 0, 1e-6);
      if (fit.slope > 0)
        EXPECT_NEAR(residual.dot(sample.f), 0, 1e-6 * std::abs(far));
      else
        EXPECT_GE(residual.dot(sample.f), 0);
      EXPECT_EQ(fit.slope > 0, far * label > 0);
    }
  }
}

TEST(Platt, SeparatedClassesGetTheirTargets) {
  Vector f(5);
  f << -3, -2, -2, 4, 4.5;
  Vector y(5);
  y << -1, -1, -1, 1, 1;
  const Vector p = probabilities(fit_platt(f, y), f);
  EXPECT_GT(p.minCoeff(), 0.05);  // about 1/5 and 3/4 on the average
  EXPECT_LT(p.maxCoeff(), 0.95);
  EXPECT_NEAR(p.head(3).sum() + p.tail(2).sum(), 3 * 0.2 + 2 * 0.75, 1e-8);
}

// Scores that differ by rounding alone say nothing, whatever their labels.
TEST(Platt, IsConstantWhereScoresDifferByRounding) {
  Vector f(24), y(24);
  for (Index i = 0; i < f.size(); ++i) {
    y[i] = i % 6 == 0 ? 1 : -1;
    f[i] = -0.9997 + 1e-15 * y[i];
  }
  const Calibration fit = fit_platt(f, y);
  EXPECT_EQ(fit.slope, 0);
  EXPECT_NEAR(probability(fit, -0.9), 0.2, 0.05);
  f[0] += 1e-6;  // that is a difference
  EXPECT_GT(fit_platt(f, y).slope, 0);
}

// max_{a <= i} min_{b >= i} mean(y[a..b]), over groups of equal scores: the known formula of isotonic regression.
double isotonic_value(const Vector& f, const Vector& y, double at) {
  double highest = 0;
  for (const double a : f) {
    if (a > at) continue;
    double lowest = 1;
    for (const double b : f) {
      if (b < at) continue;
      double positives = 0;
      double count = 0;
      for (Index i = 0; i < f.size(); ++i) {
        if (f[i] < a || f[i] > b) continue;
        positives += y[i] > 0 ? 1 : 0;
        ++count;
      }
      lowest = std::min(lowest, positives / count);
    }
    highest = std::max(highest, lowest);
  }
  return highest;
}

TEST(Isotonic, IsTheMaxMinFormula) {
  Random random(5);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const Index n = 1 + random.below(25);
    const auto [f, y] = random_sample(random, n, random.uniform(-1, 2), 0, repeat % 2 * 0.5);
    const Calibration fit = fit_isotonic(f, y);
    const double margin = 1 / static_cast<double>(n + 2);
    for (const double score : f)
      EXPECT_NEAR(probability(fit, score),
                  std::clamp(isotonic_value(f, y, score), margin, 1 - margin), 1e-14);
  }
}

TEST(Isotonic, IsLinearBetweenPoolsAndConstantBeyond) {
  Vector f(6);
  f << 2, -1, 0, 1, 5, 5;
  Vector y(6);
  y << 1, -1, 1, -1, 1, 1;  // in order of f: - + - + + +; the second and third are pooled
  const Calibration fit = fit_isotonic(f, y);
  EXPECT_DOUBLE_EQ(probability(fit, -1), 1.0 / 8);
  EXPECT_DOUBLE_EQ(probability(fit, -100), 1.0 / 8);
  EXPECT_DOUBLE_EQ(probability(fit, -0.5), (1.0 / 8 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(probability(fit, 0.3), 0.5);
  EXPECT_DOUBLE_EQ(probability(fit, 1.5), (0.5 + 7.0 / 8) / 2);
  EXPECT_DOUBLE_EQ(probability(fit, 3), 7.0 / 8);
  EXPECT_DOUBLE_EQ(probability(fit, 1e308), 7.0 / 8);
  EXPECT_EQ(fit.score.size(), 5);  // no knots inside a pool
}

TEST(Calibration, DoesNotDependOnTheOrderOfSamples) {
  Random random(6);
  const auto [f, y] = random_sample(random, 50, 1, 0, 0.5);
  std::vector<Index> order;
  for (Index i = 0; i < 50; ++i) order.push_back(i);
  random.shuffle(order);
  EXPECT_TRUE(fit_isotonic(f(order), y(order)) == fit_isotonic(f, y));
  EXPECT_NEAR(fit_platt(f(order), y(order)).slope, fit_platt(f, y).slope, 1e-6);
  EXPECT_TRUE(fit_platt(f, y) == fit_platt(f, y));
}

// Whatever the samples: inside (0, 1) on them, within [0, 1] anywhere, never falling.
TEST(Calibration, IsSaneOnDegenerateSamples) {
  const double largest = std::numeric_limits<double>::max();
  const double tiny = std::numeric_limits<double>::denorm_min();
  std::vector<Sample> samples;
  const auto add = [&](std::initializer_list<double> f, std::initializer_list<double> y) {
    samples.push_back({Eigen::Map<const Vector>(f.begin(), std::ssize(f)),
                       Eigen::Map<const Vector>(y.begin(), std::ssize(y))});
  };
  add({}, {});
  add({3}, {1});
  add({3}, {-1});
  add({-2, 2}, {-1, 1});
  add({-2, 2}, {1, -1});
  add({1, 1, 1, 1}, {1, -1, 1, 1});
  add({-1, 0, 1}, {1, 1, 1});
  add({-1, 0, 1}, {-1, -1, -1});
  add({-largest, largest}, {-1, 1});
  add({-largest, 0, 1, largest}, {1, -1, 1, -1});
  add({largest, largest, -1}, {1, 1, -1});
  add({0, tiny, 2 * tiny, 0}, {-1, 1, 1, -1});
  add({1e6, std::nextafter(1e6, 2e6)}, {-1, 1});
  add({-1e-300, 1e300, 0}, {-1, 1, 1});
  Random random(7);
  for (int repeat = 0; repeat < 100; ++repeat) {
    Sample sample = random_sample(random, 2 + random.below(20), 1, 0);
    for (double& f : sample.f) f *= std::pow(10, random.uniform(-300, 300));
    samples.push_back(sample);
  }
  std::vector<double> probes = {-largest, -1e9, -1, -tiny, 0, tiny, 1, 1e9, largest};
  for (const auto& [f, y] : samples) {
    std::vector<double> points = probes;
    points.insert(points.end(), f.begin(), f.end());
    std::ranges::sort(points);
    for (const auto kind : {Calibration::Kind::platt, Calibration::Kind::isotonic}) {
      const Calibration fit = fit_calibration(kind, f, y);
      ASSERT_TRUE(fit.kind == kind && std::isfinite(fit.slope) && std::isfinite(fit.offset));
      ASSERT_TRUE(fit.score.allFinite() && fit.value.allFinite() && fit.slope >= 0);
      double last = 0;
      for (const double point : points) {
        const double p = probability(fit, point);
        ASSERT_TRUE(p >= last && p <= 1) << p << " after " << last << " at " << point;
        last = p;
      }
      if (kind == Calibration::Kind::isotonic) {
        const double margin = 1 / static_cast<double>(f.size() + 2);
        EXPECT_TRUE(probability(fit, -largest) >= margin && last <= 1 - margin);
      }
      if (f.size() > 0) {
        EXPECT_LE(log_loss(probabilities(fit, f), y), std::log(2) + 0.3) << f.transpose();
      }
    }
  }
}

TEST(Calibration, RefusesScoresThatAreNoNumbers) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Vector f = Vector::Constant(2, bad);
    EXPECT_THROW(fit_platt(f, Vector::Ones(2)), InputError);
    EXPECT_THROW(fit_isotonic(f, Vector::Ones(2)), InputError);
  }
}

}  // namespace
}  // namespace coterie
