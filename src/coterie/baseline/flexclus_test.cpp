#include "coterie/baseline/flexclus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/baseline/clustered_linear.hpp"
#include "coterie/math/fusion.hpp"
#include "coterie/math/spectrum.hpp"

namespace coterie {
namespace {

constexpr LinearSettings tight{.gap_tolerance = 1e-8, .max_steps = 200, .threads = 1};

// Both ends of the proof by separate code: the primal at W = U + V; the conjugate of the U part through pair duals, a feature at a time.
void expect_proof(const LinearProblem& problem, const FlexclusParameters& p, const LinearFit& fit,
                  double tolerance) {
  const Matrix& U = fit.shared;
  const Pulls pulls = pulls_at(problem, fit.W, fit.b);
  double primal = pulls.loss + p.lambda2 * U.squaredNorm() + p.lambda3 * (fit.W - U).squaredNorm();
  for (Index s = 0; s < U.rows(); ++s)
    for (Index t = 0; t < s; ++t) primal += p.lambda1 * (U.row(s) - U.row(t)).cwiseAbs().sum();
  double dual = pulls.dual - pulls.Z.squaredNorm() / (4 * p.lambda3);
  for (Index j = 0; j < U.cols(); ++j) {
    const Matrix z = pulls.Z.col(j);
    const VectorFusion pairs = fuse_vectors(z, p.lambda1, 1e-13);
    dual -= (z - spread_of_duals(pairs.nu, U.rows())).squaredNorm() / (4 * p.lambda2);
  }
  EXPECT_LE(pulls.balance.cwiseAbs().maxCoeff(), 1e-10);
  EXPECT_NEAR(fit.primal, primal, 1e-10);
  EXPECT_NEAR(fit.dual, dual, 1e-9);
  EXPECT_LE(fit.primal - fit.dual, tolerance * std::max(1.0, fit.primal));
  EXPECT_GE(fit.primal - fit.dual, -1e-12);
  EXPECT_EQ(fit.status, Status::converged);
}

// The objective is 2 kappa-strongly convex in W: how far W may be from the optimum.
double error_of(const LinearFit& fit, const FlexclusParameters& p) {
  const double kappa = p.lambda2 * p.lambda3 / (p.lambda2 + p.lambda3);
  return std::sqrt(std::max(fit.primal - fit.dual, 1e-14) / kappa);
}

TEST(Flexclus, ProvesItsOptimumFromAnyStart) {
  Random random(1);
  for (const Loss loss : {Loss::squared_hinge, Loss::logistic, Loss::square}) {
    const LinearProblem problem = clustered_linear(random, {.loss = loss});
    for (const FlexclusParameters p : {FlexclusParameters{}, FlexclusParameters{0.002, 0.01, 0.03},
                                       FlexclusParameters{0.05, 0.3, 0.01}}) {
      const LinearFit cold = fit_flexclus(problem, p, tight);
      expect_proof(problem, p, cold, 1e-8);
      for (int repeat = 0; repeat < 2; ++repeat) {
        LinearStart start;
        start.W = random_matrix(random, problem.T(), problem.d(), 0.3);
        start.b = random_matrix(random, problem.T(), 1);
        const LinearFit warm = fit_flexclus(problem, p, tight, start);
        expect_proof(problem, p, warm, 1e-8);
        EXPECT_NEAR(warm.primal, cold.primal, 2e-8);
      }
    }
  }
}

// lambda1 = 0: every task has a ridge of its own, 2 kappa w_t = z_t with kappa = lambda2 lambda3 / (lambda2 + lambda3).
TEST(Flexclus, WithoutFusionIsARidge) {
  Random random(2);
  const LinearProblem problem = clustered_linear(random, {});
  const FlexclusParameters p{0, 0.1, 0.05};
  const LinearFit fit = fit_flexclus(problem, p, tight);
  const double kappa = 0.1 * 0.05 / 0.15;
  expect_proof(problem, p, fit, 1e-8);
  EXPECT_LE((2 * kappa * fit.W - pulls_at(problem, fit.W, fit.b).Z).norm(), 1e-3);
  EXPECT_LE((fit.shared - fit.W / 3).norm(), 1e-12);  // lambda3 / (lambda2 + lambda3) of W
  EXPECT_EQ(fit.clusters.size(), 5U);
}

// A large lambda1: one u for all tasks, whose gradient is that of  lambda3 sum ||w_t - mean||^2 + kappa T ||mean||^2.
TEST(Flexclus, WithMuchFusionHasOneMean) {
  Random random(3);
  const LinearProblem problem = clustered_linear(random, {});
  const FlexclusParameters p{10, 0.1, 0.05};
  const LinearFit fit = fit_flexclus(problem, p, tight);
  expect_proof(problem, p, fit, 1e-8);
  const double kappa = 0.1 * 0.05 / 0.15;
  const Eigen::RowVectorXd mean = fit.W.colwise().mean();
  Matrix gradient = 2 * 0.05 * (fit.W.rowwise() - mean);
  gradient.rowwise() += 2 * kappa * mean;
  EXPECT_LE((gradient - pulls_at(problem, fit.W, fit.b).Z).norm(), 1e-3);
  for (Index t = 1; t < 5; ++t) EXPECT_EQ(fit.shared.row(t), fit.shared.row(0));
  ASSERT_EQ(fit.clusters.size(), 1U);
}

TEST(Flexclus, LargeRidgesLeaveOnePart) {
  Random random(4);
  const LinearProblem problem = clustered_linear(random, {});
  EXPECT_LE(fit_flexclus(problem, {0.01, 1e6, 0.1}, tight).shared.norm(), 1e-4);
  const LinearFit fit = fit_flexclus(problem, {0.01, 0.1, 1e6}, tight);
  EXPECT_LE((fit.shared - fit.W).norm(), 1e-4);
  EXPECT_GT(fit.W.norm(), 0.1);
}

TEST(Flexclus, ValueGrowsWithEveryParameter) {
  Random random(5);
  const LinearProblem problem = clustered_linear(random, {});
  const auto value = [&](double a, double b, double c) {
    return fit_flexclus(problem, {a, b, c}, tight).primal;
  };
  const double base = value(0.01, 0.1, 0.1);
  EXPECT_GT(value(0.02, 0.1, 0.1), base);
  EXPECT_GT(value(0.01, 0.2, 0.1), base);
  EXPECT_GT(value(0.01, 0.1, 0.2), base);
}

TEST(Flexclus, EqualTasksAreEqual) {
  Random random(6);
  LinearProblem problem = clustered_linear(random, {.T = 4});
  problem.X[3] = problem.X[0];
  problem.y[3] = problem.y[0];
  problem.c[3] = problem.c[0];
  const FlexclusParameters p{0.003, 0.1, 0.1};
  const LinearFit fit = fit_flexclus(problem, p, tight);
  EXPECT_LE((fit.W.row(0) - fit.W.row(3)).norm(), 2 * error_of(fit, p));
  EXPECT_EQ(fit.shared.row(0), fit.shared.row(3));
}

TEST(Flexclus, FollowsTheOrderOfTasksSamplesAndFeatures) {
  Random random(7);
  const LinearProblem problem = clustered_linear(random, {});
  const FlexclusParameters p{0.01, 0.1, 0.05};
  const LinearFit fit = fit_flexclus(problem, p, tight);
  const double error = 4 * error_of(fit, p);
  const std::vector<Index> order{3, 0, 4, 2, 1};
  const Matrix W = fit.W(order, Eigen::all);
  EXPECT_LE((fit_flexclus(permute_tasks(problem, order), p, tight).W - W).norm(), error);
  EXPECT_LE((fit_flexclus(reverse_samples(problem), p, tight).W - fit.W).norm(), error);
  const Matrix reversal = Matrix::Identity(4, 4).rowwise().reverse();
  const LinearFit other = fit_flexclus(turn_features(problem, reversal), p, tight);
  EXPECT_LE((other.W * reversal - fit.W).norm(), error);
  // Clusters belong to features: a turn of the axes changes the problem.
  const Matrix Q = orthonormal(random_matrix(random, 4, 4));
  EXPECT_GT(std::abs(fit_flexclus(turn_features(problem, Q), p, tight).primal - fit.primal), 1e-4);
}

TEST(Flexclus, FindsClustersOfEveryFeature) {
  Random random(8);
  const LinearProblem problem =
      clustered_linear(random, {.T = 6, .d = 3, .samples = 80, .clusters = 2, .spread = 0});
  const LinearFit fit = fit_flexclus(problem, {0.03, 0.02, 1}, tight);
  EXPECT_EQ(fit.clusters, (Groups{{0, 2, 4}, {1, 3, 5}}));
}

TEST(Flexclus, ThreadsChangeNoBit) {
  Random random(9);
  const LinearProblem problem = clustered_linear(random, {.T = 7});
  LinearSettings settings;
  settings.threads = 1;
  const LinearFit one = fit_flexclus(problem, {}, settings);
  settings.threads = 2;
  const LinearFit two = fit_flexclus(problem, {}, settings);
  EXPECT_EQ(one.W, two.W);
  EXPECT_EQ(one.b, two.b);
  EXPECT_EQ(one.shared, two.shared);
  EXPECT_EQ(one.dual, two.dual);
}

TEST(Flexclus, RefusesWhatHasNoOptimum) {
  Random random(10);
  const LinearProblem problem = clustered_linear(random, {});
  const double infinity = std::numeric_limits<double>::infinity();
  for (const FlexclusParameters p :
       {FlexclusParameters{-1, 1, 1}, {infinity, 1, 1}, {0, 0, 1}, {0, 1, 0}, {0, infinity, 1}})
    EXPECT_THROW(fit_flexclus(problem, p, tight), InputError);
  try {
    fit_flexclus(problem, {0, 1, 0}, tight);
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "flexclus: lambda3 is 0, but must be > 0.");
  }
}

}  // namespace
}  // namespace coterie
