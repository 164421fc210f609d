// Thirteen equalities between methods, each reached by two different ways through the code. Every test prints how far the two are apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "coterie/baseline/cmtl.hpp"
#include "coterie/baseline/coclus.hpp"
#include "coterie/baseline/flexclus.hpp"
#include "coterie/baseline/metag.hpp"
#include "coterie/baseline/pareto.hpp"
#include "coterie/baseline/random_linear.hpp"
#include "coterie/baseline/ridge.hpp"
#include "coterie/baseline/tang.hpp"
#include "coterie/baseline/whom.hpp"
#include "coterie/math/accelerated.hpp"
#include "coterie/math/fusion.hpp"
#include "coterie/model/random_problem.hpp"
#include "coterie/model/train.hpp"

namespace coterie {
namespace {

constexpr double tolerance = 1e-9;  // relative gap of every fit
const LinearSettings exact{tolerance, 500, 1};

// Two values of the same optimum, each within its gap of it, differ by no more than the gaps; `limit` adds what a limit that is not
// quite reached leaves.
void expect_same_value(const char* what, double left, double right, double limit = 0) {
  const double difference = std::abs(left - right) / std::max(1.0, std::abs(right));
  std::printf("%-58s %.10g and %.10g: relative difference %.1e\n", what, left, right, difference);
  EXPECT_LE(difference, 2 * tolerance + limit) << what;
}

void expect_same_weights(const char* what, const Matrix& left, const Matrix& right, double bound) {
  const double difference = (left - right).norm() / std::max(1.0, right.norm());
  std::printf("%-58s weights differ by %.1e\n", what, difference);
  EXPECT_LE(difference, bound) << what;
}

// An objective that is curved by 2 kappa at least tells weights apart: |W - W*| <= sqrt(gap / kappa).
double weight_bound(const LinearFit& a, const LinearFit& b, double kappa) {
  return std::sqrt(tolerance * std::max(1.0, a.primal) / kappa) +
         std::sqrt(tolerance * std::max(1.0, b.primal) / kappa);
}

LinearFit fit_ridge(const LinearProblem& problem, double kappa) {
  RidgePenalty ridge(kappa);
  return minimise(problem, ridge, exact);
}

const Loss losses[] = {Loss::squared_hinge, Loss::logistic, Loss::square};

// Kernel problems of the first equalities.
struct KernelCase {
  Prepared prepared;
  FitSettings settings;
  MtmklProblem problem(double lambda) const {
    return joint_problem(prepared, prepared.set.C, lambda, 1);
  }
};

// Of the first problem from the seed on that has three tasks at least.
KernelCase kernel_case(std::uint64_t seed) {
  RandomProblem random = random_problem(seed, Oddity::none);
  while (random.data.tasks.size() < 3) random = random_problem(seed += 100, Oddity::none);
  random.settings.norm = 1;
  random.settings.C = 1;
  KernelCase out;
  out.prepared = prepare(random.data, random.settings, {}, 1);
  out.settings.gap_tolerance = tolerance;
  out.settings.max_outer_steps = 500;
  out.settings.threads = 1;
  return out;
}

constexpr double inf = std::numeric_limits<double>::infinity();

TEST(Equalities, One_MainWithoutSharingIsEveryTaskAlone) {
  for (const std::uint64_t seed : {3, 4, 5}) {
    const KernelCase c = kernel_case(seed);
    double alone = 0;
    for (std::size_t t = 0; t < c.prepared.set.y.size(); ++t) {
      const std::vector<TaskGrams> grams = {c.prepared.grams.tasks[t]};
      const std::vector<Vector> y = {c.prepared.set.y[t]}, C = {c.prepared.set.C[t]};
      const MtmklProblem single{grams, y, C, 0, {}, WeightSet(1)};
      alone += fit_tang(single, 1, c.settings).primal;
    }
    expect_same_value("1  main at lambda 0; sum over single tasks",
                      fit(c.problem(0), c.settings).primal, alone,
                      tolerance * static_cast<double>(c.prepared.set.y.size()));
  }
}

TEST(Equalities, Two_MainBeyondLambdaMaxIsOneKernelForAll) {
  for (const std::uint64_t seed : {3, 4, 5}) {
    const KernelCase c = kernel_case(seed);
    const Fit common = fit(c.problem(inf), c.settings);
    const double largest = lambda_max(c.problem(inf), common);
    const Fit fused = fit(c.problem(1.01 * largest + 1e-9), c.settings);
    expect_same_value("2  main beyond lambda_max; mtl", fused.primal, common.primal);
    EXPECT_EQ(fused.groups.size(), 1);
  }
}

TEST(Equalities, Three_TangAndParetoAtTheirEnds) {
  for (const std::uint64_t seed : {3, 4, 5}) {
    const KernelCase c = kernel_case(seed);
    const double stl = fit(c.problem(0), c.settings).primal;
    const double mtl = fit(c.problem(inf), c.settings).primal;
    expect_same_value("3  tang at share 0; stl", fit_tang(c.problem(0), 0, c.settings).primal, stl);
    expect_same_value("3  tang at share 1; mtl", fit_tang(c.problem(0), 1, c.settings).primal, mtl);
    expect_same_value("3  pareto at power 1; mtl", fit_pareto(c.problem(0), 1, c.settings).primal,
                      mtl);
  }
}

TEST(Equalities, Four_CmtlOfOneClusterIsFlexclusFused) {
  for (const Loss loss : losses) {
    const LinearProblem problem = random_linear(7, 5, 30, 6, loss);
    const double lambda2 = 0.03, lambda3 = 0.2;
    const CmtlParameters one{1, 1, lambda2 * lambda3 / (lambda2 + lambda3), 0.1, lambda3, true, 1};
    const LinearFit cmtl = fit_cmtl(problem, one, exact);
    const LinearFit flexclus = fit_flexclus(problem, {100, lambda2, lambda3}, exact);
    expect_same_value("4  cmtl of one cluster; flexclus at lambda1 = 100", cmtl.primal,
                      flexclus.primal);
    expect_same_weights("4", cmtl.W, flexclus.W, weight_bound(cmtl, flexclus, one.mean));
    EXPECT_EQ(flexclus.clusters.size(), 1);
  }
}

// With a ridge rho on P and Q the mean has the factor of `mean`, the deviations that of `within`; rho -> 0 gives 0 and
// lambda1 lambda2 / (lambda1 + lambda2).
TEST(Equalities, Five_CmtlOfOneClusterIsCoclusWithoutRank) {
  for (const Loss loss : losses) {
    const LinearProblem problem = random_linear(8, 4, 30, 5, loss);
    const double lambda1 = 0.3, lambda2 = 0.1, h = 0.01 / 2;  // half the ridge
    const double mean = h * (lambda2 + h) / (lambda2 + 2 * h);
    const double within = (lambda1 + h) * (lambda2 + h) / (lambda1 + lambda2 + 2 * h);
    const LinearFit cmtl = fit_cmtl(problem, {1, 1, mean, mean, within, true, 1}, exact);
    const LinearSettings close{1e-8, 5000, 1};
    const LinearFit coclus = fit_coclus(problem, {0, lambda1, lambda2, 2 * h, 1}, close);
    expect_same_value("5  cmtl of one cluster; coclus of rank 0", coclus.primal, cmtl.primal, 1e-7);
    expect_same_weights("5", coclus.W, cmtl.W, 1e-4);
  }
}

TEST(Equalities, Six_CmtlOfAsManyClustersAsTasksIsRidge) {
  for (const Loss loss : losses) {
    const LinearProblem problem = random_linear(9, 4, 25, 5, loss);
    const LinearFit cmtl = fit_cmtl(problem, {1, 4, 0.05, 0.05, 3, true, 1}, exact);
    const LinearFit ridge = fit_ridge(problem, 0.05);
    expect_same_value("6  cmtl of T clusters; ridge", cmtl.primal, ridge.primal);
    expect_same_weights("6", cmtl.W, ridge.W, weight_bound(cmtl, ridge, 0.05));
  }
}

// alpha = 1e-9, beta = 1, one direction: the box holds every matrix of trace 1 + (T - 1) alpha with eigenvalues above alpha.
TEST(Equalities, Seven_CmtlWithoutBoundsIsWhomOfOneGroup) {
  for (const Loss loss : losses) {
    const LinearProblem problem = random_linear(10, 4, 25, 6, loss);
    const double lambda = 0.05, alpha = 1e-9;
    const LinearFit cmtl = fit_cmtl(problem, {lambda, 1, 1, 1, 1 / alpha, false, 1}, exact);
    const LinearFit whom = fit_whom(problem, {lambda / (1 + 3 * alpha), 1, 1, 1}, exact);
    expect_same_value("7  cmtl without bounds, not centred; whom of one group", cmtl.primal,
                      whom.primal, 1e-7);
  }
}

TEST(Equalities, Eight_WhomOfSingleTasksIsRidge) {
  for (const Loss loss : losses) {
    const LinearProblem problem = random_linear(11, 4, 25, 5, loss);
    const LinearFit whom = fit_whom(problem, {0.1, 4, 3, 1}, exact);
    const LinearFit ridge = fit_ridge(problem, 0.1);
    expect_same_value("8  whom of T groups; ridge", whom.primal, ridge.primal);
    expect_same_weights("8", whom.W, ridge.W, weight_bound(whom, ridge, 0.1));
  }
}

// All levels at once, one below the other in x, the biases in its last column: accelerated proximal gradient.
double stacked_levels(const LinearProblem& problem, const std::vector<double>& lambda, double ridge,
                      Matrix& sum) {
  const Index T = problem.T(), d = problem.d(), H = std::ssize(lambda);
  const auto level = [&](const Matrix& x, Index h) { return x.block(h * T, 0, T, d); };
  const auto smooth = [&](const Matrix& x, Matrix& gradient) {
    Matrix W = level(x, 0);
    for (Index h = 1; h < H; ++h) W += level(x, h);
    gradient = Matrix::Zero(x.rows(), x.cols());
    double value = ridge / 2 * W.squaredNorm();
    for (Index t = 0; t < T; ++t) {
      const auto k = static_cast<std::size_t>(t);
      Vector g = ridge * W.row(t).transpose();
      for (Index i = 0; i < problem.y[k].size(); ++i) {
        const double y = problem.y[k][i], c = problem.c[k][i];
        const double margin = y * (problem.X[k].row(i).dot(W.row(t)) + x(t, d));
        value += c * loss_value(problem.loss, margin);
        const double pull = c * y * loss_pull(problem.loss, margin);
        g -= pull * problem.X[k].row(i).transpose();
        gradient(t, d) -= pull;
      }
      for (Index h = 0; h < H; ++h) gradient.block(h * T + t, 0, 1, d) = g.transpose();
    }
    return value;
  };
  const auto prox = [&](const Matrix& z, double step) {
    Matrix x = z;
    for (Index h = 0; h < H; ++h)
      x.block(h * T, 0, T, d) =
          fuse_vectors(level(z, h), step * lambda[static_cast<std::size_t>(h)], 1e-13).U;
    return x;
  };
  const auto penalty = [&](const Matrix& x) {
    double value = 0;
    for (Index h = 0; h < H; ++h)
      value += lambda[static_cast<std::size_t>(h)] *
               pairwise_distance(complete_graph(T), Matrix(level(x, h)));
    return value;
  };
  const Accelerated found =
      minimise_accelerated({smooth, prox, penalty}, Matrix::Zero(H * T, d + 1),
                           {.tolerance = 1e-8, .max_iterations = 3000});
  EXPECT_TRUE(found.converged);
  sum = level(found.x, 0);
  for (Index h = 1; h < H; ++h) sum += level(found.x, h);
  return found.objective;
}

TEST(Equalities, Nine_LevelsOfMetagAreTheirSmallest) {
  for (const Loss loss : losses) {
    const LinearProblem problem = random_linear(12, 4, 20, 3, loss);
    Matrix levels;
    const double value = stacked_levels(problem, {0.04, 0.02, 0.01}, 0.1, levels);
    const LinearFit one = fit_metag(problem, {0.01, 0.1, 1, 2}, exact);
    expect_same_value("9  metag of three levels, stacked; of the smallest alone", value, one.primal,
                      1e-8);
    expect_same_weights("9", levels, one.W, 1e-5);
    const LinearFit named = fit_metag(problem, {0.04, 0.1, 3, 2}, exact);
    expect_same_value("9  metag of three levels by name; stacked", named.primal, value, 1e-8);
  }
}

TEST(Equalities, Ten_VectorFusionOfNumbersIsScalarFusion) {
  Random random(13);
  double largest = 0;
  for (int k = 0; k < 50; ++k) {
    Matrix z(2 + random.below(10), 1);
    for (double& v : z.reshaped()) v = random.normal();
    const double lambda = random.uniform(0, 0.3);
    const VectorFusion vectors = fuse_vectors(z, lambda, 1e-13);
    const ScalarFusion scalars = fuse_scalars(z.col(0), lambda);
    largest = std::max(largest, (vectors.U.col(0) - scalars.x).norm());
  }
  std::printf("10 vector fusion in one dimension; scalar fusion: largest difference %.1e\n",
              largest);
  EXPECT_LE(largest, 1e-6);  // |U - U*|^2 <= 2 gap
}

TEST(Equalities, Eleven_FlexclusWithoutFusionIsRidge) {
  for (const Loss loss : losses) {
    const LinearProblem problem = random_linear(14, 4, 25, 5, loss);
    const double lambda2 = 0.2, lambda3 = 0.3, kappa = lambda2 * lambda3 / (lambda2 + lambda3);
    const LinearFit flexclus = fit_flexclus(problem, {1e-12, lambda2, lambda3}, exact);
    const LinearFit ridge = fit_ridge(problem, kappa);
    expect_same_value("11 flexclus at lambda1 = 1e-12; ridge", flexclus.primal, ridge.primal);
    expect_same_weights("11", flexclus.W, ridge.W, weight_bound(flexclus, ridge, kappa));
  }
}

TEST(Equalities, Twelve_ASingleTask) {
  for (const Loss loss : losses) {
    const LinearProblem problem = random_linear(15, 1, 30, 5, loss);
    const double of_tenth = fit_ridge(problem, 0.1).primal;
    expect_same_value("12 cmtl; ridge",
                      fit_cmtl(problem, {0.5, 1, 0.2, 0.2, 3, true, 1}, exact).primal, of_tenth);
    expect_same_value("12 whom; ridge", fit_whom(problem, {0.1, 1, 1, 1}, exact).primal, of_tenth);
    expect_same_value("12 flexclus; ridge", fit_flexclus(problem, {5, 0.2, 0.2}, exact).primal,
                      of_tenth);
    expect_same_value("12 metag; ridge", fit_metag(problem, {5, 0.2, 1, 2}, exact).primal,
                      of_tenth);
    // P alone is free of lambda1, Q pays lambda2 as well: all of W in P costs ridge/2, shared with Q a little less.
    const double lambda2 = 0.3, h = 0.1;
    expect_same_value("12 coclus; ridge",
                      fit_coclus(problem, {0, 7, lambda2, 2 * h, 1}, {1e-8, 5000, 1}).primal,
                      fit_ridge(problem, h * (lambda2 + h) / (lambda2 + 2 * h)).primal, 1e-7);
  }
  const KernelCase c = kernel_case(3);
  const std::vector<TaskGrams> grams = {c.prepared.grams.tasks[0]};
  const std::vector<Vector> y = {c.prepared.set.y[0]}, C = {c.prepared.set.C[0]};
  const MtmklProblem single{grams, y, C, 0, {}, WeightSet(1)};
  const double stl = fit(single, c.settings).primal;
  expect_same_value("12 tang; stl", fit_tang(single, 0.4, c.settings).primal, stl);
  expect_same_value("12 pareto; stl", fit_pareto(single, 3, c.settings).primal, stl);
}

TEST(Equalities, Thirteen_IdenticalTasksGetIdenticalModels) {
  for (const Loss loss : losses) {
    LinearProblem problem = random_linear(16, 4, 30, 5, loss);
    for (std::size_t t = 1; t < 4; ++t) {
      problem.X[t] = problem.X[0];
      problem.y[t] = problem.y[0];
    }
    const auto expect_identical = [&](const char* what, const LinearFit& fit, double kappa,
                                      bool grouped) {
      double largest = 0;
      for (Index t = 1; t < 4; ++t)
        largest = std::max(largest, (fit.W.row(t) - fit.W.row(0)).norm());
      std::printf("%-58s tasks differ by %.1e\n", what, largest);
      EXPECT_LE(largest, 2 * weight_bound(fit, fit, kappa)) << what;
      if (grouped) {
        EXPECT_EQ(fit.clusters.size(), 1) << what;
      }
    };
    expect_identical("13 cmtl", fit_cmtl(problem, {0.1, 2, 1, 1, 10, true, 1}, exact), 0.1, false);
    expect_identical("13 flexclus", fit_flexclus(problem, {0.01, 0.1, 0.1}, exact), 0.05, true);
    expect_identical("13 metag", fit_metag(problem, {0.01, 0.1, 1, 2}, exact), 0.05, true);
    expect_identical("13 whom of one group", fit_whom(problem, {0.1, 1, 1, 1}, exact), 0.1, true);
  }
  const KernelCase c = kernel_case(6);
  const std::vector<TaskGrams> grams(3, c.prepared.grams.tasks[0]);
  const std::vector<Vector> y(3, c.prepared.set.y[0]), C(3, c.prepared.set.C[0]);
  const TaskGraph graph = complete_graph(3);
  const Fit main = fit({grams, y, C, 0.1, graph, WeightSet(1)}, c.settings);
  const double spread = (main.theta.rowwise() - main.theta.row(0)).norm();
  std::printf("13 main: weights of kernels differ by %.1e\n", spread);
  EXPECT_EQ(main.groups.size(), 1);
  EXPECT_EQ(spread, 0);
  for (const double share : {0.0, 0.5, 1.0}) {
    const Fit tang = fit_tang({grams, y, C, 0, graph, WeightSet(1)}, share, c.settings);
    const double apart = (tang.theta.rowwise() - tang.theta.row(0)).norm();
    std::printf("13 tang at share %.1f: weights of kernels differ by %.1e\n", share, apart);
    EXPECT_LE(apart, 1e-3);
    EXPECT_NEAR(tang.task_objective.maxCoeff(), tang.task_objective.minCoeff(),
                tolerance * 3 * std::max(1.0, tang.primal));
  }
}

}  // namespace
}  // namespace coterie
