#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "coterie/baseline/cmtl.hpp"
#include "coterie/baseline/plain.hpp"
#include "coterie/data/planted_weights.hpp"
#include "coterie/math/message_of.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/model/train.hpp"
#include "coterie/model/verify_method.hpp"
#include "coterie/mtmkl/group_list.hpp"
#include "coterie/stats/partitions.hpp"

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

Settings settings_for(const MethodRef& method) {
  Settings settings;
  settings.method = method;
  settings.kernels = "linear gauss:1,4";
  return settings;
}

Model train(const Dataset& data, const Settings& settings) {
  const MethodProblem problem = prepare_method(data, settings, {}, 1);
  return make_model(problem, settings, fit_method(problem, settings, 1), "");
}

TEST(Methods, TheListKeepsItsOwnRules) {
  EXPECT_EQ(methods().size(), 14);
  for (const Method& method : methods()) {
    Settings settings;
    settings.method = method;
    const Parameters defaults = parameters_of(settings);
    EXPECT_EQ(defaults.size(), method.parameters.size());
    for (const Parameter& parameter : method.parameters)
      EXPECT_NO_THROW(check_parameter(method, parameter, parameter.value, "")) << parameter.name;
    ASSERT_TRUE(read_text(text_of(defaults), settings.parameters));
    EXPECT_EQ(parameters_of(settings), defaults) << text_of(defaults);
    EXPECT_NO_THROW(validate(settings));
  }
}

// The fit of a method through data and settings is the fit of its function on what they say.
TEST(TrainMethod, PreparesWhatTheMethodIsToSee) {
  const Dataset data = small_data();
  Settings settings = settings_for("cmtl");
  settings.parameters = {{"clusters", 2}, {"lambda", 0.03}};
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
  EXPECT_DOUBLE_EQ(model.certificate().primal, fit.primal);
  for (Index t = 0; t < 4; ++t) {
    EXPECT_LE((model.tasks[static_cast<std::size_t>(t)].w() - fit.W.row(t).transpose()).norm(),
              1e-12);
    const Vector f = X * fit.W.row(t).transpose();
    EXPECT_LE((decision_values(model, t, data.X) - Vector(f.array() + fit.b[t])).norm(), 1e-10);
  }
  EXPECT_EQ(model.groups(), fit.clusters);
  EXPECT_EQ(parameters_of(model.settings).at("lambda"), 0.03);
}

TEST(TrainMethod, BalancedWeightsSumToOneInEveryTaskAndAreEqualForBothClasses) {
  Settings settings = settings_for("metag");
  settings.class_weight = ClassWeight::balanced;
  const MethodProblem prepared = prepare_method(small_data(), settings, {}, 1);
  const LinearProblem& problem = std::get<LinearTraining>(prepared).problem;
  for (std::size_t t = 0; t < 4; ++t) {
    EXPECT_NEAR(problem.c[t].sum(), 1, 1e-12);
    EXPECT_NEAR(problem.c[t].dot(problem.y[t]), 0, 1e-12);
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
  const LinearTraining& training = std::get<LinearTraining>(problem);
  const LinearFit& linear = *fit.linear();
  EXPECT_EQ(training.map.rank(), 20);
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const auto row = static_cast<Index>(t);
    const Vector f = decision_values(model, row, data.X(data.tasks[t].rows, Eigen::all));
    const Vector direct = training.problem.X[t] * linear.W.row(row).transpose();
    EXPECT_LE((f - Vector(direct.array() + linear.b[row])).norm(), 1e-8);
  }
}

TEST(TrainMethod, PooledIsOneTaskOfAllSamples) {
  const Dataset data = small_data();
  const Model pooled = train(data, settings_for("pooled"));
  const Model one = train(pool_tasks(data), settings_for("stl"));
  EXPECT_EQ(pooled.certificate().primal, one.certificate().primal);
  for (Index t = 0; t < 4; ++t)
    EXPECT_EQ(decision_values(pooled, t, data.X), decision_values(one, 0, data.X));
  EXPECT_EQ(pooled.groups(), (Groups{{0, 1, 2, 3}}));
}

PlantedWeights two_classifiers(std::uint64_t seed) {
  return plant_weights({.tasks = 8,
                        .clusters = 2,
                        .samples = 40,
                        .features = 5,
                        .deviation = 0.1,
                        .noise = 0.05,
                        .seed = seed});
}

TEST(TrainMethod, OneGroupIsThePool) {
  const Dataset data = small_data();
  Settings settings = settings_for("groups");
  settings.class_weight = ClassWeight::balanced;
  settings.parameters = {{"clusters", 1}};
  const Model one = train(data, settings);
  settings.method = "pooled";
  settings.parameters = {};
  const Model pooled = train(data, settings);
  EXPECT_EQ(one.certificate(), pooled.certificate());
  EXPECT_EQ(one.groups(), pooled.groups());
  for (Index t = 0; t < 4; ++t)
    EXPECT_EQ(decision_values(one, t, data.X), decision_values(pooled, t, data.X));
}

