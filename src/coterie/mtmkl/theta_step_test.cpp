#include "coterie/mtmkl/theta_step.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

struct Model {
  Matrix c;
  std::vector<Matrix> B;
  TaskGraph graph;
  Vector kappa;
};

Model random_model(Random& random, Index T, Index M, double kappa, double curvature) {
  Model model;
  model.c.resize(T, M);
  for (double& x : model.c.reshaped()) x = random.normal();
  for (Index t = 0; t < T; ++t) {
    Matrix half(M, M / 2 + 1);  // singular on purpose
    for (double& x : half.reshaped()) x = random.normal();
    model.B.push_back(curvature * half * half.transpose());
  }
  model.graph = complete_graph(T);
  model.kappa.resize(std::ssize(model.graph));
  for (double& k : model.kappa) k = kappa * random.uniform(0.5, 1.5);
  return model;
}

ThetaState start(const Model& model) {
  const Index T = model.c.rows();
  const Index M = model.c.cols();
  const Matrix uniform = Matrix::Constant(T, M, 1.0 / static_cast<double>(M));  // in D for every p
  return {uniform, uniform, Matrix::Zero(T, M), Matrix::Zero(std::ssize(model.graph), M), 0};
}

double value(const Model& model, const Matrix& theta) {
  double sum = model.c.cwiseProduct(theta).sum();
  for (Index t = 0; t < theta.rows(); ++t)
    sum += 0.5 * theta.row(t).dot(theta.row(t) * model.B[static_cast<std::size_t>(t)]);
  for (std::size_t i = 0; i < model.graph.size(); ++i)
    sum += model.kappa[static_cast<Index>(i)] *
           (theta.row(model.graph[i].t) - theta.row(model.graph[i].s)).norm();
  return sum;
}

TEST(ThetaStep, NoFeasiblePointIsBetterThanTheGapAllows) {
  Random random(1);
  for (const double p : {1.0, 2.0}) {
    const WeightSet weights(p);
    for (int i = 0; i < 40; ++i) {
      SCOPED_TRACE(i);
      const Model model = random_model(random, 1 + random.below(6), 2 + random.below(6),
                                       std::pow(10, random.uniform(-2, 1)),
                                       i % 4 == 0 ? 0 : std::pow(10, random.uniform(-2, 2)));
      ThetaState state = start(model);
      const ThetaResult result = solve_theta({model.c, model.B, model.graph, model.kappa, weights},
                                             state, {.gap_tolerance = 1e-7});
      EXPECT_LE(result.gap, 1e-7);
      for (Index t = 0; t < result.theta.rows(); ++t)
        EXPECT_TRUE(weights.contains(result.theta.row(t).transpose(), 1e-12));
      for (Index k = 0; k < result.nu.rows(); ++k)
        EXPECT_LE(result.nu.row(k).norm(), model.kappa[k] * (1 + 1e-12));
      const double best = value(model, result.theta);
      for (int trial = 0; trial < 300; ++trial) {  // around the answer and far from it
        Matrix other = result.theta;
        for (double& x : other.reshaped())
          x += std::pow(10, random.uniform(-4, 0)) * random.normal();
        for (Index t = 0; t < other.rows(); ++t)
          other.row(t) = weights.project(other.row(t).transpose());
        EXPECT_GE(value(model, other), best - 1e-7);
      }
    }
  }
}

TEST(ThetaStep, GroupsAreEqualBitForBitAndGrowWithKappa) {
  std::size_t groups_before = 9;
  for (const double kappa : {1e-3, 0.05, 0.2, 5.0}) {
    Random same(7);
    const Model model = random_model(same, 8, 4, kappa, 1);
    ThetaState state = start(model);
    const ThetaResult result = solve_theta(
        {model.c, model.B, model.graph, model.kappa, WeightSet(1)}, state, {.gap_tolerance = 1e-9});
    for (const std::vector<Index>& group : result.groups)
      for (const Index t : group) EXPECT_EQ(result.theta.row(t), result.theta.row(group.front()));
    EXPECT_LE(result.groups.size(), groups_before);
    groups_before = result.groups.size();
  }
  EXPECT_EQ(groups_before, 1U);
}

// About half of the pairs, weights over four orders of magnitude, some zero.
void thin_out(Random& random, Model& model) {
  TaskGraph graph;
  for (const Edge& edge : model.graph)
    if (random.uniform() < 0.5) graph.push_back(edge);
  model.graph = graph;
  model.kappa.resize(std::ssize(graph));
  for (double& k : model.kappa) k = random.below(5) == 0 ? 0 : std::pow(10, random.uniform(-3, 1));
}

