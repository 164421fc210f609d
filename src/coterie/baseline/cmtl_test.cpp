#include "coterie/baseline/cmtl.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "coterie/baseline/random_linear.hpp"
#include "coterie/baseline/ridge.hpp"
#include "coterie/math/dense.hpp"
#include "coterie/math/spectrum.hpp"

namespace coterie {
namespace {

Matrix random_matrix(Random& random, Index rows, Index columns, double scale = 1) {
  Matrix A(rows, columns);
  for (double& v : A.reshaped()) v = scale * random.normal();
  return A;
}

Matrix random_rotation(Random& random, Index size) {
  return orthonormal(random_matrix(random, size, size));
}

struct Case {
  Index T, d;
  CmtlParameters parameters;
};

// Shapes with fewer features than tasks and more, all kinds of clusters, both forms.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Index T : {1, 2, 5, 8})
    for (const Index d : {3, 12})
      for (Index r = 1; r <= T; r += 2)
        for (const bool centred : {true, false})
          all.push_back({T,
                         d,
                         {.lambda = 0.3,
                          .clusters = r,
                          .mean = 0.5,
                          .between = 1,
                          .within = 7,
                          .centred = centred}});
  return all;
}

// tr W' Sigma^-1 W of the definition.
double cost(const Matrix& W, Eigen::MatrixXd Sigma) {
  EXPECT_TRUE(cholesky(Sigma));
  const Eigen::MatrixXd solved = cholesky_solve(Sigma, Eigen::MatrixXd(W));
  return W.cwiseProduct(solved).sum();
}

TEST(CmtlPenalty, NoSigmaOfTheDefinitionIsCheaper) {
  Random random(1);
  for (const Case& c : cases()) {
    CmtlPenalty penalty(c.parameters, c.T);
    const CmtlParameters& p = c.parameters;
    const Matrix W = random_matrix(random, c.T, c.d);
    const Matrix centred = p.centred ? Matrix(W.rowwise() - W.colwise().mean()) : W;
    const double mean_part =
        p.centred ? p.mean * static_cast<double>(c.T) * W.colwise().mean().squaredNorm() : 0;
    const double omega = penalty.value(W) / p.lambda - mean_part;
    // Eigenvalues of Sigma on all T directions: of the trace that r clusters give. When centred, the constant direction has 1/within.
    const double alpha = 1 / p.within, beta = 1 / p.between;
    const double free = static_cast<double>(p.centred ? p.clusters - 1 : p.clusters);
    double least = std::numeric_limits<double>::infinity();
    for (int trial = 0; trial < 200; ++trial) {
      Matrix V = random_rotation(random, c.T);
      if (trial % 2 == 0) V = spectrum_of(centred * centred.transpose()).vectors;  // the best
      Vector l(c.T);  // feasible: shares of the free trace, at most 1 each
      for (double& v : l) v = random.uniform();
      for (int k = 0; k < 100; ++k)
        l = (l * (free / std::max(1e-300, l.sum()))).cwiseMin(1).cwiseMax(0);
      l = (alpha + (beta - alpha) * l.array()).matrix();
      const Eigen::MatrixXd Sigma = V * l.asDiagonal() * V.transpose();
      least = std::min(least, cost(centred, Sigma));
    }
    EXPECT_GE(least, omega - 1e-10 * (1 + omega));
    // and one reaches it: that of the relaxed matrix of clusters, whose trace is that of r clusters
    const CmtlPenalty::Relaxed M = penalty.matrix_of_clusters(W);
    double reached = 0;
    const Matrix along = M.vectors.transpose() * centred;
    for (Index i = 0; i < M.values.size(); ++i) {
      EXPECT_GE(M.values[i], -1e-12);
      EXPECT_LE(M.values[i], 1 + 1e-12);
      reached +=
          (p.between * M.values[i] + p.within * (1 - M.values[i])) * along.row(i).squaredNorm();
    }
    EXPECT_NEAR(reached, omega, 1e-9 * (1 + omega));
    // Sigma has at most the trace of r clusters
    double trace = 0;
    for (const double m : M.values) trace += 1 / (p.between * m + p.within * (1 - m));
    EXPECT_LE(trace, static_cast<double>(M.values.size()) * alpha + free * (beta - alpha) + 1e-9);
  }
}

TEST(CmtlPenalty, KnownClustersCostNoLess) {
  Random random(2);
  const Index T = 6, d = 4;
  const std::vector<Index> label = {0, 1, 0, 2, 1, 0};
  const CmtlParameters p{.lambda = 1, .clusters = 3, .mean = 0.3, .between = 1, .within = 5};
  CmtlPenalty penalty(p, T);
  Matrix centres = random_matrix(random, 3, d);
  for (const double noise : {0.0, 0.1, 1.0}) {
    Matrix W(T, d);
    for (Index t = 0; t < T; ++t)
      W.row(t) =
          centres.row(label[static_cast<std::size_t>(t)]) + noise * random_matrix(random, 1, d);
    const Eigen::RowVectorXd mean = W.colwise().mean();
    double known = p.mean * static_cast<double>(T) * mean.squaredNorm();
    for (Index c = 0; c < 3; ++c) {
      Eigen::RowVectorXd centre = Eigen::RowVectorXd::Zero(d);
      double size = 0;
      for (Index t = 0; t < T; ++t)
        if (label[static_cast<std::size_t>(t)] == c) {
          centre += W.row(t);
          ++size;
        }
      centre /= size;
      known += p.between * size * (centre - mean).squaredNorm();
      for (Index t = 0; t < T; ++t)
        if (label[static_cast<std::size_t>(t)] == c)
          known += p.within * (W.row(t) - centre).squaredNorm();
    }
    EXPECT_LE(penalty.value(W), known * (1 + 1e-12));
    EXPECT_TRUE(noise > 0 || penalty.value(W) >= known * (1 - 1e-9));
  }
}

TEST(CmtlPenalty, ProxIsOptimal) {
  Random random(3);
  for (const Case& c : cases()) {
    CmtlPenalty penalty(c.parameters, c.T);
    const Matrix Z = random_matrix(random, c.T, c.d);
    const double step = std::pow(10, random.uniform(-2, 2));
    const Matrix W = penalty.prox(Z, step, 0);
    const auto objective = [&](const Matrix& at) {
      return (at - Z).squaredNorm() / 2 + step * penalty.value(at);
    };
    // (Z - W) / step is a subgradient: Fenchel's equality
    const Matrix Y = (Z - W) / step;
    EXPECT_NEAR(penalty.value(W) + penalty.conjugate(Y, 0), Y.cwiseProduct(W).sum(),
                1e-10 * (1 + Y.cwiseProduct(W).sum()));
    const double h = 1e-4;
    for (int trial = 0; trial < 5; ++trial) {
      const Matrix D = random_matrix(random, c.T, c.d);
      EXPECT_GE(objective(W + h * D), objective(W));
      const double slope = (objective(W + h * D) - objective(W - h * D)) / (2 * h);
      EXPECT_NEAR(slope, 0, 1e-4 * (1 + step));
    }
  }
}

TEST(CmtlPenalty, ConjugateIsTheLeastBound) {
  Random random(4);
  for (const Case& c : cases()) {
    CmtlPenalty penalty(c.parameters, c.T);
    for (int trial = 0; trial < 5; ++trial) {
      const Matrix W = random_matrix(random, c.T, c.d), Z = random_matrix(random, c.T, c.d);
      EXPECT_GE(penalty.value(W) + penalty.conjugate(Z, 0), W.cwiseProduct(Z).sum());
      EXPECT_NEAR(penalty.value(3 * W), 9 * penalty.value(W), 1e-9 * penalty.value(W));
    }
    // squares of norms: their gradient is linear along rays, so the bound is met at W = prox of a large step, up to scale
    EXPECT_EQ(penalty.value(Matrix::Zero(c.T, c.d)), 0);
    EXPECT_EQ(penalty.conjugate(Matrix::Zero(c.T, c.d), 0), 0);
  }
}

TEST(CmtlPenalty, LimitsThatAreKnown) {
  Random random(5);
  const Index T = 5, d = 7;
  const Matrix W = random_matrix(random, T, d);
  const Eigen::RowVectorXd mean = W.colwise().mean();
  const double mean_part = static_cast<double>(T) * mean.squaredNorm();
  const double spread = (W.rowwise() - mean).squaredNorm();
  const auto value = [&](CmtlParameters p) { return CmtlPenalty(p, T).value(W); };
  // one cluster: the mean-regularised penalty; T clusters: a ridge
  EXPECT_NEAR(value({.lambda = 2, .clusters = 1, .mean = 0.3, .between = 1, .within = 4}),
              2 * (0.3 * mean_part + 4 * spread), 1e-9);
  EXPECT_NEAR(value({.lambda = 2, .clusters = T, .mean = 1.5, .between = 1.5, .within = 4}),
              3 * W.squaredNorm(), 1e-9);
  EXPECT_NEAR(
      value({.lambda = 1, .clusters = T, .mean = 1, .between = 1.5, .within = 4, .centred = false}),
      1.5 * W.squaredNorm(), 1e-9);
  // within = between: the number of clusters does not matter; otherwise more clusters never cost more
  double last = std::numeric_limits<double>::infinity();
  for (Index r = 1; r <= T; ++r) {
    EXPECT_NEAR(value({.lambda = 1, .clusters = r, .mean = 1, .between = 2, .within = 2}),
                mean_part + 2 * spread, 1e-9);
    const double now = value({.lambda = 1, .clusters = r, .mean = 1, .between = 2, .within = 20});
    EXPECT_LE(now, last + 1e-12);
    last = now;
  }
  // alpha -> 0, not centred, one direction: the squared trace norm over the budget
  const double budget = 1e8 + 4e-8;
  const Vector sigma = singular_values(W);
  EXPECT_NEAR(budget * value({.lambda = 1,
                              .clusters = 1,
                              .mean = 1,
                              .between = 1e-8,
                              .within = 1e8,
                              .centred = false}),
              std::pow(sigma.sum(), 2), 1e-4);
  // order of tasks and rotation of features change nothing
  CmtlPenalty penalty({.lambda = 1, .clusters = 2}, T);
  EXPECT_NEAR(penalty.value(W.colwise().reverse()), penalty.value(W), 1e-10);
  EXPECT_NEAR(penalty.value(W * random_rotation(random, d)), penalty.value(W), 1e-10);
}

TEST(Cmtl, ReachesASmallGapFromAnywhere) {
  std::uint64_t seed = 20;
  for (const Loss loss : {Loss::squared_hinge, Loss::logistic, Loss::square})
    for (const bool centred : {true, false})
      for (const double lambda : {1e-3, 0.1, 10.0}) {
        const LinearProblem problem = random_linear(++seed, 5, 25, 8, loss);
        const CmtlParameters parameters{.lambda = lambda, .clusters = 2, .centred = centred};
        const LinearFit cold = fit_cmtl(problem, parameters, {.gap_tolerance = 1e-8});
        EXPECT_EQ(cold.status, Status::converged);
        EXPECT_LE(cold.gap, 1e-8);
        EXPECT_EQ(cold.claim, Claim::optimum);
        Random random(seed);
        LinearStart start;
        start.W = random_matrix(random, 5, 8, 0.3);
        const LinearFit warm = fit_cmtl(problem, parameters, {.gap_tolerance = 1e-8}, start);
        EXPECT_EQ(warm.status, Status::converged);
        EXPECT_NEAR(warm.primal, cold.primal, 2e-8 * std::max(1.0, cold.primal));
        Index tasks = 0;
        for (const std::vector<Index>& group : cold.clusters) tasks += std::ssize(group);
        EXPECT_EQ(tasks, 5);
        EXPECT_LE(cold.clusters.size(), 2);
      }
}

TEST(Cmtl, AsManyClustersAsTasksIsARidge) {
  const LinearProblem problem = random_linear(31, 4, 30, 6, Loss::logistic);
  const LinearFit cmtl =
      fit_cmtl(problem, {.lambda = 0.2, .clusters = 4, .mean = 0.5, .between = 0.5, .within = 3},
               {.gap_tolerance = 1e-10});
  RidgePenalty ridge(0.1);
  const LinearFit alone = minimise(problem, ridge, {.gap_tolerance = 1e-10});
  EXPECT_NEAR(cmtl.primal, alone.primal, 1e-9);
  EXPECT_LE((cmtl.W - alone.W).norm(), 1e-4);
}

// One cluster and the square loss: W solves linear equations, with K = mean U + within (I - U) between tasks.
TEST(Cmtl, OneClusterWithTheSquareLossIsAClosedForm) {
  const Index T = 3, d = 4;
  const LinearProblem problem = random_linear(32, T, 20, d, Loss::square);
  const double lambda = 0.1, mean = 0.5, within = 3;
  const LinearFit fit = fit_cmtl(
      problem, {.lambda = lambda, .clusters = 1, .mean = mean, .between = 1, .within = within},
      {.gap_tolerance = 1e-12});
  const Index size = T * (d + 1);  // w_1, b_1, w_2, ..
  Eigen::MatrixXd H = Eigen::MatrixXd::Zero(size, size);
  Vector right = Vector::Zero(size);
  for (Index t = 0; t < T; ++t) {
    const std::size_t k = static_cast<std::size_t>(t);
    Eigen::MatrixXd A(20, d + 1);
    A << problem.X[k], Vector::Ones(20);
    H.block(t * (d + 1), t * (d + 1), d + 1, d + 1) +=
        A.transpose() * problem.c[k].asDiagonal() * A;
    right.segment(t * (d + 1), d + 1) = A.transpose() * problem.c[k].cwiseProduct(problem.y[k]);
    for (Index s = 0; s < T; ++s)
      for (Index j = 0; j < d; ++j)
        H(t * (d + 1) + j, s * (d + 1) + j) +=
            2 * lambda * ((mean - within) / static_cast<double>(T) + (s == t ? within : 0));
  }
  ASSERT_TRUE(cholesky(H));
  const Vector exact = cholesky_solve(H, right);
  for (Index t = 0; t < T; ++t)
    EXPECT_LE((fit.W.row(t).transpose() - exact.segment(t * (d + 1), d)).norm(), 1e-5);
  EXPECT_EQ(fit.clusters.size(), 1);
}

TEST(Cmtl, OrderOfTasksAndRotationOfFeaturesDoNotMatter) {
  const LinearProblem problem = random_linear(33, 4, 20, 5, Loss::squared_hinge);
  const CmtlParameters parameters{.lambda = 0.05, .clusters = 2};
  const LinearFit fit = fit_cmtl(problem, parameters, {.gap_tolerance = 1e-11});
  LinearProblem turned = problem;
  Random random(1);
  const Matrix rotation = random_rotation(random, 5);
  for (Matrix& X : turned.X) X = (X * rotation).eval();
  std::reverse(turned.X.begin(), turned.X.end());
  std::reverse(turned.y.begin(), turned.y.end());
  const LinearFit other = fit_cmtl(turned, parameters, {.gap_tolerance = 1e-11});
  EXPECT_NEAR(other.primal, fit.primal, 1e-10);
  EXPECT_LE((other.W * rotation.transpose() - fit.W.colwise().reverse()).norm(), 1e-4);
}

TEST(Cmtl, FindsPlantedClustersAndFusesEqualTasks) {
  // Tasks 0, 2, 4 share one weight vector, 1, 3, 5 another.
  Random random(7);
  LinearProblem problem;
  problem.loss = Loss::logistic;
  const Matrix centres = random_matrix(random, 2, 6, 2);
  for (Index t = 0; t < 6; ++t) {
    const Matrix X = random_matrix(random, 60, 6);
    Vector y(60);
    for (Index i = 0; i < 60; ++i) y[i] = X.row(i).dot(centres.row(t % 2)) > 0 ? 1 : -1;
    problem.X.push_back(X);
    problem.y.push_back(y);
    problem.c.push_back(Vector::Constant(60, 1.0 / 60));
  }
  const LinearFit fit = fit_cmtl(problem, {.lambda = 0.01, .clusters = 2}, {});
  EXPECT_EQ(fit.clusters, (Groups{{0, 2, 4}, {1, 3, 5}}));
  const LinearFit other = fit_cmtl(problem, {.lambda = 0.01, .clusters = 2, .centred = false}, {});
  EXPECT_EQ(other.clusters, (Groups{{0, 2, 4}, {1, 3, 5}}));

  for (std::size_t t = 1; t < 6; ++t) {  // one task six times
    problem.X[t] = problem.X[0];
    problem.y[t] = problem.y[0];
  }
  const LinearFit same =
      fit_cmtl(problem, {.lambda = 0.01, .clusters = 3}, {.gap_tolerance = 1e-9});
  EXPECT_EQ(same.clusters.size(), 1);
  EXPECT_LE((same.W.row(0) - same.W.row(5)).norm(), 1e-6);
}

TEST(Cmtl, RejectsWhatTasksCannotHave) {
  const LinearProblem problem = random_linear(41, 3, 10, 2, Loss::square);
  const auto message = [&](const CmtlParameters& parameters) -> std::string {
    try {
      fit_cmtl(problem, parameters, {});
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({.clusters = 4}), "");  // as many as there are tasks
  EXPECT_EQ(message({.clusters = 0}), "clusters is 0; it must be a whole number >= 1.");
  EXPECT_EQ(message({.lambda = 0}), "lambda is 0; it must be a number > 0.");
  EXPECT_EQ(message({.between = 2, .within = 1}),
            "within is 1; it must be a number >= between, 2.");
  EXPECT_EQ(message({.mean = -1}), "mean is -1; it must be a number > 0.");
  EXPECT_EQ(message({}), "");
}

}  // namespace
}  // namespace coterie
