#include "coterie/mtmkl/few_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "coterie/math/random.hpp"
#include "coterie/mtmkl/smoothed_newton.hpp"

namespace coterie {
namespace {

struct Roots {
  std::vector<Eigen::MatrixXd> R;  // [task]
  Matrix c;
  TaskGraph graph;
  Vector kappa;
};

Roots random_roots(Random& random, Index T, Index M, Index rank, double kappa) {
  Roots out;
  out.c.resize(T, M);
  for (double& x : out.c.reshaped()) x = random.normal();
  for (Index t = 0; t < T; ++t) {
    out.R.emplace_back(rank, M);
    for (double& x : out.R.back().reshaped()) x = random.normal();
  }
  out.graph = complete_graph(T);
  out.kappa = Vector::Constant(std::ssize(out.graph), kappa);
  return out;
}

// The whole problem, with all its matrices, says how far the answer is from its optimum.
TEST(FewKernels, TheGapIsThatOfTheWholeProblem) {
  Random random(3);
  const WeightSet simplex(1);
  for (int i = 0; i < 12; ++i) {
    SCOPED_TRACE(i);
    const Index T = 1 + random.below(5), M = 100 + random.below(100);
    const double mu = i % 3 == 0 ? 0.1 : 1e-6;
    const Roots roots = random_roots(random, T, M, i % 4 == 0 ? 0 : 1 + random.below(30),
                                     std::pow(10, random.uniform(-2, 1)));
    RootedModel model{roots.c, {}, mu, roots.graph, roots.kappa, simplex};
    for (const Eigen::MatrixXd& R : roots.R) model.roots.push_back({&R});
    std::vector<Matrix> B;
    for (const Eigen::MatrixXd& R : roots.R)
      B.emplace_back(R.transpose() * R + mu * Matrix::Identity(M, M));
    for (Index t = 0; t < T; ++t) {
      const Vector x = roots.c.row(0).transpose();
      EXPECT_LE((model.times_B(t, x) - B[static_cast<std::size_t>(t)] * x).norm(),
                1e-10 * B[static_cast<std::size_t>(t)].norm() * x.norm());
      const std::vector<Index> some = {3, 50, 7};
      EXPECT_LE((model.B(t, some) - B[static_cast<std::size_t>(t)](some, some)).norm(),
                1e-10 * B[static_cast<std::size_t>(t)].norm());
    }
    const ThetaProblem whole{roots.c, B, roots.graph, roots.kappa, simplex};
    ThetaState state;
    state.theta = Matrix::Constant(T, M, 1 / static_cast<double>(M));
    const ThetaResult found = solve_on_few_kernels(model, state, {.gap_tolerance = 1e-7});
    EXPECT_LE(found.gap, 1e-7);
    EXPECT_NEAR(model_gap(whole, found.theta, found.nu), found.gap, 1e-9);
    for (Index t = 0; t < T; ++t)
      EXPECT_TRUE(simplex.contains(found.theta.row(t).transpose(), 1e-12));
    for (Index k = 0; k < found.nu.rows(); ++k)
      EXPECT_LE(found.nu.row(k).norm(), roots.kappa[k] * (1 + 1e-12));
    // From where it ended, nothing is left to do.
    EXPECT_LE(solve_on_few_kernels(model, state, {.gap_tolerance = 1e-7}).gap, 1e-7);
  }
}

// A kernel that only one task of a group wants, and not enough to leave the group: it must not be overlooked.
TEST(FewKernels, KernelsOutsideTheSetJoinWhereATaskGains) {
  const WeightSet simplex(1);
  constexpr Index M = 200;
  Matrix c = Matrix::Zero(2, M);
  for (Index m = 0; m < M; ++m) c.row(0)[m] = c.row(1)[m] = 1 + 0.01 * static_cast<double>(m);
  c(0, 150) = -5;  // far beyond the first eight of task 1, which has no use for it
  const TaskGraph graph = complete_graph(2);
  const Vector kappa = Vector::Constant(1, 1e-3);
  const RootedModel model{c, {{}, {}}, 1e-3, graph, kappa, simplex};
  ThetaState state;
  state.theta = Matrix::Zero(2, M);
  state.theta.col(0).setOnes();
  const ThetaResult found = solve_on_few_kernels(model, state, {.gap_tolerance = 1e-9});
  EXPECT_LE(found.gap, 1e-9);
  EXPECT_NEAR(found.theta(0, 150), 1, 1e-6);
  EXPECT_NEAR(found.theta(1, 0), 1, 1e-2);
}

}  // namespace
}  // namespace coterie