// The gap (29) by its definition, one number at a time.
double gap_by_hand(const Model& model, const WeightSet& weights, const ThetaResult& result) {
  double gap = 0;
  Matrix pull = Matrix::Zero(model.c.rows(), model.c.cols());
  for (std::size_t i = 0; i < model.graph.size(); ++i) {
    const auto [t, s, weight] = model.graph[i];
    const Vector nu = result.nu.row(static_cast<Index>(i));
    const Vector d = result.theta.row(t) - result.theta.row(s);
    gap += model.kappa[static_cast<Index>(i)] * d.norm() - nu.dot(d);
    pull.row(t) += nu;
    pull.row(s) -= nu;
  }
  for (Index t = 0; t < model.c.rows(); ++t) {
    const Vector theta = result.theta.row(t);
    const Vector r = model.c.row(t).transpose() + model.B[static_cast<std::size_t>(t)] * theta +
                     pull.row(t).transpose();
    gap += r.dot(theta) - weights.smallest(r);
  }
  return gap;
}

// Everything that a result promises.
void expect_valid(const Model& model, const WeightSet& weights, const ThetaResult& result) {
  for (Index t = 0; t < result.theta.rows(); ++t)
    EXPECT_TRUE(weights.contains(result.theta.row(t).transpose(), 1e-12));
  for (Index k = 0; k < result.nu.rows(); ++k)
    EXPECT_LE(result.nu.row(k).norm(), model.kappa[k] * (1 + 1e-12));
  const double by_hand = gap_by_hand(model, weights, result);
  EXPECT_NEAR(result.gap, by_hand, 1e-10 * (1 + std::abs(value(model, result.theta))));
  Index members = 0;
  for (const std::vector<Index>& group : result.groups) {
    members += std::ssize(group);
    for (const Index t : group) EXPECT_EQ(result.theta.row(t), result.theta.row(group.front()));
  }
  EXPECT_EQ(members, result.theta.rows());
}

TEST(ThetaStep, EveryNormGraphAndCurvatureReachesTheGap) {
  Random random(2);
  for (const double p : {1.0, 2.0, 1.5, 4.0, std::numeric_limits<double>::infinity()}) {
    const WeightSet weights(p);
    for (int i = 0; i < 60; ++i) {
      SCOPED_TRACE(testing::Message() << "p " << p << ", model " << i);
      Model model = random_model(random, 1 + random.below(12), 1 + random.below(7),
                                 std::pow(10, random.uniform(-3, 2)),
                                 i % 5 == 0 ? 0 : std::pow(10, random.uniform(-3, 3)));
      if (i % 2 == 1) thin_out(random, model);
      ThetaState state = start(model);
      const double tolerance = 1e-7 * (1 + std::abs(value(model, state.theta)));
      const ThetaProblem problem{model.c, model.B, model.graph, model.kappa, weights};
      const ThetaResult rough =
          solve_theta(problem, state, {.gap_tolerance = 1e5 * tolerance, .groups = false});
      expect_valid(model, weights, rough);
      const ThetaResult result = solve_theta(problem, state, {.gap_tolerance = tolerance});
      expect_valid(model, weights, result);
      EXPECT_LE(result.gap, tolerance);
    }
  }
}

TEST(ThetaStep, NewtonNeedsNoHelpOnCurvedModels) {
  Random random(3);
  int helped = 0;
  for (int i = 0; i < 100; ++i) {
    Model model =
        random_model(random, 2 + random.below(15), 2 + random.below(7),
                     std::pow(10, random.uniform(-2, 0)), std::pow(10, random.uniform(-1, 1)));
    ThetaState state = start(model);
    const ThetaResult result = solve_theta(
        {model.c, model.B, model.graph, model.kappa, WeightSet(1)}, state, {.gap_tolerance = 1e-8});
    EXPECT_LE(result.gap, 1e-8);
    helped += result.iterations > 80;
  }
  EXPECT_LE(helped, 2);
}

// An SVM whose free support vectors hardly determine it has a curvature of 1e8 in few directions. Weights cut at zero there used to undo every Newton step.
TEST(ThetaStep, StiffDirectionsNeedNoMoreSteps) {
  Random random(8);
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    const Index T = 2 + random.below(12);
    const Index M = 8 + random.below(20);
    Model model = random_model(random, T, M, std::pow(10, random.uniform(-2, 0)), 0);
    for (Index t = 0; t < T; ++t) {
      Matrix& B = model.B[static_cast<std::size_t>(t)];
      B = 1e-3 * Matrix::Identity(M, M);
      for (int k = 0; k < 3; ++k) {
        Vector u(M);
        for (double& x : u) x = random.normal();
        B += (random.below(3) == 0 ? 1e7 : 10.0) * u * u.transpose();
      }
      model.c.row(t) -= B.rowwise().mean();  // the stiff directions are content with equal weights
    }
    ThetaState state = start(model);
    const WeightSet weights(1);
    const ThetaResult result = solve_theta({model.c, model.B, model.graph, model.kappa, weights},
                                           state, {.gap_tolerance = 1e-4});
    EXPECT_LE(result.gap, 1e-4);
    EXPECT_LE(result.iterations, 60);
    for (Index t = 0; t < T; ++t)
      EXPECT_TRUE(weights.contains(result.theta.row(t).transpose(), 1e-12));
  }
}

