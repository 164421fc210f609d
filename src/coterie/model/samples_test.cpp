// Tasks with many samples, of which most are left out of the work: the proof is over all of them, and neither memory nor threads nor
// the way Gram matrices are kept changes the answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "coterie/data/planted.hpp"
#include "coterie/math/random.hpp"
#include "coterie/model/memory_plan.hpp"
#include "coterie/model/train.hpp"
#include "coterie/model/verify.hpp"

namespace coterie {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr Index kSamples = 110;  // a hundred times slower there; the release build runs them all
constexpr std::uint64_t kSeeds = 3;
#else
constexpr Index kSamples = 250;
constexpr std::uint64_t kSeeds = 15;
#endif

Dataset many_samples(std::uint64_t seed, Index samples = kSamples) {
  PlantedSettings planted;
  planted.tasks = 3;
  planted.groups = 2;
  planted.samples = samples;
  planted.size_spread = 0.5;
  planted.noise = seed % 2 ? 0.02 : 0.2;
  planted.seed = seed;
  return cast_into_tasks(plant_groups(planted).samples, Casting::binary);
}

Settings settings_of(std::uint64_t seed) {
  Random random(seed);
  Settings settings;
  settings.C = std::pow(10, random.uniform(-1, 2));
  settings.kernels = seed % 3 ? "paper" : "gauss:1,3 laplace:2 poly:3:1 linear";
  settings.class_weight = seed % 4 == 0 ? ClassWeight::balanced : ClassWeight::none;
  settings.normalise = seed % 5 == 0 ? Normalisation::variance() : Normalisation::cosine();
  settings.norm = seed % 3 == 2 ? 2 : 1;
  const Lambda lambdas[] = {0, "inf", "0.05max", "0.3max", "0.7max"};
  settings.lambda = lambdas[seed % 5];
  settings.tolerance = seed % 2 ? 1e-4 : 1e-6;
  return settings;
}

bool same_bits(const Fit& a, const Fit& b) {
  if (a.theta != b.theta || a.bias != b.bias || a.primal != b.primal || a.dual != b.dual ||
      a.nu != b.nu || a.groups != b.groups)
    return false;
  for (std::size_t t = 0; t < a.alpha.size(); ++t)
    if (a.alpha[t] != b.alpha[t]) return false;
  return true;
}

TEST(ManySamples, TheProofIsOverAllOfThem) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Dataset data = many_samples(seed);
    const Settings settings = settings_of(seed);
    const Prepared prepared = prepare(data, settings, {}, 1);
    const Fitted fitted = fit_prepared(prepared, settings, 1);
    EXPECT_EQ(fitted.fit.status, Status::converged);
    const Verification check = verify_training(make_model(prepared, settings, fitted, ""), data);
    for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
    EXPECT_LE(check.gap, settings.tolerance * (1 + 1e-3));
  }
}

TEST(ManySamples, AStepLimitStillGivesAProvedBound) {
  const Dataset data = many_samples(3);
  Settings settings = settings_of(3);
  settings.lambda = "0.3";
  settings.max_steps = 1;
  const Prepared prepared = prepare(data, settings, {}, 1);
  const Fitted fitted = fit_prepared(prepared, settings, 1);
  EXPECT_EQ(fitted.fit.status, Status::step_limit);
  const Verification check = verify_training(make_model(prepared, settings, fitted, ""), data);
  for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
  EXPECT_NEAR(check.gap, fitted.fit.gap, 1e-7);
}

TEST(ManySamples, MemoryAndThreadsChangeNoBit) {
  for (std::uint64_t seed = 1; seed <= std::min<std::uint64_t>(5, kSeeds); ++seed) {
    SCOPED_TRACE(seed);
    const Settings settings = settings_of(seed);
    const Prepared prepared = prepare(many_samples(seed), settings, {}, 1);
    const Fit all = fit_prepared(prepared, settings, 1).fit;
    for (const double bytes : {0.0, 4e5})
      EXPECT_TRUE(same_bits(all, fit_prepared(prepared, settings, 1, {}, bytes).fit)) << bytes;
    EXPECT_TRUE(same_bits(all, fit_prepared(prepared, settings, 2).fit));
    EXPECT_TRUE(same_bits(all, fit_prepared(prepared, settings, 2, {}, 4e5).fit));
  }
}