TEST(TrainMethod, GroupsShareThePoolOfTheirSamples) {
  for (const Normalisation& normalise : {Normalisation::cosine(), Normalisation::variance()})
    for (const ClassWeight weight : {ClassWeight::none, ClassWeight::balanced}) {
      const PlantedWeights planted = two_classifiers(3);
      const Dataset data = cast_into_tasks(planted.samples, Casting::binary);
      Settings settings = settings_for("groups");
      settings.normalise = normalise;
      settings.class_weight = weight;
      const Model model = train(data, settings);
      ASSERT_EQ(model.groups().size(), 2);
      EXPECT_EQ(adjusted_rand_index(group_numbers(8, model.groups()), planted.cluster), 1);
      EXPECT_EQ(model.certificate().claim, Claim::given_clusters);
      const Verification check = verify_training(model, data);
      for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
      // Under unit diagonals the pool of a group is a task like any other.
      if (normalise != Normalisation::cosine()) continue;
      for (const std::vector<Index>& group : model.groups()) {
        Dataset part = data;
        part.tasks.clear();
        for (const Index t : group) part.tasks.push_back(data.tasks[static_cast<std::size_t>(t)]);
        Settings pooled = settings;
        pooled.method = "pooled";
        pooled.tolerance = settings.tolerance = 1e-6;
        const Model alone = train(part, pooled);
        const Vector f = decision_values(alone, 0, data.X);
        const Model tight = train(data, settings);
        for (const Index t : group)
          EXPECT_LE((decision_values(tight, t, data.X) - f).lpNorm<Eigen::Infinity>(), 2e-2);
      }
    }
}

TEST(TrainMethod, VerifyFindsATaskInTheWrongGroup) {
  const Dataset data = cast_into_tasks(two_classifiers(3).samples, Casting::binary);
  Model model = train(data, settings_for("groups"));
  ASSERT_EQ(model.groups().size(), 2);
  TaskModel& moved = model.tasks[static_cast<std::size_t>(model.groups()[1].back())];
  const TaskModel& other = model.tasks[static_cast<std::size_t>(model.groups()[0].front())];
  moved.function = other.function;
  moved.bias = other.bias;
  EXPECT_FALSE(verify_training(model, data).holds());
}

TEST(TrainMethod, NamesOfTheMainMethodGiveItsModels) {
  const Dataset data = small_data();
  for (const auto& [name, lambda] : {std::pair{"stl", "0"}, std::pair{"mtl", "inf"}}) {
    Settings main = settings_for("coterie");
    main.lambda = lambda;
    Model model = train(data, settings_for(name));
    EXPECT_EQ(model.settings.method->name, name);
    model.settings = in_full(main);
    EXPECT_EQ(model, train(data, main));
  }
}

TEST(TrainMethod, WarmStartsLeadToTheSameOptimum) {
  const Dataset data = small_data();
  for (const char* const name : {"tang", "pareto", "cmtl", "flexclus", "metag"}) {
    Settings settings = settings_for(name);
    settings.tolerance = 1e-8;
    const MethodProblem problem = prepare_method(data, settings, {}, 1);
    Settings other = settings;
    other.parameters[settings.method->parameters.front().name] =
        settings.method == "pareto" ? 4 : 0.9;
    const MethodFit first = fit_method(problem, other, 1);
    const MethodFit cold = fit_method(problem, settings, 1);
    const MethodFit warm = fit_method(problem, settings, 1, {}, &first);
    const auto value = [](const MethodFit& fit) {
      return fit.linear() ? fit.linear()->primal : fit.kernel()->fit.primal;
    };
    EXPECT_NE(value(first), value(cold)) << name;
    EXPECT_NEAR(value(warm), value(cold), 2e-8 * std::max(1.0, value(cold))) << name;
  }
}

// Wherever a fit is stopped, what it has found holds.
TEST(TrainMethod, StoppedFitsStateWhatIsTrue) {
  const Dataset data = small_data();
  for (const Method& method : methods()) {
    Settings settings = settings_for(method);
    if (method.is_main()) settings.lambda = Lambda::share(0.3);
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
      const Verification check = verify_training(model, data);
      for (const std::string& finding : check.findings)
        ADD_FAILURE() << method.name << " after " << calls << " calls: " << finding;
      EXPECT_NEAR(check.primal, model.certificate().primal, 1e-9 * check.primal) << method.name;
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
            "`task_graph` belongs to the method coterie; stl has no use for it.");
  Extras costs;
  costs.task_C["t01"] = 2;
  EXPECT_EQ(prepare_with(settings_for("metag"), costs),
            "`task_C`: tasks of the method metag have no C of their own.");
  Settings norm = settings_for("tang");
  norm.norm = 2;
  EXPECT_EQ(prepare_with(norm, {}), "`norm`: the method tang has norm 1 only.");
  Settings map = settings_for("metag");
  map.map = Mapping::kernels(0);
  EXPECT_EQ(prepare_with(map, {}),
            "`map` is 'kernels:0'; it must be 'none', or 'kernels[:rank]' with a whole rank >= 1, "
            "300 unless given.");
  map.map = Mapping::kernels();
  map.kernels = "precomputed:K.csv";
  EXPECT_NE(prepare_with(map, {}), "no error");
}

}  // namespace
}  // namespace coterie
