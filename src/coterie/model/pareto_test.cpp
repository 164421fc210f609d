// The p-norm of the tasks' objectives: what must be true of any answer, proofs by the separate checker, reductions to one kernel.
#include "coterie/baseline/pareto.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "coterie/baseline/shared_weights.hpp"
#include "coterie/model/kernel_problem.hpp"

namespace coterie {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double tolerance = 1e-8;

Fit pareto(const KernelProblem& problem, double power, const WarmStart& start = {},
           int threads = 1) {
  return fit_pareto(problem.at(), power, to_gap(tolerance, threads), {}, start);
}

void expect_proved(const KernelProblem& problem, const Fit& fit, double power) {
  EXPECT_EQ(fit.claim, power < 1 ? Claim::stationary : Claim::optimum);
  EXPECT_EQ(fit.groups.size(), 1U);
  expect_proved(problem, fit, "pareto", {{"power", power}}, tolerance);
}

Vector values_at(const KernelProblem& problem, const Vector& theta) {
  Vector J(problem.T());
  for (Index t = 0; t < problem.T(); ++t) J[t] = task_value(problem, t, theta);
  return J;
}

TEST(Pareto, ReachesTheGapOnRandomProblemsAndTheCheckerAgrees) {
  Index most = 0;
  for_random_problems(14, [&](const KernelProblem& problem) {
    for (const double power : {0.01, 0.3, 0.9, 1.0, 2.0, 7.5, 100.0}) {
      const Fit fit = pareto(problem, power);
      expect_proved(problem, fit, power);
      most = std::max(most, fit.outer_steps);
    }
  });
  EXPECT_LE(most, 25);
}

TEST(Pareto, OfPowerOneIsOneKernelForAll) {
  for_random_problems(21, [&](const KernelProblem& problem) {
    const Fit fit = pareto(problem, 1);
    const Fit main = coterie::fit(problem.at(infinity), to_gap(tolerance));
    EXPECT_NEAR(fit.primal, main.primal, tolerance * scale_of(main));
  });
}

TEST(Pareto, OfOneTaskIsItsOwnKernelWhateverThePower) {
  KernelProblem all = kernel_problem(1007);
  all.data.tasks.resize(1);
  const KernelProblem problem(all.data, all.settings, all.description);
  const Fit alone = coterie::fit(problem.at(0), to_gap(tolerance));
  for (const double power : {0.01, 0.5, 1.0, 3.0, 100.0}) {
    const Fit fit = pareto(problem, power);
    expect_proved(problem, fit, power);
    EXPECT_NEAR(fit.primal, alone.primal, tolerance * scale_of(alone));
  }
}

// No other theta is better for every task.
TEST(Pareto, IsParetoOptimal) {
  Random random(7);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const KernelProblem problem = planted_problem(4, 30, seed);
    SCOPED_TRACE(problem.description);
    for (const double power : {0.5, 1.0, 4.0}) {
      const Fit fit = pareto(problem, power);
      const double slack = 2 * (fit.primal - fit.dual) + 1e-9 * scale_of(fit);
      for (int trial = 0; trial < 12; ++trial) {
        const Vector other = random_weights(random, problem.M());
        const double near = std::pow(10, -random.uniform(0, 4));
        const Vector theta = near * other + (1 - near) * fit.theta.row(0).transpose();
        const Vector gain = fit.task_objective - values_at(problem, theta);
        if (power >= 1 || near < 0.01) {  // below 1 the answer is a local one
          EXPECT_LE(gain.minCoeff(), slack) << power << ' ' << near;
        }
      }
    }
  }
}

// max_t g_t <= F(g) <= T^(1/p) max_t g_t: the dual value bounds the worst task of every theta, and the answer's worst task is near the best.
TEST(Pareto, OfALargePowerMinimisesTheWorstTask) {
  Random random(8);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const KernelProblem problem = planted_problem(4, 30, seed);
    SCOPED_TRACE(problem.description);
    const Fit fit = pareto(problem, 100);
    const double room = std::pow(static_cast<double>(problem.T()), 0.01);
    double best = fit.task_objective.maxCoeff();
    EXPECT_LE(best, fit.dual * (1 + 1e-7));
    for (int trial = 0; trial < 15; ++trial)
      best = std::min(best, values_at(problem, random_weights(random, problem.M())).maxCoeff());
    EXPECT_GE(best, fit.dual / room * (1 - 1e-9));
    EXPECT_LE(pareto(problem, 1).primal / static_cast<double>(problem.T()),
              fit.task_objective.maxCoeff() * (1 + 1e-7));  // the best mean is below the worst
  }
}

