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

// A row of weight k costs what k rows alike would.
TEST(Weights, AreWorthRowsRepeated) {
  for (std::uint64_t seed = 1; seed <= 2 * kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Dataset weighted = many_samples(seed, 40);
    Settings settings = settings_of(seed);
    settings.class_weight = ClassWeight::none;  // counts rows
    settings.normalise = Normalisation::cosine();
    settings.tolerance = 1e-6;
    weighted.weight = Vector::Ones(weighted.X.rows());
    Dataset repeated = weighted;
    repeated.weight.resize(0);
    for (std::size_t t = 0; t < weighted.tasks.size(); ++t) {
      const Task& task = weighted.tasks[t];
      Task& more = repeated.tasks[t];
      std::vector<double> y(more.y.begin(), more.y.end());
      for (Index i = 0; i < task.size(); ++i) {
        const auto row = task.rows[static_cast<std::size_t>(i)];
        weighted.weight[row] = std::floor(random.uniform(1, 4));
        for (double k = 1; k < weighted.weight[row]; ++k) {
          more.rows.push_back(row);
          y.push_back(task.y[i]);
        }
      }
      more.y = Eigen::Map<const Vector>(y.data(), std::ssize(y));
    }
    const auto fit_of = [&](const Dataset& data) {
      return fit_prepared(prepare(data, settings, {}, 1), settings, 1).fit;
    };
    const Fit by_weight = fit_of(weighted), by_rows = fit_of(repeated);
    EXPECT_EQ(by_weight.status, Status::converged);
    EXPECT_EQ(by_rows.status, Status::converged);
    if (settings.lambda.relative) continue;  // of a lambda_max that each has found by itself
    EXPECT_GE(by_weight.primal, by_rows.dual - by_rows.bound * by_rows.primal);
    EXPECT_GE(by_rows.primal, by_weight.dual - by_weight.bound * by_weight.primal);
  }
}

TEST(Weights, AreCheckedWithTheDataThatTheyBelongTo) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Dataset data = many_samples(seed, 40);
    const Settings settings = settings_of(seed);
    Random random(seed);
    data.weight.resize(data.X.rows());
    for (double& weight : data.weight) weight = std::exp(random.uniform(-1, 1));
    const Prepared prepared = prepare(data, settings, {}, 1);
    const Model model = make_model(prepared, settings, fit_prepared(prepared, settings, 1), "");
    EXPECT_EQ(verify_training(model, data).findings, std::vector<std::string>{});
    data.weight.resize(0);
    refused += !verify_training(model, data).holds();
  }
  // Where no sample is on the wrong side of its margin, no C matters, nor any weight.
  EXPECT_GT(refused, kSeeds / 2);
}

TEST(Weights, AreRefusedWhereTheyMeanNothing) {
  Dataset data = many_samples(1, 20);
  data.weight = Vector::Ones(data.X.rows());
  const auto message = [&](const Settings& settings) -> std::string {
    try {
      prepare_method(data, settings, {}, 1);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({}), "no error");
  EXPECT_EQ(message({.method = "pooled"}), "no error");
  EXPECT_EQ(message({.method = "cmtl"}),
            "`sample_weight`: the method cmtl has no weights of rows.");
  EXPECT_EQ(message({.method = "groups"}),
            "`sample_weight`: the method groups has no weights of rows.");
  EXPECT_EQ(message({.kernels = "linear gauss:1@pooled"}),
            "`sample_weight`: kernels on scores of other models (@pooled, @others, @group) have no "
            "weights of rows.");
}

}  // namespace
}  // namespace coterie
