#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "coterie/baseline/cmtl.hpp"
#include "coterie/baseline/plain.hpp"
#include "coterie/data/planted_weights.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/model/train.hpp"
#include "coterie/model/verify_method.hpp"

namespace coterie {
namespace {

Dataset small_data() {
  PlantedWeightsSettings planted;
  planted.tasks = 4;
  planted.clusters = 2;
  planted.samples = 16;
  planted.features = 5;
  return cast_into_tasks(plant_weights(planted).samples, Casting::binary);
}

Settings settings_for(const std::string& method) {
  Settings settings;
  settings.method = method;
  settings.kernels = "linear gauss:1,4";
  settings.scale = usual_scale(settings);
  return settings;
}

Model train(const Dataset& data, const Settings& settings) {
  const MethodProblem problem = prepare_method(data, settings, {}, 1);
  return make_model(problem, settings, fit_method(problem, settings, 1), "");
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was wrong";
}

TEST(Methods, TheListKeepsItsOwnRules) {
  EXPECT_EQ(methods().size(), 12);
  for (const Method& method : methods()) {
    Settings settings;
    settings.method = method.name;
    const Parameters defaults = parameters_of(settings);
    EXPECT_EQ(defaults.size(), method.parameters.size());
    for (const Parameter& parameter : method.parameters)
      EXPECT_NO_THROW(check_parameter(method, parameter, parameter.value, "")) << parameter.name;
    settings.parameters = parameters_text(defaults);
    EXPECT_EQ(parameters_of(settings), defaults) << settings.parameters;
    EXPECT_NO_THROW(validate(settings));
  }
}

// The fit of a method through data and settings is the fit of its function on what they say.
TEST(TrainMethod, PreparesWhatTheMethodIsToSee) {
  const Dataset data = small_data();
  Settings settings = settings_for("cmtl");
  settings.parameters = "clusters=2 lambda=0.03";
  const Model model = train(data, settings);
  LinearProblem problem;
  const Scaling scaling = learn_scaling(Scaling::Kind::standard, data);
  const Matrix X = apply_scaling(scaling, data.X);
  for (const Task& task : data.tasks) {
    problem.X.push_back(X(task.rows, Eigen::all));
    problem.y.push_back(task.y);
    problem.c.push_back(Vector::Constant(task.size(), 1 / static_cast<double>(task.size())));
  }
  const LinearFit fit = fit_cmtl(problem, {.lambda = 0.03, .clusters = 2}, {1e-4, 100, 1});
  EXPECT_DOUBLE_EQ(model.certificate.primal, fit.primal);
  for (Index t = 0; t < 4; ++t) {
    EXPECT_LE((model.tasks[static_cast<std::size_t>(t)].w - fit.W.row(t).transpose()).norm(),
              1e-12);
    const Vector f = X * fit.W.row(t).transpose();
    EXPECT_LE((decision_values(model, t, data.X) - Vector(f.array() + fit.b[t])).norm(), 1e-10);
  }
  EXPECT_EQ(model.groups, fit.clusters);
  EXPECT_EQ(parameters_of(model.settings).at("lambda"), 0.03);
}

TEST(TrainMethod, BalancedWeightsSumToOneInEveryTaskAndAreEqualForBothClasses) {
  Settings settings = settings_for("metag");
  settings.class_weight = ClassWeight::balanced;
  const MethodProblem problem = prepare_method(small_data(), settings, {}, 1);
  for (std::size_t t = 0; t < 4; ++t) {
    EXPECT_NEAR(problem.linear.c[t].sum(), 1, 1e-12);
    EXPECT_NEAR(problem.linear.c[t].dot(problem.linear.y[t]), 0, 1e-12);
  }
}

// Decision values of the expansion in kernels are w'phi(x) + b on the mapped features.
TEST(TrainMethod, MappedModelsAreTheirExpansions) {
  const Dataset data = small_data();
  Settings settings = settings_for("metag");
  settings.map = Mapping::kernels(20);
  const MethodProblem problem = prepare_method(data, settings, {}, 1);
  const MethodFit fit = fit_method(problem, settings, 1);
  const Model model = make_model(problem, settings, fit, "");
  EXPECT_EQ(problem.map.rank(), 20);
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const auto row = static_cast<Index>(t);
    const Vector f = decision_values(model, row, data.X(data.tasks[t].rows, Eigen::all));
    const Vector direct = problem.linear.X[t] * fit.linear.W.row(row).transpose();
    EXPECT_LE((f - Vector(direct.array() + fit.linear.b[row])).norm(), 1e-8);
  }
}

TEST(TrainMethod, PooledIsOneTaskOfAllSamples) {
  const Dataset data = small_data();
  const Model pooled = train(data, settings_for("pooled"));
  const Model one = train(pool_tasks(data), settings_for("stl"));
  EXPECT_EQ(pooled.certificate.primal, one.certificate.primal);
  for (Index t = 0; t < 4; ++t)
    EXPECT_EQ(decision_values(pooled, t, data.X), decision_values(one, 0, data.X));
  EXPECT_EQ(pooled.groups, (Groups{{0, 1, 2, 3}}));
}

TEST(TrainMethod, NamesOfTheMainMethodGiveItsModels) {
  const Dataset data = small_data();
  for (const auto& [name, lambda] : {std::pair{"stl", "0"}, std::pair{"mtl", "inf"}}) {
    Settings main = settings_for("coterie");
    main.lambda = lambda;
    Model model = train(data, settings_for(name));
    EXPECT_EQ(model.settings.method, name);
    model.settings = main;
    EXPECT_EQ(model, train(data, main));
  }
}

TEST(TrainMethod, WarmStartsLeadToTheSameOptimum) {
  const Dataset data = small_data();
  for (const std::string name : {"tang", "pareto", "cmtl", "flexclus", "metag"}) {
    Settings settings = settings_for(name);
    settings.tolerance = 1e-8;
    const MethodProblem problem = prepare_method(data, settings, {}, 1);
    const std::string own = method_named(name).parameters.front().name;
    Settings other = settings;
    other.parameters = own + (name == "pareto" ? "=4" : "=0.9");
    const MethodFit first = fit_method(problem, other, 1);
    const MethodFit cold = fit_method(problem, settings, 1);
    const MethodFit warm = fit_method(problem, settings, 1, {}, &first);
    const auto value = [](const MethodFit& fit) {
      return fit.is_linear ? fit.linear.primal : fit.kernel.fit.primal;
    };
    EXPECT_NE(value(first), value(cold)) << name;
    EXPECT_NEAR(value(warm), value(cold), 2e-8 * std::max(1.0, value(cold))) << name;
  }
}

// Wherever a fit is stopped, what it has found holds.
TEST(TrainMethod, StoppedFitsStateWhatIsTrue) {
  const Dataset data = small_data();
  for (const Method& method : methods()) {
    Settings settings = settings_for(method.name);
    settings.lambda = method.name == "coterie" ? "0.3max" : settings.lambda;
    settings.tolerance = 1e-9;
    const MethodProblem problem = prepare_method(data, settings, {}, 1);
    int stopped = 0;
    for (const int calls : {1, 2, 3, 5, 8, 13, 21, 34, 55}) {
      int left = calls;
      const MethodFit fit =
          fit_method(problem, settings, 1, [&](const Progress&) { return --left > 0; });
      if (left > 0) break;
      stopped += fit.status() == Status::stopped;
      const Model model = make_model(problem, settings, fit, "");
      const Verification check = verify_method(model, data);
      for (const std::string& finding : check.findings)
        ADD_FAILURE() << method.name << " after " << calls << " calls: " << finding;
      EXPECT_NEAR(check.primal, model.certificate.primal, 1e-9 * check.primal) << method.name;
    }
    EXPECT_GE(stopped, 2) << method.name;
  }
}

TEST(TrainMethod, RefusesWhatHasNoMeaning) {
  const Dataset data = small_data();
  Extras extras;
  extras.complete = false;
  const auto prepare_with = [&](const Settings& settings, const Extras& more) {
    return message_of([&] { prepare_method(data, settings, more, 1); });
  };
  EXPECT_EQ(prepare_with(settings_for("stl"), extras),
            "--task-graph belongs to --method coterie; stl has no use for it.");
  Extras costs;
  costs.task_C["t01"] = 2;
  EXPECT_EQ(prepare_with(settings_for("metag"), costs),
            "--task-C: tasks of --method metag have no C of their own.");
  Settings norm = settings_for("tang");
  norm.norm = 2;
  EXPECT_EQ(prepare_with(norm, {}), "--norm: --method tang has norm 1 only.");
  Settings map = settings_for("metag");
  map.map = "kernels:x";
  EXPECT_EQ(prepare_with(map, {}),
            "map is 'kernels:x'; it must be 'none', or 'kernels[:rank]' with a whole rank >= 1.");
  map.map = Mapping::kernels();
  map.kernels = "precomputed:K.csv";
  EXPECT_NE(prepare_with(map, {}), "nothing was wrong");
}

}  // namespace
}  // namespace coterie
