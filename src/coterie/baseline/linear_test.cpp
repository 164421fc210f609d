#include "coterie/baseline/linear.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "coterie/baseline/random_linear.hpp"
#include "coterie/baseline/ridge.hpp"
#include "coterie/math/accelerated.hpp"
#include "coterie/math/anderson.hpp"
#include "coterie/math/dense.hpp"

namespace coterie {
namespace {

constexpr Loss losses[] = {Loss::squared_hinge, Loss::logistic, Loss::square};

// lambda sum_j ||column j of W|| + kappa ||W||^2: kinks, for the solver.
class ColumnPenalty : public Penalty {
 public:
  ColumnPenalty(double lambda, double kappa) : lambda_(lambda), kappa_(kappa) {}
  double value(const Matrix& W) override {
    return lambda_ * W.colwise().norm().sum() + kappa_ * W.squaredNorm();
  }
  Matrix prox(const Matrix& Z, double step, double) override {
    Matrix W = Z;
    for (Index j = 0; j < W.cols(); ++j) {
      const double length = W.col(j).norm();
      W.col(j) *=
          length <= step * lambda_ ? 0 : (1 - step * lambda_ / length) / (1 + 2 * step * kappa_);
    }
    return W;
  }
  double conjugate(const Matrix& Z, double) override {
    double sum = 0;
    for (Index j = 0; j < Z.cols(); ++j)
      sum += std::pow(std::max(0.0, Z.col(j).norm() - lambda_), 2) / (4 * kappa_);
    return sum;
  }
  PenaltyProof prove(const Matrix& W, const Matrix& Z) override {
    const double u = unit_roundoff, sums = static_cast<double>(W.size() + 8) * u;
    const double size = Z.squaredNorm() / (4 * kappa_);  // a column beyond lambda is off by u ||z||
    return {{value(W), sums * value(W)}, {conjugate(Z, 0), 4 * sums * size}, 1 / (4 * kappa_)};
  }