// For p just above 1 the ball is nearly the simplex: most weights are nearly, but not quite, zero, and its boundary bends infinitely where they are.
TEST(ThetaStep, BallsNearTheSimplexNeedFewSteps) {
  for (const double p : {1.0000000000000002, 1.000001, 1.0001, 1.001, 1.01, 1.1, 1.5}) {
    const WeightSet weights(p);
    Random random(9);
    for (int i = 0; i < 30; ++i) {
      SCOPED_TRACE(testing::Message() << "p " << p << ", model " << i);
      const Model model =
          random_model(random, 1 + random.below(8), 2 + random.below(9),
                       std::pow(10, random.uniform(-2, 0)), std::pow(10, random.uniform(-1, 1)));
      ThetaState state = start(model);
      for (Index t = 0; t < model.c.rows(); ++t)
        state.theta.row(t) = weights.uniform(model.c.cols()).transpose();
      const ThetaResult result = solve_theta({model.c, model.B, model.graph, model.kappa, weights},
                                             state, {.gap_tolerance = 1e-4, .groups = false});
      expect_valid(model, weights, result);
      EXPECT_LE(result.gap, 1e-4);
      EXPECT_LE(result.iterations, 80);
    }
  }
}

TEST(ThetaStep, TheSameModelGivesTheSameBits) {
  Random random(4);
  const Model model = random_model(random, 20, 5, 0.05, 1);
  const ThetaProblem problem{model.c, model.B, model.graph, model.kappa, WeightSet(1)};
  ThetaState first = start(model);
  ThetaState second = start(model);
  const ThetaResult a = solve_theta(problem, first, {.gap_tolerance = 1e-9});
  const ThetaResult b = solve_theta(problem, second, {.gap_tolerance = 1e-9});
  EXPECT_EQ(a.theta, b.theta);
  EXPECT_EQ(a.nu, b.nu);
}

TEST(ThetaStep, StopsWhenTold) {
  Random random(5);
  const Model model = random_model(random, 10, 5, 0.1, 1);
  ThetaState state = start(model);
  int asked = 0;
  const ThetaResult result =
      solve_theta({model.c, model.B, model.graph, model.kappa, WeightSet(1)}, state,
                  {.gap_tolerance = 1e-12, .keep_going = [&] { return ++asked < 3; }});
  EXPECT_LE(asked, 4);
  expect_valid(model, WeightSet(1), result);
}

// Hundreds of unknowns: conjugate gradients ask too, and every question after the answer no is one too many but for those on the way out.
TEST(ThetaStep, StopsWithinALinearSystem) {
  Random random(10);
  const Model model = random_model(random, 30, 30, 0.02, 1);
  for (const int answers : {0, 1, 5, 20}) {
    ThetaState state = start(model);
    int asked = 0;
    const ThetaResult result =
        solve_theta({model.c, model.B, model.graph, model.kappa, WeightSet(1)}, state,
                    {.gap_tolerance = 1e-12, .keep_going = [&] { return asked++ < answers; }});
    EXPECT_LE(asked, answers + 8);
    expect_valid(model, WeightSet(1), result);
  }
}

// c_t is one of four plans plus noise of length 0.06. The pull of a plan's other 49 tasks is 0.15: no task leaves it. That of the other 150 is 0.45,
// the plans differ by 4.
TEST(ThetaStep, FindsFourGroupsAmongTwoHundredTasks) {
  Random random(6);
  const Index T = 200;
  const Index M = 8;
  Model model = random_model(random, T, M, 0.003, 0.01);
  for (Index t = 0; t < T; ++t) {
    for (Index m = 0; m < M; ++m) model.c(t, m) = 0.02 * random.normal();
    model.c(t, 2 * (t % 4)) -= 3;
    model.c(t, 2 * (t % 4) + 1) -= 2.5;
    model.B[static_cast<std::size_t>(t)] += Matrix::Identity(M, M);
  }
  const WeightSet weights(1);
  ThetaState state = start(model);
  const ThetaResult result = solve_theta({model.c, model.B, model.graph, model.kappa, weights},
                                         state, {.gap_tolerance = 1e-6});
  EXPECT_LE(result.gap, 1e-6);
  expect_valid(model, weights, result);
  ASSERT_EQ(result.groups.size(), 4U);
  for (std::size_t g = 0; g < 4; ++g)
    for (const Index t : result.groups[g]) EXPECT_EQ(t % 4, static_cast<Index>(g));
}

}  // namespace
}  // namespace coterie
