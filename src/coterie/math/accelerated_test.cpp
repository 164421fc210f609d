#include "coterie/math/accelerated.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

// 1/2 x'Hx - p'x + lambda ||x||_1 in x of one column.
struct Lasso {
  Matrix H;
  Matrix p;
  double lambda = 0;
  Composite composite() const {
    return {.smooth =
                [this](const Matrix& x, Matrix& gradient) {
                  gradient = H * x - p;
                  return 0.5 * x.cwiseProduct(gradient - p).sum();
                },
            .prox =
                [this](const Matrix& z, double step) {
                  return Matrix(z.unaryExpr([&](double v) {
                    return std::copysign(std::max(0.0, std::abs(v) - step * lambda), v);
                  }));
                },
            .penalty = [this](const Matrix& x) { return lambda * x.cwiseAbs().sum(); }};
  }
};

Lasso random_lasso(std::uint64_t seed, Index d, double lambda, double ridge) {
  Random random(seed);
  Matrix A(2 * d, d);
  for (double& v : A.reshaped()) v = random.normal();
  Lasso lasso{A.transpose() * A / static_cast<double>(d), Matrix(d, 1), lambda};
  lasso.H.diagonal().array() += ridge;
  for (double& v : lasso.p.reshaped()) v = random.normal();
  return lasso;
}

TEST(Accelerated, SolvesALinearSystemWithoutPenalty) {
  const Lasso lasso = random_lasso(1, 20, 0, 1e-3);
  const Accelerated result = minimise_accelerated(lasso.composite(), Matrix::Zero(20, 1),
                                                  {.tolerance = 1e-10, .max_iterations = 10000});
  EXPECT_TRUE(result.converged);
  const Matrix exact = Eigen::LLT<Eigen::MatrixXd>(lasso.H).solve(lasso.p);
  EXPECT_LE((result.x - exact).norm(), 1e-6 * exact.norm());
}

TEST(Accelerated, MeetsTheOptimalityConditionsOfTheLasso) {
  for (const bool monotone : {false, true}) {
    const Lasso lasso = random_lasso(2, 30, 0.4, 0);
    std::vector<double> objectives;
    const Accelerated result = minimise_accelerated(
        lasso.composite(), Matrix::Ones(30, 1),
        {.tolerance = 1e-9, .max_iterations = 10000, .L = 1e-3, .monotone = monotone},
        [&](Index, double objective) {
          objectives.push_back(objective);
          return true;
        });
    ASSERT_TRUE(result.converged);
    const Matrix gradient = lasso.H * result.x - lasso.p;
    // A step of length s lowers the objective by L s^2 / 2 and is seen to do so if that is above rounding: else the monotone variant ends.
    const double eps = std::numeric_limits<double>::epsilon();
    const double unseen =
        std::sqrt(2 * result.L * 32 * eps * std::max(1.0, std::abs(result.objective)));
    const double near = monotone ? std::max(1e-8, unseen) : 1e-8;
    EXPECT_LE(near, 1e-6);
    Index zeros = 0;
    for (Index i = 0; i < 30; ++i) {
      const double x = result.x(i, 0);
      zeros += x == 0;
      if (x == 0)
        EXPECT_LE(std::abs(gradient(i, 0)), lasso.lambda + near);
      else
        EXPECT_NEAR(gradient(i, 0), -std::copysign(lasso.lambda, x), near);
    }
    EXPECT_GT(zeros, 0);
    EXPECT_LT(zeros, 30);
    for (std::size_t k = 1; monotone && k < objectives.size(); ++k)
      EXPECT_LE(objectives[k], objectives[k - 1]);
  }
}

TEST(Accelerated, StopsWhenToldTo) {
  const Lasso lasso = random_lasso(3, 10, 0.1, 0);
  Index calls = 0;
  const Accelerated stopped = minimise_accelerated(lasso.composite(), Matrix::Zero(10, 1), {},
                                                   [&](Index, double) { return ++calls < 3; });
  EXPECT_EQ(stopped.iterations, 3);
  EXPECT_FALSE(stopped.converged);
  const Accelerated limited =
      minimise_accelerated(lasso.composite(), Matrix::Zero(10, 1), {.max_iterations = 2});
  EXPECT_EQ(limited.iterations, 2);
  EXPECT_FALSE(limited.converged);
}

}  // namespace
}  // namespace coterie
