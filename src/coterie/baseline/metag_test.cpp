#include "coterie/baseline/metag.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/baseline/clustered_linear.hpp"
#include "coterie/math/accelerated.hpp"
#include "coterie/math/fusion.hpp"
#include "coterie/math/prox.hpp"
#include "coterie/math/spectrum.hpp"

namespace coterie {
namespace {

constexpr LinearSettings tight{.gap_tolerance = 1e-8, .max_steps = 200, .threads = 1};

double distances(const Matrix& W) {
  double sum = 0;
  for (Index s = 0; s < W.rows(); ++s)
    for (Index t = 0; t < s; ++t) sum += (W.row(s) - W.row(t)).norm();
  return sum;
}

// Primal at W, dual at the pulls of (W, b) and nu, by plain loops.
void expect_proof(const LinearProblem& problem, double lambda, double ridge, const LinearFit& fit,
                  double tolerance) {
  const Pulls pulls = pulls_at(problem, fit.W, fit.b);
  const double primal = pulls.loss + lambda * distances(fit.W) + ridge / 2 * fit.W.squaredNorm();
  Matrix rest = pulls.Z;
  const TaskGraph graph = complete_graph(problem.T());
  ASSERT_EQ(fit.nu.rows(), std::ssize(graph));
  for (Index e = 0; e < fit.nu.rows(); ++e) {
    EXPECT_LE(fit.nu.row(e).norm(), lambda * (1 + 1e-12));
    rest.row(graph[e].t) -= fit.nu.row(e);
    rest.row(graph[e].s) += fit.nu.row(e);
  }
  EXPECT_LE(pulls.balance.cwiseAbs().maxCoeff(), 1e-10);
  EXPECT_NEAR(fit.primal, primal, 1e-10);
  EXPECT_NEAR(fit.dual, pulls.dual - rest.squaredNorm() / (2 * ridge), 1e-9);
  EXPECT_LE(fit.primal - fit.dual, tolerance * std::max(1.0, fit.primal));
  EXPECT_GE(fit.primal - fit.dual, -1e-12);
  for (const std::vector<Index>& cluster : fit.clusters)
    for (const Index t : cluster) EXPECT_EQ(fit.W.row(t), fit.W.row(cluster[0]));
}

// The objective is ridge-strongly convex in W.
double error_of(const LinearFit& fit, double ridge) {
  return std::sqrt(2 * std::max(fit.primal - fit.dual, 1e-14) / ridge);
}

TEST(Metag, ProvesItsOptimumFromAnyStart) {
  Random random(1);
  for (const Loss loss : {Loss::squared_hinge, Loss::logistic, Loss::square}) {
    const LinearProblem problem = clustered_linear(random, {.loss = loss});
    for (const MetagParameters p :
         {MetagParameters{0.01, 1e-3}, MetagParameters{0.03, 0.1}, MetagParameters{0.002, 0.01}}) {
      const LinearFit cold = fit_metag(problem, p, tight);
      expect_proof(problem, p.lambda, p.ridge, cold, 1e-8);
      EXPECT_EQ(cold.status, Status::converged);
      LinearStart start;
      start.W = random_matrix(random, problem.T(), problem.d(), 0.3);
      start.b = random_matrix(random, problem.T(), 1);
      start.nu = random_matrix(random, 10, problem.d());
      const LinearFit warm = fit_metag(problem, p, tight, start);
      expect_proof(problem, p.lambda, p.ridge, warm, 1e-8);
      EXPECT_NEAR(warm.primal, cold.primal, 2e-8);
    }
  }
}

TEST(Metag, WithoutFusionIsARidge) {
  Random random(2);
  const LinearProblem problem = clustered_linear(random, {});
  const LinearFit fit = fit_metag(problem, {.lambda = 0, .ridge = 0.1}, tight);
  expect_proof(problem, 0, 0.1, fit, 1e-8);
  EXPECT_LE((0.1 * fit.W - pulls_at(problem, fit.W, fit.b).Z).norm(), 1e-4);
  EXPECT_EQ(fit.clusters.size(), 5U);
  const LinearProblem one = clustered_linear(random, {.T = 1});
  expect_proof(one, 0.5, 0.1, fit_metag(one, {.lambda = 0.5, .ridge = 0.1}, tight), 1e-8);
}

// At the common w the gradients g_t = rho w - z_t sum to 0. lambda >= max ||g_s - g_t|| / T fuses all tasks;
// lambda < max over sets S of ||sum of S g_t|| / (|S| (T - |S|)) does not.
TEST(Metag, FusesAllFromSomeLambdaOn) {
  Random random(3);
  const Index T = 5;
  const LinearProblem problem = clustered_linear(random, {.T = T});
  const double ridge = 0.05;
  const LinearFit all = fit_metag(problem, {.lambda = 5, .ridge = ridge}, tight);
  expect_proof(problem, 5, ridge, all, 1e-8);
  ASSERT_EQ(all.clusters.size(), 1U);
  const Matrix g = ridge * all.W - pulls_at(problem, all.W, all.b).Z;
  EXPECT_LE(g.colwise().sum().norm(), 1e-3);
  double sufficient = 0;
  for (Index s = 0; s < T; ++s)
    for (Index t = 0; t < s; ++t)
      sufficient = std::max(sufficient, (g.row(s) - g.row(t)).norm() / static_cast<double>(T));
  double necessary = 0;
  for (Index t = 0; t < T; ++t)
    necessary = std::max(necessary, g.row(t).norm() / static_cast<double>(T - 1));
  const auto fit = [&](double lambda) {
    return fit_metag(problem, {.lambda = lambda, .ridge = ridge}, tight);
  };
  EXPECT_EQ(fit(1.01 * sufficient).clusters.size(), 1U);
  EXPECT_LE((fit(1.01 * sufficient).W - all.W).norm(), 2 * error_of(all, ridge));
  EXPECT_GT(fit(0.9 * necessary).clusters.size(), 1U);
}

TEST(Metag, ValueIsConcaveInLambda) {
  Random random(4);
  const LinearProblem problem = clustered_linear(random, {});
  std::vector<double> value;
  for (const double lambda : {0.0, 0.01, 0.02, 0.03, 0.04, 0.05})
    value.push_back(fit_metag(problem, {.lambda = lambda, .ridge = 0.01}, tight).primal);
  for (std::size_t i = 1; i < value.size(); ++i) EXPECT_GE(value[i], value[i - 1] - 2e-8);
  for (std::size_t i = 1; i + 1 < value.size(); ++i)
    EXPECT_GE(value[i], (value[i - 1] + value[i + 1]) / 2 - 2e-8);
  EXPECT_GT(value.back(), value.front() + 1e-3);
}

// All levels at once by accelerated proximal steps, stacked as rows, the biases as a further column of the first. The sum of the
// levels is never below the optimum of one level with the smallest lambda, and in the end meets it.
TEST(Metag, LevelsAreOneLevel) {
  Random random(5);
  constexpr Index T = 4, d = 3, H = 3;
  const LinearProblem problem = clustered_linear(random, {.T = T, .d = d});
  const MetagParameters p{.lambda = 0.03, .ridge = 0.1, .levels = H, .ratio = 1.5};
  const Vector lambda{{0.03, 0.03 / 1.5, 0.03 / 2.25}};
  const LinearFit fit = fit_metag(problem, p, tight);
  expect_proof(problem, lambda[2], p.ridge, fit, 1e-8);

  const auto level = [&](const Matrix& x, Index h) -> Matrix { return x.block(h * T, 0, T, d); };
  const auto sum = [&](const Matrix& x) -> Matrix {
    return level(x, 0) + level(x, 1) + level(x, 2);
  };
  Composite stacked;
  stacked.smooth = [&](const Matrix& x, Matrix& gradient) {
    const Matrix W = sum(x);
    const Pulls pulls = pulls_at(problem, W, x.col(d).head(T));
    gradient = Matrix::Zero(H * T, d + 1);
    for (Index h = 0; h < H; ++h) gradient.block(h * T, 0, T, d) = p.ridge * W - pulls.Z;
    gradient.col(d).head(T) = -pulls.balance;
    return pulls.loss + p.ridge / 2 * W.squaredNorm();
  };
  stacked.prox = [&](const Matrix& z, double step) {
    Matrix x = z;
    for (Index h = 0; h < H; ++h)
      x.block(h * T, 0, T, d) = fuse_vectors(level(z, h), step * lambda[h], 1e-12).U;
    return x;
  };
  stacked.penalty = [&](const Matrix& x) {
    double value = 0;
    for (Index h = 0; h < H; ++h) value += lambda[h] * distances(level(x, h));
    return value;
  };
  const Accelerated found = minimise_accelerated(stacked, random_matrix(random, H * T, d + 1),
                                                 {.tolerance = 1e-7, .max_iterations = 5000});
  EXPECT_TRUE(found.converged);
  EXPECT_GE(found.objective, fit.dual);
  EXPECT_NEAR(found.objective, fit.primal, 1e-7);
  EXPECT_LE((sum(found.x) - fit.W).norm(), 1e-3);
  EXPECT_GT(distances(fit.W),
            0.1);  // dearer levels are the same for all tasks, the cheapest is not
  EXPECT_LE(distances(level(found.x, 0)) + distances(level(found.x, 1)), 1e-5);
}

TEST(Metag, FollowsTheOrderOfTasksAndSamplesAndTurnsWithFeatures) {
  Random random(6);
  const LinearProblem problem = clustered_linear(random, {});
  const MetagParameters p{.lambda = 0.02, .ridge = 0.05};
  const LinearFit fit = fit_metag(problem, p, tight);
  const double error = 3 * error_of(fit, p.ridge);
  const std::vector<Index> order{3, 0, 4, 2, 1};
  const Matrix W = fit.W(order, Eigen::all);
  EXPECT_LE((fit_metag(permute_tasks(problem, order), p, tight).W - W).norm(), error);
  EXPECT_LE((fit_metag(reverse_samples(problem), p, tight).W - fit.W).norm(), error);
  const Matrix Q = orthonormal(random_matrix(random, 4, 4));
  const LinearFit turned = fit_metag(turn_features(problem, Q), p, tight);
  EXPECT_NEAR(turned.primal, fit.primal, 2e-8);
  EXPECT_LE((turned.W - fit.W * Q).norm(), error);
}

TEST(Metag, EqualTasksFuse) {
  Random random(7);
  LinearProblem problem = clustered_linear(random, {.T = 4});
  problem.X[3] = problem.X[0];
  problem.y[3] = problem.y[0];
  problem.c[3] = problem.c[0];
  const LinearFit fit = fit_metag(problem, {.lambda = 0.003, .ridge = 0.05}, tight);
  EXPECT_EQ(fit.W.row(0), fit.W.row(3));
  EXPECT_EQ(fit.clusters, (Groups{{0, 3}, {1}, {2}}));
}

TEST(Metag, FindsClusters) {
  Random random(8);
  const LinearProblem problem =
      clustered_linear(random, {.T = 6, .d = 3, .samples = 80, .clusters = 2, .spread = 0});
  const LinearFit fit = fit_metag(problem, {.lambda = 0.06, .ridge = 1e-3}, tight);
  expect_proof(problem, 0.06, 1e-3, fit, 1e-8);
  EXPECT_EQ(fit.clusters, (Groups{{0, 2, 4}, {1, 3, 5}}));
}

// A start that is good enough as it is, but for noise in what should be equal.
TEST(Metag, FusesAStartThatNeedsNoStep) {
  Random random(8);
  const LinearProblem problem =
      clustered_linear(random, {.T = 6, .d = 3, .samples = 80, .clusters = 2, .spread = 0});
  const MetagParameters p{.lambda = 0.06, .ridge = 1e-3};
  const LinearFit fit = fit_metag(problem, p, tight);
  LinearStart start;
  start.W = fit.W + random_matrix(random, 6, 3, 1e-6);
  start.b = fit.b;
  LinearSettings loose = tight;
  loose.gap_tolerance = 1e-4;
  const LinearFit again = fit_metag(problem, p, loose, start);
  expect_proof(problem, p.lambda, p.ridge, again, 1e-4);
  EXPECT_EQ(again.steps, 0);
  EXPECT_EQ(again.clusters, fit.clusters);
}

TEST(Metag, ProvesWhereItEnds) {
  Random random(12);
  const LinearProblem problem = clustered_linear(random, {});
  LinearSettings settings = tight;
  settings.gap_tolerance = 0;  // cannot be reached
  const MetagParameters p{.lambda = 0.01, .ridge = 0.01};
  const LinearFit fit = fit_metag(problem, p, settings);
  EXPECT_NE(fit.status, Status::step_limit);
  expect_proof(problem, p.lambda, p.ridge, fit, 1e-10);
  settings.max_steps = 2;
  expect_proof(problem, p.lambda, p.ridge, fit_metag(problem, p, settings), 1);
}

// Square loss, X'CX = I and columns that sum to 0: each task's loss is 1/2 ||w - a_t||^2 + constant with a_t = X'C y, and the optimum of
// two tasks is the pairwise proximal map.
TEST(Metag, OfTwoOrthonormalTasksIsTheClosedForm) {
  Random random(9);
  LinearProblem problem = clustered_linear(random, {.T = 2, .loss = Loss::square});
  for (Matrix& X : problem.X) {
    X = orthonormal(X.rowwise() - X.colwise().mean()) * std::sqrt(static_cast<double>(X.rows()));
  }
  const auto a = [&](Index t) -> Vector {
    return problem.X[t].transpose() * problem.c[t].cwiseProduct(problem.y[t]) / 1.1;
  };
  for (const double lambda : {0.05, 0.1, 1.0}) {
    const auto [x, y] = prox_pairwise(a(0), a(1), lambda / 1.1);
    const LinearFit fit = fit_metag(problem, {.lambda = lambda, .ridge = 0.1}, tight);
    EXPECT_LE((fit.W.row(0).transpose() - x).norm(), 2e-4);
    EXPECT_LE((fit.W.row(1).transpose() - y).norm(), 2e-4);
    EXPECT_EQ(fit.clusters.size() == 1, x == y);
  }
}

TEST(Metag, ThreadsChangeNoBit) {
  Random random(10);
  const LinearProblem problem = clustered_linear(random, {.T = 7});
  LinearSettings settings;
  settings.threads = 1;
  const LinearFit one = fit_metag(problem, {}, settings);
  settings.threads = 2;
  const LinearFit two = fit_metag(problem, {}, settings);
  EXPECT_EQ(one.W, two.W);
  EXPECT_EQ(one.b, two.b);
  EXPECT_EQ(one.nu, two.nu);
  EXPECT_EQ(one.dual, two.dual);
}

TEST(Metag, RefusesWhatHasNoOptimum) {
  Random random(11);
  const LinearProblem problem = clustered_linear(random, {});
  const double infinity = std::numeric_limits<double>::infinity();
  for (const MetagParameters p :
       {MetagParameters{.lambda = -1}, MetagParameters{.lambda = infinity},
        MetagParameters{.ridge = 0}, MetagParameters{.levels = 0}, MetagParameters{.ratio = 0}})
    EXPECT_THROW(fit_metag(problem, p, tight), InputError);
  try {
    fit_metag(problem, {.ridge = 0}, tight);
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "metag: ridge is 0, but must be > 0.");
  }
}

}  // namespace
}  // namespace coterie
