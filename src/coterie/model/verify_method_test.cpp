// The separate check accepts sound models of all kernel methods, and says what is wrong with others.
#include "coterie/model/verify_method.hpp"

#include <gtest/gtest.h>

#include "coterie/baseline/pareto.hpp"
#include "coterie/baseline/plain.hpp"
#include "coterie/baseline/tang.hpp"
#include "coterie/model/kernel_problem.hpp"

namespace coterie {
namespace {

KernelExpansion& expansion(Model& model, std::size_t t) {
  return std::get<KernelExpansion>(model.tasks[t].function);
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double tolerance = 1e-6;

// Every task has the model of the pool; samples are numbered as in the pool.
Model pooled_model(const Dataset& data, const Settings& settings) {
  const KernelProblem pool(pool_tasks(data), settings, "pool");
  Model model = pool.model_of(coterie::fit(pool.at(0), to_gap(tolerance)), "pooled", {}, tolerance);
  const TaskModel all = model.tasks.front();
  model.tasks.clear();
  model.groups() = {{}};
  for (const Task& task : data.tasks) {
    model.groups().front().push_back(std::ssize(model.tasks));
    model.tasks.push_back(all);
    static_cast<TaskId&>(model.tasks.back()) = task;
    model.tasks.back().n = task.size();
  }
  return model;
}

struct Named {
  std::string what;
  Model model;
};

std::vector<Named> models_of(const KernelProblem& problem) {
  const FitSettings how = to_gap(tolerance);
  std::vector<Named> models;
  const auto add = [&](const MethodRef& method, const Parameters& parameters, const Fit& fit) {
    models.push_back({method->name + " " + text_of(parameters),
                      problem.model_of(fit, method, parameters, tolerance)});
  };
  add("stl", {}, coterie::fit(problem.at(0), how));
  add("mtl", {}, coterie::fit(problem.at(infinity), how));
  add("uniform", {}, fit_uniform(problem.at(), how));
  add("tang", {{"share", 0.4}}, fit_tang(problem.at(), 0.4, how));
  add("tang", {{"share", 0}}, fit_tang(problem.at(), 0, how));
  add("tang", {{"share", 1}}, fit_tang(problem.at(), 1, how));
  add("pareto", {{"power", 0.5}}, fit_pareto(problem.at(), 0.5, how));
  add("pareto", {{"power", 1}}, fit_pareto(problem.at(), 1, how));
  add("pareto", {{"power", 3}}, fit_pareto(problem.at(), 3, how));
  models.push_back({"pooled", pooled_model(problem.data, problem.settings)});
  return models;
}

bool mentions(const Verification& check, const std::string& text) {
  return std::any_of(check.findings.begin(), check.findings.end(), [&](const std::string& finding) {
    return finding.find(text) != std::string::npos;
  });
}

KernelProblem sound_problem() { return planted_problem(4, 24); }

TEST(VerifyMethod, AcceptsSoundModels) {
  for_random_problems(7, [&](const KernelProblem& problem) {
    for (const Named& named : models_of(problem)) {
      SCOPED_TRACE(named.what);
      if (named.model.certificate().status != Status::converged) continue;
      const Verification check = verify_training(named.model, problem.data);
      for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
      EXPECT_TRUE(check.groups_exact);
      EXPECT_LE(check.gap, tolerance * (1 + 1e-3));
      EXPECT_LE(check.infeasibility, 1e-9);
    }
  });
}

// Pairs of classes share rows: a row may be several times in the pool, even with both labels.
TEST(VerifyMethod, AcceptsAPoolWhoseTasksShareRows) {
  Dataset data = sound_problem().data;
  Task twin = data.tasks[0];
  twin.name = "twin";
  twin.y = -twin.y;
  data.tasks.push_back(twin);
  Settings settings;
  settings.kernels = "gauss:1 linear";
  const Verification check = verify_training(pooled_model(data, settings), data);
  for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
}

TEST(VerifyMethod, FindsWhatWasTamperedWith) {
  const KernelProblem problem = sound_problem();
  for (const Named& named : models_of(problem)) {
    SCOPED_TRACE(named.what);
    ASSERT_TRUE(verify_training(named.model, problem.data).findings.empty());
    const auto expect_found = [&](const std::string& what, const std::string& says,
                                  const std::function<void(Model&)>& change) {
      SCOPED_TRACE(what);
      Model model = named.model;
      change(model);
      const Verification check = verify_training(model, problem.data);
      EXPECT_TRUE(mentions(check, says)) << (check.findings.empty() ? "" : check.findings.front());
    };
    expect_found("a weight", "", [](Model& m) {
      Vector& theta = expansion(m, 1).theta;
      Index from = 0;
      theta.maxCoeff(&from);
      theta[from] -= 0.05;
      theta[from == 0 ? 1 : 0] += 0.05;
    });
    expect_found("weights that do not add up", "add up", [](Model& m) {
      for (std::size_t t = 0; t < m.tasks.size(); ++t) expansion(m, t).theta *= 1.01;
    });
    expect_found("an alpha", "", [](Model& m) { expansion(m, 0).alpha[0] *= 0.9; });
    expect_found("alphas beyond C", "box", [](Model& m) {
      for (std::size_t t = 0; t < m.tasks.size(); ++t) expansion(m, t).alpha *= 1e4;
    });
    expect_found("a bias", "", [](Model& m) { m.tasks[0].bias += 0.1; });
    expect_found("the objective", "the objective is",
                 [](Model& m) { m.certificate().primal *= 1.001; });
    expect_found("the dual value", "the dual value",
                 [](Model& m) { m.certificate().dual *= 1.001; });
    expect_found("the objective of a task", "", [](Model& m) { m.tasks[1].objective *= 1.01; });
    expect_found("the claim", "claims", [](Model& m) {
      m.certificate().claim =
          m.certificate().claim == Claim::optimum ? Claim::stationary : Claim::optimum;
    });
    expect_found("a tolerance that was not met", "above the tolerance",
                 [](Model& m) { m.settings.tolerance = -1; });
    expect_found("a support vector", "", [](Model& m) { m.support_vectors(0, 0) += 0.5; });
    expect_found("a label", "another label", [](Model& m) {
      for (std::size_t t = 0; t < m.tasks.size(); ++t) expansion(m, t).y[0] *= -1;
    });
  }
}

TEST(VerifyMethod, FindsParametersThatAreNotThoseOfTheFit) {
  const KernelProblem problem = sound_problem();
  const auto findings = [&](Model model, const MethodRef& method, const Parameters& parameters) {
    model.settings.method = method;
    model.settings.parameters = parameters;
    return verify_training(model, problem.data);
  };
  const FitSettings how = to_gap(tolerance);
  const Model tang =
      problem.model_of(fit_tang(problem.at(), 0.4, how), "tang", {{"share", 0.4}}, tolerance);
  EXPECT_TRUE(mentions(findings(tang, "tang", {{"share", 0.6}}), "less in common"));
  EXPECT_TRUE(mentions(findings(tang, "tang", {{"share", 0.2}}), "the dual value"));
  EXPECT_TRUE(mentions(findings(tang, "uniform", {}), "not 1/M"));
  EXPECT_TRUE(mentions(findings(tang, "stl", {}), "the dual value"));
  EXPECT_THROW(findings(tang, "tang", {{"share", 1.2}}), InputError);
  EXPECT_THROW(findings(tang, "tang", {{"power", 2}}), InputError);
  const Model pareto =
      problem.model_of(fit_pareto(problem.at(), 3, how), "pareto", {{"power", 3}}, tolerance);
  EXPECT_TRUE(mentions(findings(pareto, "pareto", {{"power", 2}}), "the objective is"));
  EXPECT_TRUE(mentions(findings(pareto, "mtl", {}), "the objective is"));
  const Model stl = problem.model_of(coterie::fit(problem.at(0), how), "stl", {}, tolerance);
  EXPECT_FALSE(findings(stl, "mtl", {}).findings.empty());
  Model other_norm = tang;
  other_norm.settings.norm = 2;
  EXPECT_TRUE(mentions(verify_training(other_norm, problem.data), "norm 1 only"));
}

TEST(VerifyMethod, FindsTasksThatLeftThePool) {
  const KernelProblem problem = sound_problem();
  Model model = pooled_model(problem.data, problem.settings);
  model.tasks[1].bias += 0.1;
  EXPECT_TRUE(mentions(verify_training(model, problem.data), "not that of the pool"));
  model = pooled_model(problem.data, problem.settings);
  model.groups() = {{0}};
  EXPECT_TRUE(mentions(verify_training(model, problem.data), "not one group"));
  Dataset fewer = problem.data;
  fewer.tasks.pop_back();
  EXPECT_THROW(verify_training(model, fewer), InputError);
}

TEST(VerifyMethod, ReportsEverySample) {
  const KernelProblem problem = sound_problem();
  const Fit fit = fit_tang(problem.at(), 0.5, to_gap(tolerance));
  Index calls = 0;
  Index all = 0;
  verify_training(problem.model_of(fit, "tang", {{"share", 0.5}}, tolerance), problem.data, {},
                  [&](Index, Index samples) {
                    ++calls;
                    all = samples;
                  });
  Index n = 0;
  for (const Task& task : problem.data.tasks) n += task.size();
  EXPECT_EQ(calls, n);
  EXPECT_EQ(all, n);
}

}  // namespace
}  // namespace coterie