TEST(Pareto, TheObjectiveFallsWithThePower) {  // as norms do
  for_random_problems(7, [&](const KernelProblem& problem) {
    double before = infinity;
    for (const double power : {1.0, 1.5, 3.0, 10.0}) {
      const Fit fit = pareto(problem, power);
      EXPECT_LE(fit.dual, before * (1 + 1e-9));
      before = fit.primal;
    }
  });
}

TEST(Pareto, BelowOneNeverRises) {
  for_random_problems(28, [&](const KernelProblem& problem) {
    for (const double power : {0.05, 0.5}) {
      double before = infinity;
      const Fit fit =
          fit_pareto(problem.at(), power, to_gap(tolerance), [&](const Progress& report) {
            if (report.phase != Phase::proof) return true;
            EXPECT_LE(report.primal, before * (1 + 1e-12));
            before = report.primal;
            return true;
          });
      EXPECT_NEAR(fit.primal, before, 1e-9 * before);  // it may have been computed anew
    }
  });
}

// Towards every vertex the objective falls no faster than the gap says.
TEST(Pareto, BelowOneIsStationary) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const KernelProblem problem = planted_problem(4, 30, seed);
    SCOPED_TRACE(problem.description);
    const double power = 0.3;
    const Fit fit = fit_pareto(problem.at(), power, to_gap(1e-10));
    const double step = 1e-4;
    for (Index m = 0; m < problem.M(); ++m) {
      Vector theta = (1 - step) * fit.theta.row(0).transpose();
      theta[m] += step;
      const double there = power_mean(values_at(problem, theta), power);
      EXPECT_GE((there - fit.primal) / step, -2e-6 * scale_of(fit));
    }
  }
}

TEST(Pareto, StartsDoNotMatter) {
  Random random(5);
  for_random_problems(7, [&](const KernelProblem& problem) {
    for (const double power : {0.4, 2.0, 30.0}) {
      const Fit cold = pareto(problem, power);
      const Fit warm = pareto(problem, power, random_start(random, problem));
      expect_proved(problem, warm, power);
      if (power > 1) {
        EXPECT_NEAR(warm.primal, cold.primal, tolerance * scale_of(cold));
      }
      EXPECT_LE(pareto(problem, power, {cold.theta, cold.alpha, {}}).outer_steps, 1);
    }
  });
}

TEST(Pareto, OrderAndThreadsDoNotMatter) {
  for_random_problems(7, [&](const KernelProblem& problem) {
    const Fit fit = pareto(problem, 3);
    const KernelProblem other = shuffled(problem, 3);
    const Fit moved = pareto(other, 3);
    expect_proved(other, moved, 3);
    EXPECT_NEAR(moved.primal, fit.primal, tolerance * scale_of(fit));
    expect_same_bits(fit, pareto(problem, 3, {}, 3));
  });
}

TEST(Pareto, CountsSamplesThatDoNotTakePart) {
  const KernelProblem problem = planted_problem(3, 100);
  for (const double power : {0.5, 2.0}) expect_proved(problem, pareto(problem, power), power);
}

TEST(Pareto, SaysWhenAPowerIsTooSmall) {
  const KernelProblem problem = kernel_problem(1012);
  ASSERT_GT(problem.T(), 1);
  EXPECT_THROW(fit_pareto(problem.at(), 1e-4, to_gap(tolerance)), InputError);
}

// c is the gradient of F, and F(g) = c'g.
TEST(Pareto, WeightsAreTheGradientOfThePowerMean) {
  Random random(1);
  for (const double p : {0.01, 0.5, 1.0, 2.0, 100.0}) {
    Vector g(5);
    for (Index t = 0; t < 5; ++t) g[t] = random.uniform(1, 1.3) * 100;
    const Vector c = power_weights(g, p);
    const double F = power_mean(g, p);
    EXPECT_NEAR(c.dot(g), F, 1e-12 * F);
    for (Index t = 0; t < 5; ++t) {
      Vector up = g;
      Vector down = g;
      up[t] += 1e-3;
      down[t] -= 1e-3;
      EXPECT_NEAR((power_mean(up, p) - power_mean(down, p)) / 2e-3, c[t], 1e-5 * c.maxCoeff());
    }
  }
}

}  // namespace
}  // namespace coterie
