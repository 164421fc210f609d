#include "coterie/math/clip.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Vector random_vector(Random& random, Index n, bool zeros) {
  Vector z(n);
  for (double& x : z) x = zeros && random.uniform() < 0.3 ? 0 : random.normal();
  return z;
}

Box random_box(Random& random, Index m, int kind) {
  Box box{random.uniform(0, 0.3), random.uniform(0.5, 2), 0};
  if (kind % 3 == 1) box.alpha = 0;
  if (kind % 4 == 1) box.beta = infinity;
  const auto size = static_cast<double>(m);
  const double most = std::min(size * box.beta, size * 3);
  box.budget = size * box.alpha +
               random.uniform(0.01, kind % 5 == 0 ? 1.2 : 1.0) * (most - size * box.alpha);
  return box;
}

// The slow way: halve kappa until the budget is spent.
Vector clip_by_halving(const Vector& a, double mu, const Box& box) {
  const auto at = [&](double kappa) -> Vector {
    return (kappa * a.array() - mu).cwiseMax(box.alpha).cwiseMin(box.beta);
  };
  double low = 0;
  double high = 1e8;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (at(middle).sum() <= box.budget ? low : high) = middle;
  }
  return at(low);
}

double theta_at(const Vector& x, const Vector& l) {
  double sum = 0;
  for (Index i = 0; i < x.size(); ++i) sum += x[i] == 0 ? 0 : x[i] * x[i] / l[i];
  return sum;
}

TEST(Clip, SpendsTheBudgetAsHalvingDoes) {
  Random random(1);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Index m = 1 + random.below(8);
    const Box box = random_box(random, m, repeat);
    const Vector sigma = random_vector(random, m, true).cwiseAbs();
    const Vector l = clip_weights(sigma, box);
    EXPECT_GE(l.minCoeff(), box.alpha);
    EXPECT_LE(l.maxCoeff(), box.beta);
    EXPECT_LE(l.sum(), box.budget * (1 + 1e-14));
    if (sigma.maxCoeff() == 0) continue;
    EXPECT_NEAR(theta_at(sigma, l), theta_at(sigma, clip_by_halving(sigma, 0, box)),
                1e-7 * theta_at(sigma, l));
  }
}

// No shift of a little weight between two entries, or of what the budget leaves, lowers the value.
TEST(Clip, NoExchangeLowersTheValue) {
  Random random(2);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Index m = 2 + random.below(6);
    const Box box = random_box(random, m, repeat);
    const Vector sigma = random_vector(random, m, true).cwiseAbs();
    const Vector l = clip_weights(sigma, box);
    const double value = theta_at(sigma, l);
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j < m; ++j) {
        for (const double share : {1e-4, 0.1}) {
          const double give = share * (l[i] - box.alpha);
          if (i == j || !(give > 0) || l[j] + give > box.beta) continue;
          Vector other = l;
          other[i] -= give;
          other[j] += give;
          EXPECT_GE(theta_at(sigma, other), value * (1 - 1e-12));
        }
      }
      const double left = std::min(box.budget - l.sum(), box.beta - l[i]);
      if (left > 1e-9) {
        EXPECT_EQ(sigma[i], 0);
      }
    }
  }
}

TEST(Clip, KnownCases) {
  const Vector x{{3, -4, 0, 1}};
  // alpha = 0, beta = inf, budget = 1: (sum |x_i|)^2, by Cauchy and Schwarz.
  EXPECT_NEAR(box_norm_squared(x, {0, infinity, 1}), 64, 1e-12);
  EXPECT_NEAR(box_norm_conjugate(x, {0, infinity, 1}), 16.0 / 4, 1e-12);
  // A budget for all: l = beta; none to spare: l = alpha.
  EXPECT_NEAR(box_norm_squared(x, {0.1, 0.5, 2}), 26 / 0.5, 1e-12);
  EXPECT_NEAR(box_norm_squared(x, {0.5, 3, 2}), 26 / 0.5, 1e-12);
  EXPECT_NEAR(box_norm_conjugate(x, {0.5, 3, 2}), 26 * 0.5 / 4, 1e-12);
  EXPECT_EQ(box_norm_squared(Vector::Zero(3), {0, infinity, 1}), 0);
  EXPECT_EQ(clip_weights(Vector::Zero(3), {0.1, infinity, 1}), Vector::Constant(3, 0.1));
  EXPECT_EQ(clip_weights(Vector{{1, 1e-300}}, {0, infinity, 1}), Vector({{1.0, 0.0}}));
  EXPECT_EQ(clip_weights(Vector(), {0, 1, 1}).size(), 0);
}

TEST(BoxNorm, ConjugateMeetsFenchelAndYoung) {
  Random random(3);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Index m = 1 + random.below(7);
    const Box box = random_box(random, m, repeat);
    const Vector x = random_vector(random, m, repeat % 2 == 0);
    const double theta = box_norm_squared(x, box);
    // The gradient of Theta is 2 x_i / l_i: there the inequality is an equality.
    const Vector l = clip_weights(x.cwiseAbs(), box);
    Vector z = Vector::Zero(m);
    for (Index i = 0; i < m; ++i)
      if (x[i] != 0) z[i] = 2 * x[i] / l[i];
    EXPECT_NEAR(theta + box_norm_conjugate(z, box), z.dot(x), 1e-11 * (1 + theta));
    for (int other = 0; other < 10; ++other) {
      const Vector w = random_vector(random, m, false) * random.uniform(0, 5);
      EXPECT_GE(theta + box_norm_conjugate(w, box), w.dot(x) - 1e-12);
    }
  }
}

// x - v = (mu/2) gradient of Theta at v, that is, Theta(v) + Theta*(2 (x - v) / mu) = <v, 2 (x - v) / mu>.
TEST(BoxNorm, ProximalMapSatisfiesItsOptimalityCondition) {
  Random random(4);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Index m = 1 + random.below(7);
    const Box box = random_box(random, m, repeat);
    const Vector x = random_vector(random, m, repeat % 2 == 0);
    const double mu = std::pow(10, random.uniform(-2, 2));
    const Vector v = prox_box_norm(x, mu, box);
    const Vector z = (2 / mu) * (x - v);
    const double sum = box_norm_squared(v, box) + box_norm_conjugate(z, box);
    EXPECT_NEAR(sum, z.dot(v), 1e-10 * (1 + sum)) << repeat;
    const Vector slow = clip_by_halving(x.cwiseAbs(), mu, box);
    const Vector w = x.array() * slow.array() / (slow.array() + mu);
    EXPECT_LE((v - w).norm(), 1e-6);
  }
  EXPECT_EQ(prox_box_norm(Vector{{3, -1}}, 0, {0, infinity, 1}), Vector({{3.0, -1.0}}));
}

}  // namespace
}  // namespace coterie
