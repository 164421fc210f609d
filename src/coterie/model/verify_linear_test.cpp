#include "coterie/model/verify_linear.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "coterie/model/random_problem.hpp"
#include "coterie/model/train.hpp"
#include "coterie/model/verify_method.hpp"

namespace coterie {
namespace {

LinearWeights& weights(Model& model) { return std::get<LinearWeights>(model.tasks[0].function); }

struct Trained {
  Dataset data;
  Model model;
};

Trained train(const Settings& settings, std::uint64_t seed = 1) {
  Dataset data;
  for (; data.tasks.size() < 3; seed += 100)
    data = random_problem(seed, Oddity::unequal_sizes).data;
  const MethodProblem problem = prepare_method(data, settings, {}, 1);
  const MethodFit fit = fit_method(problem, settings, 1);
  return {std::move(data), make_model(problem, settings, fit, "")};
}

Settings settings_of(const MethodRef& method, const Parameters& parameters) {
  Settings settings;
  settings.method = method;
  settings.parameters = parameters;
  settings.scale = Scale::standard;
  settings.tolerance = 1e-6;
  return settings;
}

std::vector<Settings> some_settings() {
  return {settings_of("cmtl", {{"lambda", 0.01}, {"clusters", 1}}),
          settings_of("cmtl", {{"lambda", 0.1}, {"clusters", 2}}),
          settings_of("cmtl", {{"clusters", 2}, {"centred", 0}}),
          settings_of("flexclus", {{"lambda1", 0.01}, {"lambda2", 0.01}}),
          settings_of("flexclus", {{"lambda1", 0.1}, {"lambda3", 0.01}}),
          settings_of("metag", {{"lambda", 0.001}}),
          settings_of("metag", {{"lambda", 0.05}, {"ridge", 0.1}, {"levels", 2}}),
          settings_of("whom", {{"lambda", 0.05}, {"clusters", 1}}),
          settings_of("whom", {{"lambda", 0.05}, {"clusters", 2}, {"restarts", 2}}),
          settings_of("coclus", {{"clusters", 1}}),
          settings_of("coclus", {{"lambda1", 0.02}, {"clusters", 2}, {"ridge", 0.01}})};
}

std::string described(const Settings& settings) {
  return fmt::format("{} {} {}", text_of(settings.method), text_of(settings.parameters),
                     text_of(settings.loss));
}

// What nothing in a model proves: which clusters there are, where there may be several.
std::vector<std::string> clusters_of(const Settings& settings) {
  const auto clusters = settings.parameters.find("clusters");
  if (clusters == settings.parameters.end() || clusters->second == 1) return {};
  return {settings.method == "whom" ? "the clusters, for which the weights are optimal"
                                    : "the clusters, which are read off the weights"};
}

std::string all_findings(const Verification& check) {
  return fmt::format("{}", fmt::join(check.findings, "; "));
}

// What is taken of this model, beside what is of every one.
std::vector<std::string> own_taken(const Verification& check) {
  std::vector<std::string> own;
  for (const std::string& text : check.taken)
    if (!text.starts_with("the stated bound") && !text.starts_with("how the fit was made") &&
        !text.starts_with("settings that mean nothing"))
      own.push_back(text);
  return own;
}

TEST(VerifyLinear, FindsNothingInSoundModels) {
  std::uint64_t seed = 0;
  for (Settings settings : some_settings())
    for (const Loss loss : {Loss::squared_hinge, Loss::logistic, Loss::square}) {
      settings.loss = loss;
      settings.class_weight = ++seed % 2 ? ClassWeight::none : ClassWeight::balanced;
      settings.scale = seed % 3 ? Scale::standard : Scale::none;
      const Trained trained = train(settings, seed);
      const Verification check = verify_training(trained.model, trained.data);
      EXPECT_EQ(all_findings(check), "") << described(settings);
      EXPECT_LE(check.gap, 1e-6);
      EXPECT_LE(check.primal_difference, 1e-12);
      EXPECT_LE(check.dual_difference, 1e-10);
      const Certificate& stated = trained.model.certificate();
      EXPECT_EQ(stated.status, Status::converged);
      EXPECT_GT(stated.bound, 0);
      EXPECT_LE(stated.gap + stated.bound, 1e-6);
      EXPECT_LE(check.bound, 1e-8);
      EXPECT_EQ(own_taken(check), clusters_of(settings));
      EXPECT_TRUE(check.groups_exact || settings.method != "metag");
    }
}

TEST(VerifyLinear, ChecksMappedFeatures) {
  for (Settings settings : some_settings()) {
    settings.scale = Scale::none;
    settings.map = Mapping::kernels(20);
    settings.kernels = "linear gauss:1,4";
    settings.normalise = Normalisation::variance();
    const Trained trained = train(settings, 5);
    const Verification check = verify_training(trained.model, trained.data);
    EXPECT_EQ(all_findings(check), "") << described(settings);
    EXPECT_LE(check.primal_difference, 1e-9);
    EXPECT_LE(check.dual_difference, 1e-8);
    EXPECT_LE(check.bound, 1e-6);
    std::vector<std::string> taken = clusters_of(settings);
    taken.insert(taken.begin(), "which rows are the pivots of the map");
    EXPECT_EQ(own_taken(check), taken);
    Model wrong = trained.model;
    std::get<KernelExpansion>(wrong.tasks[0].function).alpha[0] *= 1.1;
    EXPECT_NE(all_findings(verify_training(wrong, trained.data)), "");
  }
}

TEST(VerifyLinear, SeesWhatIsWrong) {
  for (const Settings& settings : some_settings()) {
    const Trained trained = train(settings, 3);
    const auto findings = [&](const auto& spoil) {
      Model model = trained.model;
      spoil(model);
      return all_findings(verify_training(model, trained.data));
    };
    EXPECT_EQ(findings([](Model&) {}), "");
    EXPECT_NE(findings([](Model& m) { weights(m).w[0] += 1e-3; }), "");
    EXPECT_NE(findings([](Model& m) { m.tasks[0].bias += 1e-3; }), "");
    EXPECT_NE(findings([](Model& m) { m.tasks[0].objective += 1e-3; }), "");
    EXPECT_NE(findings([](Model& m) { m.certificate().primal += 1e-3; }), "");
    if (settings.method != "coclus") {
      EXPECT_NE(findings([](Model& m) { m.certificate().dual += 1e-3; }), "");
    }
    const Claim claim = trained.model.certificate().claim;
    for (const Claim other : {Claim::optimum, Claim::given_clusters, Claim::stationary})
      if (other != claim) {
        EXPECT_NE(findings([&](Model& m) { m.certificate().claim = other; }), "");
      }
    EXPECT_EQ(claim, settings.method == "coclus"                ? Claim::stationary
                     : settings.parameters.contains("restarts") ? Claim::given_clusters
                                                                : Claim::optimum);
    EXPECT_NE(findings([](Model& m) { m.scaling.shift[0] += 1e-3; }), "");
    EXPECT_NE(findings([](Model& m) { m.settings.loss = Loss::logistic; }), "");
    EXPECT_NE(findings([](Model& m) { m.settings.class_weight = ClassWeight::balanced; }), "");
    if (settings.method == "flexclus") {
      EXPECT_NE(findings([](Model& m) { m.tasks[0].shared[0] += 1e-2; }), "");
      EXPECT_NE(findings([](Model& m) { m.settings.parameters = {{"lambda2", 3}}; }), "");
    }
    if (settings.method == "coclus") {
      EXPECT_NE(findings([](Model& m) { m.tasks[0].shared[0] += 1e-2; }), "");
      EXPECT_NE(findings([](Model& m) { m.certificate().gap += 1e-2; }), "");
    }
    if (settings.method == "whom") {
      EXPECT_NE(findings([](Model& m) {
                  m.groups().clear();
                  for (Index t = 0; t < std::ssize(m.tasks); ++t) m.groups().push_back({t});
                }),
                "");
    }
    if (settings.method == "metag") {
      EXPECT_NE(findings([](Model& m) { m.certificate().nu *= 1.5; }), "");
      EXPECT_THROW(findings([](Model& m) { m.certificate().nu.conservativeResize(1, 1); }),
                   InputError);
    }
    EXPECT_THROW(findings([](Model& m) { m.groups().emplace_back(1, 0); }), InputError);
    EXPECT_THROW(findings([](Model& m) { weights(m).w.conservativeResize(1); }), InputError);
    // Less effort than was claimed: the gap is what it is.
    Settings lazy = settings;
    lazy.tolerance = 0.3;
    Trained rough = train(lazy, 3);
    rough.model.settings.tolerance = 1e-9;
    if (rough.model.certificate().gap > 1e-6) {
      EXPECT_NE(all_findings(verify_training(rough.model, rough.data)), "");
    }
  }
}

// Numbers are compared as closely as their bounds allow.
TEST(VerifyLinear, RefusesSmallForgeries) {
  for (const Settings& settings : some_settings()) {
    const Trained trained = train(settings, 3);
    const Certificate& stated = trained.model.certificate();
    const auto findings = [&](const auto& spoil) {
      Model model = trained.model;
      spoil(model);
      return all_findings(verify_training(model, trained.data));
    };
    const std::string what = described(settings);
    EXPECT_EQ(findings([](Model&) {}), "") << what;
    for (const double part : {1e-6, -1e-6, 1e-9, -1e-9}) {
      EXPECT_NE(findings([&](Model& m) { m.certificate().primal *= 1 + part; }), "") << what;
      EXPECT_NE(findings([&](Model& m) { m.tasks[0].objective *= 1 + part; }), "") << what;
      EXPECT_NE(findings([&](Model& m) { m.certificate().gap += part; }), "") << what;
      if (stated.claim != Claim::stationary) {
        EXPECT_NE(findings([&](Model& m) { m.certificate().dual *= 1 + part; }), "") << what;
      }
    }
    for (const double nudge : {1e-5, -1e-5}) {  // objectives move by its square
      EXPECT_NE(findings([&](Model& m) { m.tasks[0].bias += nudge; }), "") << what;
      EXPECT_NE(findings([&](Model& m) { weights(m).w[0] += nudge; }), "") << what;
    }
    // A bound that would cover what was changed is above the tolerance, and what it covers is said.
    EXPECT_NE(findings([&](Model& m) {
                m.certificate().primal *= 1 + 1e-4;
                m.certificate().bound = 1e-3;
              }),
              "")
        << what;
    if (settings.method == "metag" && stated.nu.size() > 0) {
      Index longest = 0;
      stated.nu.rowwise().norm().maxCoeff(&longest);
      const double radius = settings.parameters.at("lambda") == 0.001 ? 0.001 : 0.025;
      const double length = stated.nu.row(longest).norm();
      const auto stretched = [&](double to) {
        return findings([&](Model& m) { m.certificate().nu.row(longest) *= to * radius / length; });
      };
      EXPECT_LE(length, radius);
      EXPECT_NE(stretched(1 + 1e-8).find("a pair dual leaves its ball"), std::string::npos) << what;
    }
  }
}

// A model of a version that stated no bound is read as before, and this is said.
TEST(VerifyLinear, TakesOlderModels) {
  Trained trained = train(some_settings().front(), 3);
  Certificate& stated = trained.model.certificate();
  stated.bound = 0;
  stated.scale_floor = 1;
  const Verification check = verify_training(trained.model, trained.data);
  EXPECT_EQ(all_findings(check), "");
  ASSERT_FALSE(check.taken.empty());
  EXPECT_NE(check.taken[0].find("a version that stated no bound"), std::string::npos);
  stated.primal *= 1 + 1e-6;
  EXPECT_NE(all_findings(verify_training(trained.model, trained.data)), "");
}

// Bounds follow the features: what is badly scaled is refused no more than what is not.
TEST(VerifyLinear, TakesBadScales) {
  for (Settings settings : some_settings())
    for (const Loss loss : {Loss::squared_hinge, Loss::logistic, Loss::square}) {
      settings.loss = loss;
      settings.scale = Scale::none;
      settings.max_steps = 5;
      Dataset data = train(settings, 7).data;
      for (Index j = 0; j < data.X.cols(); ++j) data.X.col(j) *= j % 2 == 0 ? 1e5 : 1e-3;
      const MethodProblem problem = prepare_method(data, settings, {}, 1);
      const MethodFit fit = fit_method(problem, settings, 1);
      const Model model = make_model(problem, settings, fit, "");
      const Verification check = verify_training(model, data);
      EXPECT_EQ(all_findings(check), "") << described(settings);
      EXPECT_GT(model.certificate().bound, 0);
    }
}

TEST(VerifyLinear, ReportsEverySample) {
  const Trained trained = train(some_settings().front());
  Index calls = 0, samples = 0;
  for (const Task& task : trained.data.tasks) samples += task.size();
  verify_training(trained.model, trained.data, {}, [&](Index done, Index all) {
    EXPECT_EQ(done, calls++);
    EXPECT_EQ(all, samples);
  });
  EXPECT_EQ(calls, samples);
}

}  // namespace
}  // namespace coterie
