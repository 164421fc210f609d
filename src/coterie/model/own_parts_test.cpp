// One SVM over all samples whose tasks have parts of their own, docs/methods.md (28)-(30).
#include <gtest/gtest.h>

#include <cmath>

#include "coterie/baseline/plain.hpp"
#include "coterie/model/kernel_problem.hpp"
#include "coterie/model/predict.hpp"

namespace coterie {
namespace {

Settings joint(Settings settings, double own, double tolerance = 1e-9) {
  settings.method = "joint";
  settings.parameters = {{"own", own}};
  settings.tolerance = tolerance;
  settings.max_steps = 500;
  return settings;
}

struct Trained {
  MethodFit fit;
  Model model;
};
Trained train_on(const Dataset& data, const Settings& settings, int threads = 1,
                 double memory = std::numeric_limits<double>::infinity()) {
  const MethodProblem problem = prepare_method(data, settings, {}, threads);
  MethodFit fit = fit_method(problem, settings, threads, {}, nullptr, memory);
  Model model = make_model(problem, settings, fit, "");
  return {std::move(fit), std::move(model)};
}

void expect_verified(const Model& model, const Dataset& data) {
  const Verification check = verify_training(model, data);
  for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
}

Vector decisions_of(const Model& model, const Dataset& data) {
  std::vector<double> f;
  for (std::size_t t = 0; t < data.tasks.size(); ++t)
    for (const double value :
         decision_values(model, static_cast<Index>(t), data.X(data.tasks[t].rows, Eigen::all)))
      f.push_back(value);
  return Eigen::Map<const Vector>(f.data(), std::ssize(f));
}

// The same problem with every matrix written out.
Fit of_matrices(const Dataset& data, const Settings& settings, double across) {
  const Prepared pool = prepare(pool_tasks(data), settings, {}, 1);
  std::vector<Index> task_of;
  for (std::size_t t = 0; t < data.tasks.size(); ++t)
    task_of.insert(task_of.end(), data.tasks[t].rows.size(), static_cast<Index>(t));
  std::vector<Matrix> matrices;
  for (Index m = 0; m < std::ssize(pool.grams.kernels); ++m) {
    Matrix K = pool.grams.tasks[0].kernel(m);
    for (Index i = 0; i < K.rows(); ++i)
      for (Index j = 0; j < K.cols(); ++j)
        if (task_of[static_cast<std::size_t>(i)] != task_of[static_cast<std::size_t>(j)])
          K(i, j) *= across;
    matrices.push_back(std::move(K));
  }
  const std::vector<TaskGrams> grams = {TaskGrams(std::move(matrices))};
  return fit({grams, pool.set.y, pool.set.C, 0, pool.set.graph, WeightSet(settings.norm)},
             fit_settings_of(settings, 1));
}

TEST(OwnParts, IsTheSvmOfTheMatricesWrittenOut) {
  const int kinds = static_cast<int>(Oddity::count);
  for (int i = 0; i < 2 * kinds; ++i) {
    const RandomProblem problem =
        random_problem(static_cast<std::uint64_t>(300 + i), static_cast<Oddity>(i % kinds));
    SCOPED_TRACE(problem.description);
    const double own = i % 3 == 0 ? 1 : i % 3 == 1 ? 0.25 : 0.7;
    const Settings settings = joint(problem.settings, own, 1e-7);
    const auto [fit, model] = train_on(problem.data, settings);
    expect_verified(model, problem.data);
    EXPECT_EQ(model.certificate().claim, Claim::optimum);
    EXPECT_EQ(model.tasks.size(), problem.data.tasks.size());
    EXPECT_EQ(model.groups().size(), 1);
    const Fit reference = of_matrices(problem.data, settings, 1 - own);
    EXPECT_NEAR(fit.kernel()->fit.primal, reference.primal, 3e-7 * std::max(1.0, reference.primal));
  }
}

// Evgeniou and Pontil's own form: w_0 + v_t is one weight vector of features that stand once for all and once for each task.
TEST(OwnParts, LinearOneIsAPoolWithColumnsForEachTask) {
  for (const double own : {0.2, 0.6, 1.0}) {
    RandomProblem problem = random_problem(17, Oddity::none);
    problem.settings.kernels = "linear:raw";
    problem.settings.norm = 1;
    problem.settings.C = 0.5;
    const Dataset& data = problem.data;
    const Index d = data.X.cols(), T = std::ssize(data.tasks);
    ASSERT_GE(T, 2);
    Dataset wide = data;
    wide.X = Matrix::Zero(data.X.rows(), d * (T + 1));
    wide.X.leftCols(d) = std::sqrt(1 - own) * data.X;
    for (Index t = 0; t < T; ++t)
      for (const Index row : data.tasks[static_cast<std::size_t>(t)].rows)
        wide.X.row(row).segment(d * (t + 1), d) = std::sqrt(own) * data.X.row(row);
    wide.features.clear();
    for (Index j = 0; j < wide.X.cols(); ++j) wide.features.push_back("c" + std::to_string(j));
    Settings pooled = joint(problem.settings, own, 1e-11);
    pooled.method = "pooled";
    pooled.parameters = {};
    const auto [fit, model] = train_on(data, joint(problem.settings, own, 1e-11));
    const auto [reference, of_columns] = train_on(wide, pooled);
    const double primal = reference.kernel()->fit.primal;
    EXPECT_NEAR(fit.kernel()->fit.primal, primal, 1e-10 * std::max(1.0, primal));
    const Vector f = decisions_of(model, data);
    EXPECT_LE((f - decisions_of(of_columns, wide)).cwiseAbs().maxCoeff(), 1e-4);
  }
}

TEST(OwnParts, WithoutThemItIsPooledToTheLastBit) {
  const RandomProblem problem = random_problem(18, Oddity::none);
  Settings pooled = joint(problem.settings, 0, 1e-6);
  Model own = train_on(problem.data, pooled).model;
  pooled.method = "pooled";
  pooled.parameters = {};
  const Model without = train_on(problem.data, pooled).model;
  own.settings = without.settings;
  EXPECT_EQ(own, without);
}

TEST(OwnParts, AloneNoTaskLooksAtAnother) {
  const RandomProblem problem = random_problem(19, Oddity::none);
  const Model model = train_on(problem.data, joint(problem.settings, 1, 1e-6)).model;
  Index first = 0;
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    for (const Index i : model.tasks[t].expansion().sample)
      EXPECT_TRUE(i >= first && i < first + model.tasks[t].n);
    first += model.tasks[t].n;
    EXPECT_EQ(model.tasks[t].bias, model.tasks[0].bias);  // which all share
  }
}

TEST(OwnParts, ThreadsAndMemoryChangeNoBit) {
  const Dataset data = planted_problem(4, 60).data;
  Settings settings = joint({}, 0.4, 1e-6);
  settings.kernels = "linear gauss:1,2,4 poly:2";
  const Model whole = train_on(data, settings).model;
  EXPECT_EQ(train_on(data, settings, 3).model, whole);
  EXPECT_EQ(train_on(data, settings, 1, 20000).model, whole);
}

TEST(OwnParts, ForgeriesAreFound) {
  const RandomProblem problem = random_problem(20, Oddity::none);
  ASSERT_GE(problem.data.tasks.size(), 2);
  const Model model = train_on(problem.data, joint(problem.settings, 0.5, 1e-6)).model;
  expect_verified(model, problem.data);
  const auto expect_found = [&](const char* what, auto&& change) {
    Model forged = model;
    change(forged);
    EXPECT_FALSE(verify_training(forged, problem.data).holds()) << what;
  };
  expect_found("bias", [](Model& m) { m.tasks[1].bias += 1e-6; });
  expect_found("part", [](Model& m) { m.settings.parameters["own"] = 0.4; });
  expect_found("alpha",
               [](Model& m) { std::get<KernelExpansion>(m.tasks[1].function).alpha[0] *= 1.001; });
  expect_found("a support vector less", [](Model& m) {
    KernelExpansion& f = std::get<KernelExpansion>(m.tasks[0].function);
    f.support.pop_back();
    f.sample.pop_back();
    f.alpha = f.alpha.head(f.alpha.size() - 1).eval();
    f.y = f.y.head(f.y.size() - 1).eval();
  });
  expect_found("groups", [](Model& m) {
    m.groups().front().erase(m.groups().front().begin());
    m.groups().insert(m.groups().begin(), {0});
  });
}

}  // namespace
}  // namespace coterie
