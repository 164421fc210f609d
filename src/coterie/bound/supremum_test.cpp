#include "coterie/bound/supremum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

Matrix random_forms(Random& random, Index T, Index M) {
  Matrix U(T, M);
  for (double& u : U.reshaped()) u = random.below(8) == 0 ? 0 : std::pow(random.normal(), 2);
  return U;
}

Matrix random_weights(Random& random, Index T, Index M, const WeightSet& D) {
  Matrix theta(T, M);
  for (Index t = 0; t < T; ++t) {
    Vector v(M);
    for (double& x : v) x = 2 * random.normal();
    theta.row(t) = D.project(v);
  }
  return theta;
}

double value_at(const Matrix& U, const Matrix& theta) {
  return (U.array() * theta.array()).rowwise().sum().cwiseMax(0.0).sqrt().sum();
}

// Feasible to rounding, as good as stated, and the upper value is above what other feasible weights reach.
void expect_certificate(const Matrix& U, const WeightSet& D, double gamma, const Supremum& found,
                        double tolerance, Random& random) {
  EXPECT_LE(found.upper - found.lower, tolerance * found.upper * (1 + 1e-12));
  EXPECT_LE(spread(found.theta), gamma + 1e-12 * static_cast<double>(U.rows() * U.rows()));
  for (Index t = 0; t < U.rows(); ++t) EXPECT_TRUE(D.contains(found.theta.row(t), 1e-12));
  EXPECT_NEAR(value_at(U, found.theta), found.lower, 1e-12 * (1 + found.lower));
  for (int trial = 0; trial < 20; ++trial) {
    Matrix theta = random_weights(random, U.rows(), U.cols(), D);
    const Eigen::RowVectorXd mean = theta.colwise().mean();
    const double wide = spread(theta);
    if (wide > gamma) theta = ((gamma / wide) * (theta.rowwise() - mean)).rowwise() + mean;
    EXPECT_LE(value_at(U, theta), found.upper * (1 + 1e-12));
  }
}

TEST(Supremum, EveryAnswerHasACertificate) {
  Random random(1);
  const double norms[] = {1, 1, 1.3, 2, infinite};
  const double parts[] = {0, 1e-3, 0.03, 0.3, 1, infinite};
  for (int problem = 0; problem < 120; ++problem) {
    const WeightSet D(norms[problem % 5]);
    const Index T = 1 + random.below(6), M = 1 + random.below(5);
    const Matrix U = std::pow(10, random.uniform(-6, 6)) * random_forms(random, T, M);
    const double gamma = parts[problem % 6] * static_cast<double>(T * T);
    SCOPED_TRACE(problem);
    const Supremum found = largest_sum(U, D, gamma);
    expect_certificate(U, D, gamma, found, SupremumSettings().tolerance, random);
  }
}

// For a larger gamma the same proof gives upper + slope (larger - gamma).
TEST(Supremum, TheProofExtendsToLargerSpreads) {
  Random random(2);
  for (int problem = 0; problem < 30; ++problem) {
    const Matrix U = random_forms(random, 5, 4);
    const double gamma = random.uniform(0.01, 4), wider = gamma * random.uniform(1, 2);
    const Supremum found = largest_sum(U, WeightSet(1), gamma);
    const Supremum other = largest_sum(U, WeightSet(1), wider);
    EXPECT_GE(found.slope, 0);
    EXPECT_LE(other.lower, found.upper + found.slope * (wider - gamma) + 1e-12);
    EXPECT_LE(found.lower, other.upper + 1e-12);
  }
}

// Two tasks, two kernels: theta_t = (x, 1 - x), (y, 1 - y) with sqrt(2) |x - y| <= gamma, on a grid of step h. The best point of the grid
// is below the optimum by no more than the slope of a root allows: roots are concave, so a step h from a grid point changes
// sqrt(theta'u) by sqrt(h max u) at most.
TEST(Supremum, AgreesWithAGrid) {
  Random random(3);
  constexpr int steps = 2000;
  for (int problem = 0; problem < 5; ++problem) {
    const Matrix U = random_forms(random, 2, 2);
    const double gamma = random.uniform(0, 1);
    double best = 0;
    for (int i = 0; i <= steps; ++i)
      for (int j = 0; j <= steps; ++j) {
        const double x = static_cast<double>(i) / steps, y = static_cast<double>(j) / steps;
        if (std::sqrt(2.0) * std::abs(x - y) > gamma) continue;
        best = std::max(best, std::sqrt(x * U(0, 0) + (1 - x) * U(0, 1)) +
                                  std::sqrt(y * U(1, 0) + (1 - y) * U(1, 1)));
      }
    const Supremum found = largest_sum(U, WeightSet(1), gamma, {.tolerance = 1e-7});
    EXPECT_GE(found.upper, best - 1e-12);
    EXPECT_LE(found.lower, best + 2 * std::sqrt(U.maxCoeff() / steps));
  }
}

TEST(Supremum, Extremes) {
  Random random(4);
  const Matrix U = random_forms(random, 4, 3);
  const Supremum apart = largest_sum(U, WeightSet(1), infinite);
  EXPECT_DOUBLE_EQ(apart.upper, U.rowwise().maxCoeff().cwiseSqrt().sum());
  const Supremum common = largest_sum(U, WeightSet(1), 0);
  EXPECT_EQ(spread(common.theta.cwiseMax(0)), 0);
  // Nearly no spread is nearly none: each root moves by sqrt(gamma max u) at most.
  const Supremum close = largest_sum(U, WeightSet(1), 1e-8);
  EXPECT_LE(close.lower, common.upper + 4 * std::sqrt(1e-8 * U.maxCoeff()));
  EXPECT_GE(close.upper, common.lower);
  // One kernel, one task, nothing: no choice is left.
  EXPECT_DOUBLE_EQ(largest_sum(U.col(0), WeightSet(1), 0).upper, U.col(0).cwiseSqrt().sum());
  EXPECT_DOUBLE_EQ(largest_sum(U.row(0), WeightSet(1), 0).upper, std::sqrt(U.row(0).maxCoeff()));
  EXPECT_EQ(largest_sum(Matrix::Zero(3, 2), WeightSet(1), 1).upper, 0);
}

// Tasks whose forms are all zero only have to stay near the others.
TEST(Supremum, TasksWithoutForms) {
  Matrix U = Matrix::Zero(3, 2);
  U.row(0) << 4, 1;
  U.row(1) << 1, 9;
  Random random(5);
  for (const double gamma : {0.0, 0.2, 3.0})
    expect_certificate(U, WeightSet(1), gamma, largest_sum(U, WeightSet(1), gamma), 1e-4, random);
}

TEST(Supremum, StopsWithTheGapThatItReached) {
  Random random(6);
  const Matrix U = random_forms(random, 6, 5);
  const Supremum found =
      largest_sum(U, WeightSet(1), 0.5, {.tolerance = 1e-15, .max_iterations = 7});
  EXPECT_EQ(found.iterations, 7);
  EXPECT_GT(found.gap(), 1e-15);
  EXPECT_LE(found.lower, found.upper);
}

}  // namespace
}  // namespace coterie