TEST(ManySamples, StoredMatricesGiveTheSameValue) {
  for (std::uint64_t seed = 1; seed <= std::min<std::uint64_t>(5, kSeeds); ++seed) {
    SCOPED_TRACE(seed);
    Settings settings = settings_of(seed);
    settings.tolerance = 1e-7;
    const Dataset data = many_samples(seed);
    const Fit computed = fit_prepared(prepare(data, settings, {}, 1), settings, 1).fit;
    const Prepared stored = prepare(data, settings, {}, 1, Storage::stored);
    const Fitted fitted = fit_prepared(stored, settings, 1);
    EXPECT_EQ(fitted.fit.status, Status::converged);
    EXPECT_NEAR(fitted.fit.primal, computed.primal, 3e-7 * std::max(1.0, computed.primal));
    const Verification check = verify_training(make_model(stored, settings, fitted, ""), data);
    for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
  }
}

// Along lambda and C with one workspace: every fit proved, and as good as one from scratch.
TEST(ManySamples, FitsThatShareAWorkspaceAreProvedAnew) {
  const Dataset data = many_samples(4);
  Settings settings;
  settings.tolerance = 1e-6;
  Workspace workspace;
  WarmStart start;
  for (const double C : {0.5, 8.0}) {
    settings.C = C;
    Prepared prepared = prepare(data, settings, {}, 1);
    if (!workspace.tasks.empty()) workspace = Workspace();  // its Gram matrices are gone
    double before = 0;
    for (const double lambda : {30.0, 3.0, 0.3, 0.3}) {
      const MtmklProblem problem = joint_problem(prepared, prepared.set.C, lambda, settings.norm);
      Fitted fitted;
      fitted.lambda = lambda;
      fitted.fit = fit(problem, {.gap_tolerance = 1e-6, .threads = 1}, {}, start, &workspace);
      EXPECT_EQ(fitted.fit.status, Status::converged);
      settings.lambda = lambda;
      const Verification check = verify_training(make_model(prepared, settings, fitted, ""), data);
      for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
      const Fit cold = fit(problem, {.gap_tolerance = 1e-6, .threads = 1});
      EXPECT_NEAR(fitted.fit.primal, cold.primal, 2e-6 * cold.primal);
      if (lambda == before) {
        EXPECT_EQ(fitted.fit.svm_solves, 0) << "where the last fit ended nothing is left to do";
      }
      before = lambda;
      start = {fitted.fit.theta, fitted.fit.alpha, fitted.fit.nu};
    }
    start = {};
  }
}

TEST(ManySamples, OtherCostsWithOneWorkspace) {
  const Dataset data = many_samples(6);
  Settings settings;
  Prepared prepared = prepare(data, settings, {}, 1);
  Workspace workspace;
  WarmStart start;
  for (const double C : {0.1, 1.0, 10.0}) {
    for (Vector& costs : prepared.set.C) costs.setConstant(C);
    const MtmklProblem problem = joint_problem(prepared, prepared.set.C, 1.0, settings.norm);
    const Fit warm = fit(problem, {.gap_tolerance = 1e-6, .threads = 1}, {}, start, &workspace);
    const Fit cold = fit(problem, {.gap_tolerance = 1e-6, .threads = 1});
    EXPECT_EQ(warm.status, Status::converged);
    EXPECT_NEAR(warm.primal, cold.primal, 2e-6 * cold.primal);
    start = {warm.theta, warm.alpha, warm.nu};
  }
}

TEST(MemoryPlan, RefusesWhatCannotFitAndSaysWhatItNeeds) {
  const Dataset data = many_samples(1);
  const Settings settings;
  const MemoryPlan roomy = plan_memory(data, settings, {}, 1, 1e9);
  EXPECT_TRUE(roomy.keeps_all());
  EXPECT_EQ(roomy.kernels, 1e9 - roomy.fixed - roomy.least);
  const double tight = roomy.fixed + roomy.least;
  EXPECT_FALSE(plan_memory(data, settings, {}, 1, 1.001 * tight).keeps_all());
  EXPECT_THROW(plan_memory(data, settings, {}, 1, 0.99 * tight), InputError);
  try {
    plan_memory(data, settings, {}, 1, 1e6);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(bytes_text(1.01 * tight)), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace coterie
