// Gradient, Hessian and drift of one task against finite differences.
#include "coterie/mtmkl/objective.hpp"

#include <gtest/gtest.h>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

Matrix random_kernel(Random& random, Index n) {
  Matrix X(n, n + 3);
  for (double& x : X.reshaped()) x = random.normal();
  return X * X.transpose() / static_cast<double>(n);
}

struct OneTask {
  static constexpr Index n = 40, M = 4;
  Random random;
  TaskGrams grams;
  Vector y = Vector::Ones(n);
  RowPool pool;
  TaskSvm svm;

  explicit OneTask(std::uint64_t seed)
      : random(seed),
        grams([&] {
          std::vector<Matrix> kernels;
          for (Index m = 0; m < M; ++m) kernels.push_back(random_kernel(random, n));
          return kernels;
        }()),
        svm(grams, alternate(y), Vector::Ones(n), Vector::Constant(n, 0.7), n) {}

  static const Vector& alternate(Vector& y) {
    for (Index i = 0; i < n; i += 2) y[i] = -1;
    return y;
  }
  Vector weights() {
    Vector theta(M);
    for (double& x : theta) x = random.uniform(0.1, 1);
    return theta;
  }
  TaskState at(const Vector& theta, const Vector& start = {}) {
    return evaluate_task(svm, theta, start, 1e-13, pool);
  }
};

TEST(TaskState, DerivativesAreThoseOfFiniteDifferences) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    OneTask task(seed);
    const Vector theta = task.weights();
    Vector step(OneTask::M);
    for (double& x : step) x = 1e-5 * task.random.normal();
    const TaskState before = task.at(theta - step);
    const TaskState after = task.at(theta + step);
    TaskState here = task.at(theta);
    add_curvature(task.svm, here, task.pool);
    if (before.support != here.support || after.support != here.support) continue;
    ++compared;
    EXPECT_NEAR(after.svm.dual - before.svm.dual, 2 * here.g.dot(step),
                1e-4 * std::abs(2 * here.g.dot(step)) + 1e-11);
    const Vector change = after.g - before.g;
    EXPECT_LE((change - 2 * here.H * step).norm(), 1e-3 * change.norm());
    const Vector moved = predicted_alpha(task.svm, here, step);
    const double length = (after.svm.alpha - here.svm.alpha).norm();
    EXPECT_GT(length, 0);
    EXPECT_LE((after.svm.alpha - moved).norm(), 1e-3 * length);
  }
  EXPECT_GE(compared, 10);
}

// More free support vectors than are kept from the SVM to the curvature: their kernel is mixed again, to the same bits.
TEST(TaskState, CurvatureDoesNotNeedTheKernelOfTheSvm) {
  OneTask task(3);
  TaskState kept = task.at(task.weights());
  TaskState mixed_again = kept;
  ASSERT_GT(kept.A.rows(), 1);
  mixed_again.A.resize(0, 0);
  add_curvature(task.svm, kept, task.pool);
  add_curvature(task.svm, mixed_again, task.pool);
  EXPECT_TRUE(kept.H == mixed_again.H);
  EXPECT_TRUE(kept.drift == mixed_again.drift);
}

}  // namespace
}  // namespace coterie
