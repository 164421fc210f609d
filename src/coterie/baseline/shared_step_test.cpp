// Quadratics of weights with a common part: feasibility and gap recomputed by plain loops.
#include "coterie/baseline/shared_step.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

SharedQuadratic random_quadratic(Random& random, double share) {
  const Index U = 1 + random.below(6);
  const Index M = 1 + random.below(8);
  const double size = std::pow(10, random.uniform(-6, 6));
  SharedQuadratic problem;
  problem.share = share;
  problem.c.resize(U, M);
  for (Index u = 0; u < U; ++u) {
    const Index rank = random.below(M + 2);  // 0: linear
    Matrix half(rank, M);
    for (Index k = 0; k < rank; ++k)
      for (Index m = 0; m < M; ++m) half(k, m) = random.normal();
    problem.B.emplace_back(size * std::pow(10, random.uniform(-3, 3)) * half.transpose() * half);
    for (Index m = 0; m < M; ++m)
      problem.c(u, m) =
          m > 0 && random.uniform() < 0.2 ? problem.c(u, m - 1) : size * random.normal();
  }
  return problem;
}

// How much sum_u r_u'theta_u, r the gradient, is above its smallest value over the set.
double plain_gap(const SharedQuadratic& problem, const Matrix& theta) {
  double gap = 0;
  std::vector<double> sum(static_cast<std::size_t>(theta.cols()), 0);
  for (Index u = 0; u < theta.rows(); ++u) {
    double least = std::numeric_limits<double>::infinity();
    for (Index m = 0; m < theta.cols(); ++m) {
      double r = problem.c(u, m);
      for (Index k = 0; k < theta.cols(); ++k)
        r += problem.B[static_cast<std::size_t>(u)](m, k) * theta(u, k);
      gap += r * theta(u, m);
      sum[static_cast<std::size_t>(m)] += r;
      least = std::min(least, r);
    }
    gap -= (1 - problem.share) * least;
  }
  return gap - problem.share * *std::min_element(sum.begin(), sum.end());
}

TEST(SharedStep, SolvesRandomQuadratics) {
  Random random(1);
  Index most = 0;
  for (int i = 0; i < 400; ++i) {
    const double shares[] = {0, 0.001, 0.4, 0.999, 1};
    const SharedQuadratic problem = random_quadratic(random, shares[i % 5]);
    double scale = problem.c.cwiseAbs().maxCoeff();
    for (const Matrix& B : problem.B) scale = std::max(scale, B.cwiseAbs().maxCoeff());
    const SharedStep step = solve_shared(problem, 1e-9 * scale);
    EXPECT_LE(step.gap, 1e-9 * scale) << i;
    EXPECT_NEAR(plain_gap(problem, step.theta), step.gap, 1e-12 * scale);
    EXPECT_GE(step.theta.minCoeff(), 0);
    EXPECT_LE((step.theta.rowwise().sum().array() - 1).abs().maxCoeff(), 1e-12);
    EXPECT_GE(step.theta.colwise().minCoeff().sum(), problem.share - 1e-12);
    for (Index u = 1; u < step.theta.rows() && problem.share == 1; ++u)
      EXPECT_EQ(step.theta.row(u), step.theta.row(0));
    most = std::max(most, step.iterations);
  }
  EXPECT_LE(most, 40);
}

// Where the gradient leaves no doubt, weights are 0 and not merely small.
TEST(SharedStep, ZerosAreExact) {
  SharedQuadratic problem;
  problem.share = 0.5;
  problem.c.resize(2, 3);
  problem.c << -1, 1, 2, 3, 1, -4;  // sums 2, 2, -2: all in common goes to the third
  problem.B.assign(2, Matrix::Zero(3, 3));
  const SharedStep step = solve_shared(problem, 1e-10);
  Matrix expected(2, 3);
  expected << 0.5, 0, 0.5, 0, 0, 1;
  EXPECT_LE((step.theta - expected).cwiseAbs().maxCoeff(), 1e-15);
  EXPECT_EQ(step.theta(0, 1), 0);
  EXPECT_EQ(step.theta(1, 0), 0);
}

}  // namespace
}  // namespace coterie
