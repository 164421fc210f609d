#include "coterie/mtmkl/theta_step.hpp"

#include <gtest/gtest.h>

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
  const Matrix uniform = Matrix::Constant(T, M, 1.0 / static_cast<double>(M));
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

}  // namespace
}  // namespace coterie
