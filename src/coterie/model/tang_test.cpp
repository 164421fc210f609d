// Common and own kernel weights: what must be true of any answer, proofs by the separate checker, and other code that solves the ends.
#include "coterie/baseline/tang.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "coterie/model/kernel_problem.hpp"

namespace coterie {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double tolerance = 1e-8;

Fit tang(const KernelProblem& problem, double share, const WarmStart& start = {}, int threads = 1) {
  return fit_tang(problem.at(), share, to_gap(tolerance, threads), {}, start);
}

void expect_proved(const KernelProblem& problem, const Fit& fit, double share) {
  expect_proved(problem, fit, "tang", {{"share", share}}, tolerance);
}

TEST(Tang, ReachesTheGapOnRandomProblemsAndTheCheckerAgrees) {
  Index most = 0;
  for_random_problems(21, [&](const KernelProblem& problem) {
    for (const double share : {0.0, 0.3, 0.8, 1.0}) {
      const Fit fit = tang(problem, share);
      expect_proved(problem, fit, share);
      most = std::max(most, fit.outer_steps);
    }
  });
  EXPECT_LE(most, 20);
}

// Equalities 1 to 3 of the methods, with the main solver as the other code path.
TEST(Tang, ItsEndsAreSeparateTasksAndOneKernel) {
  for_random_problems(21, [&](const KernelProblem& problem) {
    for (const double share : {0.0, 1.0}) {
      const Fit fit = tang(problem, share);
      const Fit main = coterie::fit(problem.at(share == 0 ? 0 : infinity), to_gap(tolerance));
      if (main.status != Status::converged) continue;
      EXPECT_NEAR(fit.primal, main.primal, tolerance * scale_of(main));
      if (share == 1) {
        EXPECT_EQ(fit.groups.size(), 1U);
      }
    }
  });
}

// Points of share a and b average to one of share (a + b)/2, and more in common is a smaller set.
TEST(Tang, TheValueNeverFallsWithTheShareAndIsConvexInIt) {
  const auto growth = [](const KernelProblem& problem) {
    std::vector<double> values;
    double slack = 0;
    for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      const Fit fit = tang(problem, share);
      values.push_back(fit.primal);
      slack = tolerance * scale_of(fit);
    }
    for (std::size_t k = 1; k < values.size(); ++k) EXPECT_GE(values[k], values[k - 1] - slack);
    for (std::size_t k = 2; k < values.size(); ++k)
      EXPECT_GE(values[k] - values[k - 1], values[k - 1] - values[k - 2] - 4 * slack);
    return values.back() / values[2] - 1;
  };
  for_random_problems(7, growth);
  EXPECT_GT(growth(planted_problem(4, 30)), 1e-3);  // where tasks want different kernels
}

TEST(Tang, OfOneTaskIsItsOwnKernel) {
  KernelProblem all = kernel_problem(1003);
  all.data.tasks.resize(1);
  const KernelProblem problem(all.data, all.settings, all.description);
  const Fit alone = coterie::fit(problem.at(0), to_gap(tolerance));
  for (const double share : {0.0, 0.4, 1.0}) {
    const Fit fit = tang(problem, share);
    EXPECT_NEAR(fit.primal, alone.primal, tolerance * scale_of(alone));
    EXPECT_EQ(fit.groups, Groups{{0}});
    expect_proved(problem, fit, share);
  }
}

TEST(Tang, StartsDoNotMatter) {
  Random random(5);
  for_random_problems(14, [&](const KernelProblem& problem) {
    const Fit cold = tang(problem, 0.6);
    const Fit warm = tang(problem, 0.6, random_start(random, problem));
    expect_proved(problem, warm, 0.6);
    EXPECT_NEAR(warm.primal, cold.primal, tolerance * scale_of(cold));
    WarmStart there;
    there.theta = cold.theta;
    there.alpha = cold.alpha;
    EXPECT_LE(tang(problem, 0.6, there).outer_steps, 1);
  });
}

