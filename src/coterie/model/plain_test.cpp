#include "coterie/baseline/plain.hpp"

#include <gtest/gtest.h>

#include "coterie/model/kernel_problem.hpp"

namespace coterie {
namespace {

TEST(Uniform, IsOneSvmPerTaskAndTheCheckerAgrees) {
  for_random_problems(21, [&](const KernelProblem& problem) {
    const Fit fit = fit_uniform(problem.at(), to_gap(1e-9));
    expect_proved(problem, fit, "uniform", {}, 1e-9);
    EXPECT_EQ(fit.groups.size(), 1U);
    const Vector equal = Vector::Constant(problem.M(), 1 / static_cast<double>(problem.M()));
    for (Index t = 0; t < problem.T(); ++t) {
      EXPECT_EQ(fit.theta.row(t).transpose(), equal);
      EXPECT_NEAR(fit.task_objective[t], task_value(problem, t, equal), 2e-9 * scale_of(fit));
    }
    expect_same_bits(fit, fit_uniform(problem.at(), to_gap(1e-9, 3)));
    // One kernel for all is the best of all weights that tasks share.
    const Fit common =
        coterie::fit(problem.at(std::numeric_limits<double>::infinity()), to_gap(1e-9));
    EXPECT_GE(fit.primal, common.dual - 1e-9 * scale_of(fit));
  });
}

TEST(Uniform, CountsSamplesThatDoNotTakePart) {
  const KernelProblem problem = planted_problem(3, 200);
  Workspace workspace;
  const Fit fit = fit_uniform(problem.at(), to_gap(1e-8), {}, {}, &workspace);
  expect_proved(problem, fit, "uniform", {}, 1e-8);
  const Fit again =
      fit_uniform(problem.at(), to_gap(1e-8), {}, {fit.theta, fit.alpha, {}}, &workspace);
  EXPECT_EQ(again.svm_solves, 0);
  EXPECT_NEAR(again.primal, fit.primal, 1e-12 * fit.primal);
}

// Within an SVM, too, which asks when it has done some work.
TEST(Uniform, StopsWithTheBestThatWasProved) {
  const KernelProblem problem = planted_problem(2, 1200);
  Index calls = 0;
  const Fit whole = fit_uniform(problem.at(), to_gap(1e-8), [&](const Progress&) {
    ++calls;
    return true;
  });
  EXPECT_GT(calls, 3 * whole.outer_steps);
  for (const Index stop : {Index{1}, Index{2}, calls / 4, calls / 2, calls - 2}) {
    Index left = stop;
    Workspace workspace;
    const Fit fit = fit_uniform(
        problem.at(), to_gap(1e-8), [&](const Progress&) { return --left > 0; }, {}, &workspace);
    EXPECT_EQ(fit.status, Status::stopped);
    EXPECT_LE(fit.gap, 1);  // at least the constant answers
    const Verification check =
        verify_training(problem.model_of(fit, "uniform", {}, 1e-8), problem.data);
    for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
    // What was stopped midway is not used again.
    expect_same_bits(whole, fit_uniform(problem.at(), to_gap(1e-8), {}, {}, &workspace));
  }
}

TEST(Pool, HasTheSamplesOfAllTasksInTheirOrder) {
  const Dataset data = kernel_problem(3).data;
  const Dataset pool = pool_tasks(data);
  ASSERT_EQ(pool.tasks.size(), 1U);
  EXPECT_EQ(pool.tasks[0].name, "all");
  EXPECT_EQ(pool.X, data.X);
  EXPECT_EQ(pool.features, data.features);
  EXPECT_EQ(pool.casting, Casting::binary);
  Index at = 0;
  for (const Task& task : data.tasks)
    for (Index i = 0; i < task.size(); ++i, ++at) {
      EXPECT_EQ(pool.tasks[0].rows[static_cast<std::size_t>(at)],
                task.rows[static_cast<std::size_t>(i)]);
      EXPECT_EQ(pool.tasks[0].y[at], task.y[i]);
    }
  EXPECT_EQ(pool.tasks[0].size(), at);
}

}  // namespace
}  // namespace coterie
