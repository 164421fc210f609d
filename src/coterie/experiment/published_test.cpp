#include "coterie/experiment/published.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "coterie/data/planted.hpp"
#include "coterie/experiment/experiment.hpp"
#include "coterie/experiment/readings.hpp"
#include "coterie/experiment/record.hpp"
#include "coterie/experiment/tables.hpp"

namespace coterie {
namespace {

Plan plan_of(const std::string& method, const std::string& protocol = "published") {
  return parse_plan("seed = 3\nshares = 0.3\nrepetitions = 2\nprotocol = \"" + protocol + R"("
[[dataset]]
name = "planted"
files = "planted"
score = "accuracy"
scale = "standard"
[[method]]
name = "ours"
kernels = "linear gauss:1,4"
)" + method,
                    "plan.toml");
}

const char* const kGrid = "C = \"2^-4..2^6\"\nlambda = \"0,2^-6,1,2^6\"\n";

Samples planted() {
  return plant_groups({.tasks = 4, .groups = 2, .samples = 90, .noise = 0.15, .seed = 5}).samples;
}

CellResult run(const Plan& plan, Index repetition, const PublishedSettings& settings = {},
               int threads = 1) {
  const Samples samples = planted();
  const Parts parts = planned_parts(samples, plan.datasets[0], plan.seed, 0.3, repetition);
  Run with;
  with.threads = threads;
  return *run_published_cell(samples, parts, plan.datasets[0], plan.methods[0], with, settings);
}

double reading(const CellResult& result, const std::string& name) {
  const auto found = std::ranges::find(result.readings, name, &Reading::name);
  EXPECT_NE(found, result.readings.end()) << name;
  return found->score;
}

// What is chosen on test rows cannot be worse there than what is not.
TEST(Published, ChoosingOnTestRowsFlatters) {
  double flattered = 0;
  for (Index repetition = 1; repetition <= 4; ++repetition) {
    const CellResult result = run(plan_of(kGrid), repetition);
    EXPECT_EQ(result.score, reading(result, "script"));
    for (const Reading& other : result.readings)
      EXPECT_GE(reading(result, "largest"), other.score) << other.name;
    flattered += reading(result, "script") - reading(result, "last");
    double mean = 0;
    for (const double score : result.task_scores) mean += score / 4;
    EXPECT_NEAR(mean, result.score, 1e-12);
    EXPECT_TRUE(std::isnan(result.gap));
  }
  EXPECT_GT(flattered, 0);
}

// More iterates can only raise what is chosen among them on test rows at the same lambda.
TEST(Published, MoreIteratesFlatterMore) {
  const Plan plan = plan_of("C = \"2^-4..2^6\"\nlambda = 1\n");
  for (Index repetition = 1; repetition <= 3; ++repetition) {
    double before = 0;
    for (const Index steps : {1, 3, 15}) {
      const double score = run(plan, repetition, {.searched = steps, .scored = steps}).score;
      EXPECT_GE(score, before);
      before = score;
    }
  }
}

// One iterate, one lambda, C = 1: nothing to choose. Weights of 1/M are what `uniform` has under the clean protocol: splits, scaling,
// kernels and SVMs agree.
TEST(Published, WithNothingToChooseIsTheCleanProtocolOfUniformWeights) {
  const Plan plan = plan_of("C = 1\nlambda = 1\n");
  const Plan clean = plan_of("method = \"uniform\"\ntolerance = 1e-7\nC = 1\n", "clean");
  const Samples samples = planted();
  for (Index repetition = 1; repetition <= 3; ++repetition) {
    const CellResult result = run(plan, repetition, {.searched = 1, .scored = 1});
    for (const Reading& each : result.readings) EXPECT_EQ(each.score, result.score) << each.name;
    const Parts parts = planned_parts(samples, clean.datasets[0], clean.seed, 0.3, repetition);
    const CellResult same = *run_cell(samples, parts, clean.datasets[0], clean.methods[0]);
    EXPECT_EQ(result.task_scores, same.task_scores);
    EXPECT_EQ(result.validation, same.validation);
    EXPECT_EQ(result.tested, same.tested);
  }
}

// With lambda = 0 tasks do not see each other: a second iterate is a corner of every task's simplex, one kernel alone.
TEST(Published, WithoutSharingIteratesAreSingleKernels) {
  const Plan plan = plan_of("C = 1\nlambda = 0\n");
  const Samples samples = planted();
  const Parts parts = planned_parts(samples, plan.datasets[0], plan.seed, 0.3, 1);
  const CellResult last = run(plan, 1, {.searched = 2, .scored = 2});
  std::vector<std::vector<double>> single;  // [kernel][task]
  for (const char* kernel : {"linear", "gauss:1", "gauss:4"}) {
    Plan one = plan_of("method = \"stl\"\ntolerance = 1e-7\nC = 1\n", "clean");
    one.methods[0].settings[0].kernels = kernel;
    single.push_back(run_cell(samples, parts, one.datasets[0], one.methods[0])->task_scores);
  }
  // The last iterate's test score is a mean of single kernels' scores.
  std::vector<double> sums = {0};
  for (std::size_t t = 0; t < 4; ++t) {
    std::vector<double> next;
    for (const double sum : sums)
      for (const auto& scores : single) next.push_back(sum + scores[t] / 4);
    sums = next;
  }
  const double found = reading(last, "last");
  EXPECT_TRUE(std::ranges::any_of(sums, [&](double sum) { return std::abs(sum - found) < 1e-12; }))
      << found;
}

TEST(Published, ThreadsChangeNoBit) {
  const Plan plan = plan_of(kGrid);
  CellResult one = run(plan, 1, {}, 1), three = run(plan, 1, {}, 3);
  three.seconds = one.seconds;
  three.gap = one.gap = 0;
  EXPECT_EQ(one, three);
}

TEST(Published, StopsAndKeepsReadings) {
  const Plan plan = plan_of(kGrid);
  const Samples samples = planted();
  const Parts parts = planned_parts(samples, plan.datasets[0], plan.seed, 0.3, 1);
  coterie::Run stop;
  stop.share = [](Index, Index) { return false; };
  EXPECT_FALSE(run_published_cell(samples, parts, plan.datasets[0], plan.methods[0], stop));

  CellResult result = run(plan, 1, {.searched = 2, .scored = 2});
  CellResult back = decode(encode({"data: x\n", result})).result;
  back.gap = result.gap = 0;
  EXPECT_EQ(back, result);
}

TEST(Published, RunsInAStudy) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "published";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ExperimentRun how;
  how.read = [](const DatasetPlan&) { return planted(); };
  const Plan plan = plan_of("C = [0.1, 1]\nlambda = [0.1, 1]\n");
  const Experiment first = run_experiment(plan, folder.string(), how);
  const Experiment again = run_experiment(plan, folder.string(), how);
  EXPECT_EQ(again.earlier, 2);
  write_readings(again, folder.string());
  EXPECT_TRUE(std::filesystem::exists(folder / "readings.csv"));
  EXPECT_EQ(readings_csv(first), readings_csv(again));
  EXPECT_EQ(readings_table(first), readings_table(again));
  EXPECT_NE(readings_table(first).find("| planted | 30 % | ours |"), std::string::npos);
  EXPECT_NE(markdown_table(first).find("Protocol: published."), std::string::npos);
}

TEST(Published, RefusesWhatHasNoSuchIteration) {
  const auto message = [](const std::string& method) {
    try {
      plan_of(method);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_EQ(message("method = \"stl\"\n"),
            "plan.toml:4: 'protocol' is 'published', under which the method stl has no such "
            "iteration; it is of the paper's own, 'coterie' (method 'ours').");
  for (const char* bad : {"norm = 2\n", "lambda = \"0.1max\"\n", "lambda = \"inf\"\n",
                          "class_weight = [\"none\", \"balanced\"]\n", "search = \"coarse\"\n",
                          "normalise = \"cosine,variance\"\n"})
    EXPECT_NE(message(bad).find("'published', under which"), std::string::npos) << message(bad);
  EXPECT_EQ(message(kGrid), "taken");
}

}  // namespace
}  // namespace coterie