TEST(Tang, AWorkspaceServesManySharesAndCosts) {
  const KernelProblem problem = planted_problem(3, 100);
  Workspace workspace;
  WarmStart start;
  for (const double share : {0.0, 0.5, 1.0}) {
    const Fit fit = fit_tang(problem.at(), share, to_gap(tolerance), {}, start, &workspace);
    expect_proved(problem, fit, share);
    EXPECT_NEAR(fit.primal, tang(problem, share).primal, tolerance * scale_of(fit));
    const Fit again = fit_tang(problem.at(), share, to_gap(tolerance), {},
                               {fit.theta, fit.alpha, {}}, &workspace);
    EXPECT_EQ(again.svm_solves, 0);  // it ended there
    start = {fit.theta, fit.alpha, {}};
  }
}

// With one kernel the first SVMs, of a part of the samples, look good enough: those left out must still be counted.
TEST(Tang, OfOneKernelIsAPlainSvm) {
  const KernelProblem problem = planted_problem(2, 200, 1, "gauss:2");
  for (const double gap : {1e-1, 1e-2, 1e-8}) {
    const Fit fit = fit_tang(problem.at(), 0.5, to_gap(gap));
    expect_proved(problem, fit, "tang", {{"share", 0.5}}, gap);
    double sum = 0;
    for (Index t = 0; t < 2; ++t) sum += task_value(problem, t, Vector::Ones(1));
    EXPECT_NEAR(fit.primal, sum, gap * scale_of(fit));
  }
}

TEST(Tang, OrderAndThreadsDoNotMatter) {
  for_random_problems(7, [&](const KernelProblem& problem) {
    const Fit fit = tang(problem, 0.5);
    const KernelProblem other = shuffled(problem, 3);
    const Fit moved = tang(other, 0.5);
    expect_proved(other, moved, 0.5);
    EXPECT_NEAR(moved.primal, fit.primal, tolerance * scale_of(fit));
    expect_same_bits(fit, tang(problem, 0.5, {}, 3));
  });
  const KernelProblem large = planted_problem(3, 100);
  expect_same_bits(tang(large, 0.5), tang(large, 0.5, {}, 2));
}

// With q = S: mu_m <- mu_m sqrt(sum_t q_t^m), lambda_t^m <- lambda_t^m sqrt(q_t^m), each scaled to its sum: block descent that needs no model.
TEST(Tang, ClosedFormUpdatesComeDownToTheSameValue) {
  for (const std::uint64_t seed : {1, 2}) {
    const KernelProblem problem = planted_problem(4, 30, seed);
    const double share = 0.4;
    const Index T = problem.T();
    const Index M = problem.M();
    Vector mu = Vector::Constant(M, share / static_cast<double>(M));
    Matrix own = Matrix::Constant(T, M, (1 - share) / static_cast<double>(M));
    const Fit fit = tang(problem, share);
    double before = infinity;
    for (int step = 0; step < 60; ++step) {
      double value = 0;
      Vector sum = Vector::Zero(M);
      for (Index t = 0; t < T; ++t) {
        const std::size_t i = static_cast<std::size_t>(t);
        const Vector& y = problem.prepared.set.y[i];
        const Vector theta = mu + own.row(t).transpose();
        const SvmResult svm =
            train_svm(problem.prepared.grams.tasks[i], theta, y, Vector::Ones(y.size()),
                      problem.prepared.set.C[i], {.gap_tolerance = 1e-10});
        value += svm.primal;
        const Vector q = -2 * gradient(problem.at(), t, svm.alpha);
        sum += q;
        own.row(t) = own.row(t).cwiseProduct(q.cwiseMax(0).cwiseSqrt().transpose());
        own.row(t) *= (1 - share) / own.row(t).sum();
      }
      mu = mu.cwiseProduct(sum.cwiseMax(0).cwiseSqrt());
      mu *= share / mu.sum();
      EXPECT_LE(value, before * (1 + 1e-9));
      EXPECT_GE(value, fit.dual - 1e-9 * scale_of(fit));
      before = value;
    }
    EXPECT_NEAR(before, fit.primal, 1e-2 * scale_of(fit));  // they creep along the last piece
  }
}

TEST(Tang, StopsWhenAsked) {
  const KernelProblem problem = kernel_problem(1010);
  int reports = 0;
  const Fit fit =
      fit_tang(problem.at(), 0.5, to_gap(1e-14), [&](const Progress&) { return ++reports < 4; });
  EXPECT_EQ(fit.status, Status::stopped);
  EXPECT_GE(fit.primal, fit.dual);
  EXPECT_NEAR(fit.primal, fit.task_objective.sum(), 1e-9 * scale_of(fit));
}

}  // namespace
}  // namespace coterie