 private:
  double lambda_, kappa_;
};

// The optimum by another algorithm: accelerated gradient steps on (W, b), b as the last column.
double slow_optimum(const LinearProblem& problem, Penalty& penalty) {
  const Index T = problem.T(), d = problem.d();
  const auto smooth = [&](const Matrix& x, Matrix& gradient) {
    double sum = 0;
    gradient = Matrix::Zero(T, d + 1);
    for (Index t = 0; t < T; ++t) {
      const std::size_t k = static_cast<std::size_t>(t);
      for (Index i = 0; i < problem.y[k].size(); ++i) {
        double f = x(t, d);
        for (Index j = 0; j < d; ++j) f += x(t, j) * problem.X[k](i, j);
        const double y = problem.y[k][i], c = problem.c[k][i];
        sum += c * loss_value(problem.loss, y * f);
        const double pull = c * y * loss_pull(problem.loss, y * f);
        for (Index j = 0; j < d; ++j) gradient(t, j) -= pull * problem.X[k](i, j);
        gradient(t, d) -= pull;
      }
    }
    return sum;
  };
  const auto prox = [&](const Matrix& z, double step) {
    Matrix x = z;
    x.leftCols(d) = penalty.prox(z.leftCols(d), step, 1e-14);
    return x;
  };
  const auto value = [&](const Matrix& x) { return penalty.value(x.leftCols(d)); };
  return minimise_accelerated({smooth, prox, value}, Matrix::Zero(T, d + 1),
                              {.tolerance = 1e-8, .max_iterations = 20000, .monotone = true})
      .objective;
}

TEST(Loss, PullIsMinusTheSlopeAndCurvatureThatOfThePull) {
  for (const Loss loss : losses) {
    EXPECT_EQ(loss_from(to_string(loss)), loss);
    for (const double m : {-30.0, -2.3, -0.4, 0.3, 0.99, 1.01, 1.7, 30.0}) {
      const double h = 1e-6;
      EXPECT_NEAR(loss_pull(loss, m),
                  -(loss_value(loss, m + h) - loss_value(loss, m - h)) / (2 * h), 1e-7);
      EXPECT_NEAR(loss_curvature(loss, m),
                  -(loss_pull(loss, m + h) - loss_pull(loss, m - h)) / (2 * h), 1e-7);
      // Fenchel's equality: phi(m) + phi*(-s) = -m s at s = -phi'(m), and >= elsewhere.
      const double s = loss_pull(loss, m);
      EXPECT_NEAR(loss_value(loss, m) + loss_conjugate(loss, s), -m * s, 1e-9);
      for (const double other : {-0.2, 0.0, 0.1, 0.8, 1.0, 1.6})
        EXPECT_GE(loss_value(loss, m) + loss_conjugate(loss, other), -m * other - 1e-12);
    }
  }
  EXPECT_FALSE(loss_from("hinge").has_value());
  EXPECT_NEAR(loss_value(Loss::logistic, -1000), 1000, 1e-12);
  EXPECT_EQ(loss_value(Loss::logistic, 1000), 0);
}

TEST(Linear, RidgeOfTheSquareLossIsAClosedForm) {
  LinearProblem problem = random_linear(1, 3, 30, 5, Loss::square);
  const double kappa = 0.05;
  RidgePenalty penalty(kappa);
  const LinearFit fit = minimise(problem, penalty, {.gap_tolerance = 1e-12});
  EXPECT_EQ(fit.status, Status::converged);
  EXPECT_EQ(fit.steps, 1);
  for (Index t = 0; t < 3; ++t) {
    const std::size_t k = static_cast<std::size_t>(t);
    const Index n = problem.y[k].size();
    Eigen::MatrixXd A(n, 6);
    A << problem.X[k], Vector::Ones(n);
    Eigen::MatrixXd H = A.transpose() * problem.c[k].asDiagonal() * A;
    H.diagonal().head(5).array() += 2 * kappa;
    const Vector right = A.transpose() * problem.c[k].cwiseProduct(problem.y[k]);
    ASSERT_TRUE(cholesky(H));
    const Vector exact = cholesky_solve(H, right);
    EXPECT_LE((fit.W.row(t).transpose() - exact.head(5)).norm(), 1e-5 * exact.norm());
    EXPECT_NEAR(fit.b[t], exact[5], 1e-5);
  }
}

TEST(Linear, ReachesASmallGapAndTheBoundsHold) {
  std::uint64_t seed = 10;
  for (const Loss loss : losses)
    for (const Index n : {12, 40})
      for (const double kappa : {1e-3, 0.1}) {
        const LinearProblem problem = random_linear(++seed, 4, n, 15, loss);
        ColumnPenalty penalty(0.02, kappa);
        const LinearFit fit = minimise(problem, penalty, {.gap_tolerance = 1e-8});
        EXPECT_EQ(fit.status, Status::converged);
        EXPECT_LE(fit.gap, 1e-8);
        EXPECT_EQ(fit.gap, (fit.primal - fit.dual) / fit.primal);
        EXPECT_LE(fit.steps, 30);
        const Vector loss_values = task_losses(problem, fit.W, fit.b);
        EXPECT_LE((loss_values - fit.task_objective).norm(), 1e-12);
        EXPECT_NEAR(loss_values.sum() + penalty.value(fit.W), fit.primal, 1e-12);
        const double optimum = slow_optimum(problem, penalty);
        EXPECT_LE(fit.dual, optimum + 1e-13);
        EXPECT_GE(fit.primal, optimum - 1e-6);  // the slow one is not so exact
        EXPECT_LE(fit.primal, optimum + 1e-8);
      }
}

TEST(Linear, EveryStepProvesABoundAndLowersTheObjective) {
  for (const Loss loss : losses) {
    const LinearProblem problem = random_linear(31, 3, 20, 30, loss);
    ColumnPenalty penalty(0.01, 1e-3);
    const double optimum = minimise(problem, penalty, {.gap_tolerance = 1e-10}).primal;
    double last = std::numeric_limits<double>::infinity();
    Index steps = 0;
    minimise(problem, penalty, {.gap_tolerance = 1e-10}, {}, [&](const Progress& report) {
      EXPECT_TRUE(report.outer_step == steps ||
                  report.outer_step == steps + 1);  // a long step reports again
      steps = report.outer_step;
      EXPECT_LE(report.dual, optimum + 1e-12);
      EXPECT_GE(report.primal, optimum - 1e-10);
      EXPECT_LE(report.primal, last + 1e-14);
      last = report.primal;
      return true;
    });
    EXPECT_GE(steps, 1);  // one is enough for the square loss
  }
}

TEST(Linear, AnyStartLeadsToTheSameOptimum) {
  for (const Loss loss : losses) {
    const LinearProblem problem = random_linear(41, 3, 25, 6, loss);
    ColumnPenalty penalty(0.05, 0.01);
    const LinearFit cold = minimise(problem, penalty, {.gap_tolerance = 1e-9});
    Random random(5);
    for (const double size : {1e-3, 1.0, 1e5}) {
      LinearStart start{.W = Matrix(3, 6), .b = Vector(3), .shared = {}, .nu = {}, .clusters = {}};
      for (double& v : start.W.reshaped()) v = size * random.normal();
      for (double& v : start.b) v = size * random.normal();
      const LinearFit warm = minimise(problem, penalty, {.gap_tolerance = 1e-9}, start);
      EXPECT_EQ(warm.status, Status::converged);
      EXPECT_NEAR(warm.primal, cold.primal, 2e-9);
    }
    const LinearFit again =
        minimise(problem, penalty, {.gap_tolerance = 1e-9},
                 {.W = cold.W, .b = cold.b, .shared = {}, .nu = {}, .clusters = {}});
    EXPECT_EQ(again.steps, 0);
  }
}

TEST(Linear, ThreadsChangeNoBit) {
  const LinearProblem problem = random_linear(51, 5, 30, 20, Loss::logistic);
  ColumnPenalty penalty(0.01, 1e-2);
  const LinearFit one = minimise(problem, penalty, {.threads = 1});
  const LinearFit many = minimise(problem, penalty, {.threads = 4});
  EXPECT_TRUE(one.W == many.W && one.b == many.b);
  EXPECT_EQ(one.dual, many.dual);
}

TEST(Linear, StopsAsTold) {
  const LinearProblem problem = random_linear(61, 2, 30, 8, Loss::squared_hinge);
  RidgePenalty penalty(1e-3);
  EXPECT_EQ(minimise(problem, penalty, {.gap_tolerance = 1e-8, .max_steps = 1}).status,
            Status::step_limit);
  const LinearFit stopped =
      minimise(problem, penalty, {}, {}, [](const Progress&) { return false; });
  EXPECT_EQ(stopped.status, Status::stopped);
  EXPECT_EQ(stopped.steps, 0);
  // Rounding is all that is left: it ends, and what it says is true.
  const LinearFit exact = minimise(problem, penalty, {.gap_tolerance = -1});
  EXPECT_EQ(exact.status, Status::precision);
  EXPECT_NEAR(exact.gap, 0, 1e-12);
}

// So large that curvatures are summed and factorised in pieces, from more samples than features and from fewer.
TEST(Linear, LargeTasksAreSolvedAndStoppedInPieces) {
  for (const auto& [n, d] : {std::pair<Index, Index>{2200, 520}, {530, 1900}}) {
    const LinearProblem problem = random_linear(62, 1, n, d, Loss::squared_hinge);
    RidgePenalty penalty(1e-2);
    Index calls = 0;
    const LinearFit whole = minimise(problem, penalty, {.gap_tolerance = 1e-8}, {},
                                     [&](const Progress&) { return ++calls > 0; });
    EXPECT_EQ(whole.status, Status::converged);
    const DualPoint pulls = dual_point(problem, whole.W, whole.b);
    EXPECT_LE(whole.primal - (pulls.losses - penalty.conjugate(pulls.Z, 1e-9 * whole.primal)),
              1e-7 * whole.primal);
    EXPECT_GT(calls, 4 * whole.steps);
    for (const Index stop : {Index{2}, Index{3}, calls / 2, calls - 1}) {
      Index left = stop;
      const LinearFit part = minimise(problem, penalty, {.gap_tolerance = 1e-8}, {},
                                      [&](const Progress&) { return --left > 0; });
      EXPECT_EQ(part.status, Status::stopped);
      const LinearFit same =
          minimise(problem, penalty, {.gap_tolerance = 1e-8, .max_steps = part.steps});
      EXPECT_EQ(part.W, same.W);
      EXPECT_EQ(part.dual, same.dual);
    }
  }
}

TEST(Linear, TakesTasksThatHardlyAreOnes) {
  for (const Loss loss : losses) {
    LinearProblem problem = random_linear(71, 4, 10, 5, loss);
    problem.X[0] = Matrix::Zero(2, 5);  // no features
    problem.y[0] = Vector{{-1, 1}};
    problem.c[0] = Vector{{0.5, 0.5}};
    problem.X[1] = problem.X[1].topRows(1).eval();  // one sample
    problem.y[1] = Vector{{1}};
    problem.c[1] = Vector{{1}};
    problem.y[2].setOnes();  // one class
    problem.X[3] *= 1e4;     // large features
    RidgePenalty penalty(1e-2);
    const LinearFit fit = minimise(problem, penalty, {.gap_tolerance = 1e-6});
    EXPECT_TRUE(fit.W.allFinite() && fit.b.allFinite());
    EXPECT_EQ(fit.status, Status::converged) << to_string(loss) << " gap " << fit.gap;
    EXPECT_EQ(fit.W.row(0).norm(), 0);
  }
}

TEST(Linear, TakesParametersOfAnySize) {
  for (const Loss loss : losses)
    for (const double kappa : {1e-6, 1e-4, 1e2, 1e6, 1e12}) {
      const LinearProblem problem = random_linear(81, 3, 30, 10, loss);
      RidgePenalty penalty(kappa);
      const LinearFit fit = minimise(problem, penalty, {.gap_tolerance = 1e-6});
      EXPECT_EQ(fit.status, Status::converged) << to_string(loss) << kappa << " gap " << fit.gap;
      EXPECT_LE(fit.W.norm(), 10 / kappa);
    }
}

TEST(Linear, DoublingASampleIsDoublingItsWeight) {
  LinearProblem once = random_linear(91, 2, 20, 4, Loss::squared_hinge);
  LinearProblem twice = once;
  once.c[0] = Vector::Constant(20, 1.0 / 21);
  once.c[0][3] *= 2;
  twice.X[0].resize(21, 4);
  twice.X[0] << once.X[0], once.X[0].row(3);
  twice.y[0].resize(21);
  twice.y[0] << once.y[0], once.y[0][3];
  twice.c[0] = Vector::Constant(21, 1.0 / 21);
  RidgePenalty penalty(0.01);
  const LinearFit a = minimise(once, penalty, {.gap_tolerance = 1e-12});
  const LinearFit b = minimise(twice, penalty, {.gap_tolerance = 1e-12});
  EXPECT_LE((a.W - b.W).norm(), 1e-6);
  EXPECT_NEAR(a.primal, b.primal, 1e-11);
}

}  // namespace
}  // namespace coterie
