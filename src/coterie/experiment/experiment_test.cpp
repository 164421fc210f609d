#include "coterie/experiment/experiment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "coterie/data/planted.hpp"
#include "coterie/experiment/record.hpp"
#include "coterie/experiment/statistics.hpp"
#include "coterie/experiment/tables.hpp"

namespace coterie {
namespace {

// Three classes of 20, 80 and 21 rows; the features say which.
Samples three_classes() {
  std::vector<std::string> labels;
  for (Index i = 0; i < 121; ++i) labels.emplace_back(i % 6 == 0 ? "c" : i % 3 ? "b" : "a");
  Matrix X(121, 2);
  for (Index i = 0; i < 121; ++i) {
    const double angle = 2.1 * static_cast<double>(labels[static_cast<std::size_t>(i)][0] - 'a');
    X(i, 0) = 2 * std::cos(angle) + std::sin(0.37 * static_cast<double>(i * i));
    X(i, 1) = 2 * std::sin(angle) + std::cos(0.71 * static_cast<double>(i * i));
  }
  return make_samples(std::move(X), labels);
}

std::map<std::string, Index> counts(const Samples& samples, const std::vector<Index>& rows) {
  std::map<std::string, Index> out;
  for (const Index i : rows)
    ++out[samples.labels[static_cast<std::size_t>(samples.label[static_cast<std::size_t>(i)])]];
  return out;
}

void expect_partition(const Parts& parts, Index count) {
  std::vector<Index> all = parts.train;
  all.insert(all.end(), parts.validation.begin(), parts.validation.end());
  all.insert(all.end(), parts.test.begin(), parts.test.end());
  std::ranges::sort(all);
  ASSERT_EQ(std::ssize(all), count);
  for (Index i = 0; i < count; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
  for (const auto* part : {&parts.train, &parts.validation, &parts.test})
    EXPECT_TRUE(std::ranges::is_sorted(*part));
}

TEST(Parts, HaveTheShareOfEveryClassAndHalvesOfTheRest) {
  const Samples samples = three_classes();
  const auto all = counts(samples, capped_rows(samples, 1000, 1));
  for (const double share : {0.1, 0.2, 0.5}) {
    const Parts parts = part_rows(samples, {share, false, 7});
    expect_partition(parts, samples.X.rows());
    auto train = counts(samples, parts.train), validation = counts(samples, parts.validation),
         test = counts(samples, parts.test);
    for (const auto& [label, n] : all) {
      EXPECT_EQ(train[label], std::lround(share * static_cast<double>(n)));
      EXPECT_EQ(validation[label], (n - train[label]) / 2);
      EXPECT_EQ(test[label], n - train[label] - validation[label]);
    }
  }
}

TEST(Parts, GiveEqualClassesWhatTheSmallestAllows) {
  const Samples samples = three_classes();
  const auto all = counts(samples, capped_rows(samples, 1000, 1));
  const Index smallest = std::min({all.at("a"), all.at("b"), all.at("c")});
  const Parts parts = part_rows(samples, {0.5, true, 7});
  expect_partition(parts, samples.X.rows());
  for (const auto& [label, n] : counts(samples, parts.train))
    EXPECT_EQ(n, std::lround(0.5 * static_cast<double>(smallest)));
}

TEST(Parts, StratifyWithinTasks) {
  const Samples samples =
      plant_groups({.tasks = 4, .groups = 2, .samples = 40, .positive_share = 0.3}).samples;
  const Parts parts = part_rows(samples, {0.2, false, 7});
  expect_partition(parts, samples.X.rows());
  std::map<std::pair<Index, Index>, std::pair<Index, Index>> seen;  // all, train
  for (std::size_t i = 0; i < samples.label.size(); ++i)
    ++seen[{samples.task[i], samples.label[i]}].first;
  for (const Index i : parts.train)
    ++seen[{samples.task[static_cast<std::size_t>(i)], samples.label[static_cast<std::size_t>(i)]}]
          .second;
  EXPECT_EQ(seen.size(), 8U);
  for (const auto& [key, n] : seen)
    EXPECT_EQ(n.second, std::lround(0.2 * static_cast<double>(n.first)));
}

// A split depends on seed, data set, share and repetition alone: not on which other classes there are, nor on methods.
TEST(Parts, DependOnTheirSeedAlone) {
  const Samples samples = three_classes();
  const DatasetPlan plan{.name = "three", .files = {}, .shares = {}};
  const Parts parts = planned_parts(samples, plan, 1, 0.2, 1);
  EXPECT_EQ(parts, planned_parts(samples, plan, 1, 0.2, 1));
  EXPECT_FALSE(parts == planned_parts(samples, plan, 1, 0.2, 2));
  EXPECT_FALSE(parts == planned_parts(samples, plan, 2, 0.2, 1));
  DatasetPlan other = plan;
  other.name = "four";
  EXPECT_FALSE(parts == planned_parts(samples, other, 1, 0.2, 1));

  std::vector<Index> without_b;
  for (Index i = 0; i < samples.X.rows(); ++i)
    if (samples.labels[static_cast<std::size_t>(samples.label[static_cast<std::size_t>(i)])] != "b")
      without_b.push_back(i);
  const Samples fewer = select_rows(samples, without_b);
  std::vector<Index> expected, found;
  for (const Index i : parts.train)
    if (std::ranges::binary_search(without_b, i)) expected.push_back(i);
  for (const Index i : planned_parts(fewer, plan, 1, 0.2, 1).train)
    found.push_back(without_b[static_cast<std::size_t>(i)]);
  EXPECT_EQ(expected, found);
}

TEST(Parts, RefuseClassesThatAreTooSmall) {
  const Samples samples = make_samples(Matrix::Ones(5, 1), {"a", "a", "a", "b", "b"});
  try {
    part_rows(samples, {0.5, false, 1});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "class 'b' has 2 row(s); an experiment needs three, to train, choose and test on.");
  }
}

TEST(CappedRows, AreAtMostSoManyOfAClass) {
  const Samples samples = three_classes();
  const std::vector<Index> rows = capped_rows(samples, 30, 3);
  for (const auto& [label, n] : counts(samples, rows))
    EXPECT_EQ(n, std::min<Index>(30, counts(samples, capped_rows(samples, 1000, 3))[label]));
  EXPECT_EQ(rows, capped_rows(samples, 30, 3));
  EXPECT_NE(rows, capped_rows(samples, 30, 4));
}

Plan small_plan() {
  return parse_plan(R"(
shares = [0.2, 0.4]
repetitions = 2
[[dataset]]
name = "three"
files = "three.csv"
casting = "one-vs-one"
equal_classes = true
[[method]]
name = "ours"
kernels = "linear gauss:1,4"
C = [0.1, 1]
lambda = "0,0.1max,inf"
[[method]]
name = "one, chosen"
method = "stl"
kernels = ["linear", "gauss:1"]
class_weight = ["none", "balanced"]
C = 1
)",
                    "plan.toml");
}

TEST(Cell, PairsLeaveOtherTasksOut) {
  DatasetPlan plan{.name = "three", .files = {}, .casting = Casting::one_vs_one, .shares = {}};
  plan.pairs = {{"c", "a"}};
  const Samples samples = planned_samples(three_classes(), plan, 1);
  const Dataset data = planned_tasks(samples, plan);
  ASSERT_EQ(data.tasks.size(), 1U);
  EXPECT_EQ(data.tasks[0].name, "a|c");
  EXPECT_EQ(data.tasks[0].size(), samples.X.rows());
  plan.pairs = {{"a", "z"}};
  EXPECT_THROW(planned_samples(three_classes(), plan, 1), InputError);
}

// Test rows with other features change the test scores and nothing else.
TEST(Cell, NothingBeforeTheTestSeesATestRow) {
  const Plan plan = small_plan();
  const Samples samples = three_classes();
  const Parts parts = planned_parts(samples, plan.datasets[0], 1, 0.2, 1);
  Samples absurd = samples;
  for (const Index i : parts.test)
    absurd.X.row(i) = Vector::Constant(2, 1e3 + static_cast<double>(i));
  for (const MethodPlan& method : plan.methods)
    for (const Scale scale : {Scale::none, Scale::standard}) {
      DatasetPlan dataset = plan.datasets[0];
      dataset.scale = scale;
      CellResult a = *run_cell(samples, parts, dataset, method);
      CellResult b = *run_cell(absurd, parts, dataset, method);
      EXPECT_GT(a.score, 0.8);
      EXPECT_LT(b.score, a.score);
      b.score = a.score;
      b.task_scores = a.task_scores;
      b.seconds = a.seconds;
      EXPECT_EQ(a, b);
    }
}

TEST(Cell, OpenChoicesAreTriedAndNamed) {
  const Plan plan = small_plan();
  const Samples samples = three_classes();
  const Parts parts = planned_parts(samples, plan.datasets[0], 1, 0.4, 1);
  EXPECT_EQ(plan.methods[1].settings.size(), 4U);
  const CellResult open = *run_cell(samples, parts, plan.datasets[0], plan.methods[1]);
  double best = 0;
  for (const Settings& settings : plan.methods[1].settings) {
    MethodPlan one = plan.methods[1];
    one.settings = {settings};
    best = std::max(best, run_cell(samples, parts, plan.datasets[0], one)->validation);
  }
  EXPECT_EQ(open.validation, best);
  EXPECT_TRUE(open.chosen.starts_with("kernels=")) << open.chosen;
  EXPECT_NE(open.chosen.find("class_weight="), std::string::npos) << open.chosen;
}

TEST(Record, ComesBack) {
  CellResult result{.chosen = "C=1", .validation = 0.1 + 0.2, .score = 1.0 / 3};
  result.tasks = {"a|b", "odd: name"};
  result.task_scores = {std::numeric_limits<double>::quiet_NaN(), 0.25};
  result.gap = -1e-17;
  result.status = "converged";
  result.claim = "optimum";
  result.fits = 12;
  result.seconds = 1.25;
  const Record back = decode(encode({"data: x\n", result}));
  EXPECT_EQ(back.description, "data: x\n");
  EXPECT_TRUE(std::isnan(back.result.task_scores[0]));
  CellResult same = back.result;
  same.task_scores = result.task_scores = {0, 0.25};
  EXPECT_EQ(same, result);
}

TEST(Record, RefusesOtherText) {
  const std::string good = encode({"data: x\n", {.chosen = "C=1"}});
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_THROW(decode(std::string_view(good).substr(0, cut)), InputError) << cut;
  EXPECT_THROW(decode(good + "more\n"), InputError);
  std::string wrong = good;
  wrong.replace(wrong.find("tasks: 0"), 8, "tasks: 9");
  EXPECT_THROW(decode(wrong), InputError);
}

// Every line of a description matters: other settings, data or splits are another cell. The name shown is not.
TEST(Record, DescribesWhatACellDependsOn) {
  const Plan plan = small_plan();
  const auto text = [](const Plan& p, Index repetition = 1) {
    return describe_cell(p, p.datasets[0], "0", 0.2, repetition, p.methods[0]);
  };
  Plan other = plan;
  other.methods[0].name = "shown otherwise";
  EXPECT_EQ(text(plan), text(other));
  EXPECT_NE(text(plan), text(plan, 2));
  other = plan;
  other.seed = 2;
  EXPECT_NE(text(plan), text(other));
  other = plan;
  other.methods[0].grid.C.push_back(3);
  EXPECT_NE(text(plan), text(other));
  other = plan;
  other.methods[0].settings[0].class_weight = ClassWeight::balanced;
  EXPECT_NE(text(plan), text(other));
  other = plan;
  other.datasets[0].score = Score::auc;
  EXPECT_NE(text(plan), text(other));
}

TEST(Plan, QuickIsLessOfEverything) {
  const Grid grid = thinned(grid::paper(), 3);
  EXPECT_EQ(grid.C, (std::vector<double>{std::exp2(-10), 1, std::exp2(10)}));
  EXPECT_EQ(grid.lambda.size(), 3U);
  EXPECT_EQ(thinned(grid::paper(), 1).C, std::vector<double>{1});
  const Plan plan = small_plan();
  EXPECT_EQ(cells_of(plan).size(), 8U);
  EXPECT_EQ(cells_of(plan, "20 % #1").size(), 2U);
  EXPECT_EQ(name_of(plan, cells_of(plan)[1]), "three 20 % #1 one, chosen");
}

class Study : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  Experiment run(const ExperimentRun& how) {
    ExperimentRun with = how;
    with.read = [](const DatasetPlan&) { return three_classes(); };
    return run_experiment(small_plan(), folder_.string(), with);
  }
  std::filesystem::path folder_;
};

TEST_F(Study, GoesOnWhereItWasStoppedAndEndsWithTheSameBytes) {
  const Experiment whole = run({.threads = 1});
  EXPECT_FALSE(whole.stopped);
  std::filesystem::remove(folder_ / "journal");
  const auto until = [](Index most) { return [most](Index done, Index) { return done < most; }; };
  Experiment part = run({.threads = 1, .progress = until(3)});
  EXPECT_TRUE(part.stopped);
  EXPECT_EQ(part.done(), 3);
  part = run({.threads = 2, .progress = until(5)});
  EXPECT_EQ(part.earlier, 3);
  EXPECT_GE(part.done(), 5);
  part = run({.threads = 2});
  EXPECT_GE(part.earlier, 5);
  EXPECT_FALSE(part.stopped);
  EXPECT_EQ(results_csv(part), results_csv(whole));
  EXPECT_EQ(tasks_csv(part), tasks_csv(whole));
  EXPECT_EQ(markdown_table(part), markdown_table(whole));
  EXPECT_EQ(run({}).earlier, 8);
}

TEST_F(Study, SaysWhichCellWentWrong) {
  ExperimentRun how;
  how.read = [](const DatasetPlan&) {
    Samples samples = three_classes();
    samples.X.row(5).setZero();  // which a normalised linear kernel cannot take
    return samples;
  };
  try {
    run_experiment(small_plan(), folder_.string(), how);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("three ")) << error.what();
  }
}

// Three data sets at two shares, four repetitions; `first` is the main method. Scores differ by data set, share, repetition and method.
Experiment made_up_study() {
  Experiment out;
  out.plan.repetitions = 4;
  for (const char* name : {"d1", "d2", "d3"})
    out.plan.datasets.push_back({.name = name, .files = {"f"}, .shares = {0.1, 0.5}});
  for (const char* name : {"other", "first", "third"})
    out.plan.methods.push_back({.name = name, .settings = {Settings{}}, .grid = {}});
  out.plan.methods[0].settings[0].method = "stl";
  out.cells = cells_of(out.plan);
  for (const Cell& cell : out.cells) {
    CellResult result;
    result.score = 0.5 + 0.1 * static_cast<double>(cell.dataset) + 0.1 * cell.share +
                   0.01 * static_cast<double>(cell.repetition * cell.repetition) *
                       (1 + static_cast<double>(cell.method)) / 3;
    result.train = 20;
    result.validated = 40;
    result.tested = 30;
    out.results.emplace_back(result);
  }
  return out;
}

void forget(Experiment& study, auto&& which) {
  for (std::size_t i = 0; i < study.cells.size(); ++i)
    if (which(study.cells[i])) study.results[i].reset();
}

TEST(Statistics, AreThoseOfTheComparisonRoom) {
  const Experiment study = made_up_study();
  const std::vector<StudyBlock> blocks = study_statistics(study);
  ASSERT_EQ(blocks.size(), 3);
  EXPECT_EQ(blocks[0].name, "10 %");
  EXPECT_EQ(blocks[2].name, "all shares");
  for (const StudyBlock& block : blocks) {
    EXPECT_EQ(block.control, "first");  // the first entry of the main method
    EXPECT_TRUE(block.notes.empty());
    ASSERT_TRUE(block.comparison);
    EXPECT_EQ(block.results.datasets.size(), 3);  // N does not grow with the shares
    EXPECT_EQ(block.comparison->average_ranks, (Vector{{3, 2, 1}}));
  }
  EXPECT_EQ(blocks[1].repetitions, (std::vector<std::vector<Index>>{{4}, {4}, {4}}));
  EXPECT_EQ(blocks[2].repetitions, (std::vector<std::vector<Index>>{{4, 4}, {4, 4}, {4, 4}}));
  // The difference of `first` and `other` is r^2 / 300 at repetition r.
  const Difference& of = blocks[0].differences.front();
  EXPECT_EQ(of.method, "other");
  EXPECT_EQ(of.repetitions, 4);
  EXPECT_DOUBLE_EQ(of.test_train_ratio, 0.5);
  const PairedT expected = resampled_t_test(Vector{{1, 4, 9, 16}} / 300, 0.5);
  EXPECT_NEAR(of.gain.difference.mean, expected.difference.mean, 1e-14);
  EXPECT_NEAR(of.gain.difference.low, expected.difference.low, 1e-14);
  EXPECT_NEAR(of.gain.p, expected.p, 1e-12);
}

TEST(Statistics, LeaveOutWhatIsMissingAndSaySo) {
  Experiment study = made_up_study();
  forget(study, [](const Cell& cell) {
    return (cell.dataset == 0 && cell.method == 2) || (cell.dataset == 1 && cell.repetition == 4) ||
           (cell.dataset == 2 && cell.method == 0 && cell.repetition < 3);
  });
  const std::vector<StudyBlock> blocks = study_statistics(study);
  EXPECT_EQ(blocks[0].results.datasets, (std::vector<std::string>{"d2", "d3"}));
  EXPECT_EQ(blocks[0].repetitions, (std::vector<std::vector<Index>>{{3}, {2}}));
  EXPECT_EQ(blocks[0].notes,
            (std::vector<std::string>{"d1 is not ranked: there are no results yet of third."}));
  EXPECT_EQ(
      blocks[2].notes,
      (std::vector<std::string>{"d1 is not ranked: at no share do all methods have a result."}));
  // Differences are of pairs: all that both have.
  std::map<std::string, Index> counts;
  for (const Difference& of : blocks[0].differences)
    counts[of.dataset + " " + of.method] = of.repetitions;
  EXPECT_EQ(
      counts,
      (std::map<std::string, Index>{
          {"d1 other", 4}, {"d2 other", 3}, {"d2 third", 3}, {"d3 other", 2}, {"d3 third", 4}}));
}

TEST(Statistics, RankMethodsThatRunEverywhere) {
  Experiment study = made_up_study();
  study.plan.methods[2].datasets = {"d3"};
  study.plan.control = "other";
  std::vector<std::optional<CellResult>> kept;
  for (std::size_t i = 0; i < study.cells.size(); ++i)
    if (study.cells[i].method != 2 || study.cells[i].dataset == 2) kept.push_back(study.results[i]);
  study.cells = cells_of(study.plan);
  study.results = kept;
  const StudyBlock block = study_statistics(study).front();
  EXPECT_EQ(block.results.methods, (std::vector<std::string>{"other", "first"}));
  EXPECT_EQ(block.control, "other");
  EXPECT_EQ(block.notes, (std::vector<std::string>{"third is not ranked: it is run on d3 only."}));
  EXPECT_EQ(block.differences.back().method, "third");  // but compared
  forget(study, [](const Cell& cell) { return cell.dataset > 0; });
  const StudyBlock little = study_statistics(study).front();
  EXPECT_FALSE(little.comparison);
  EXPECT_EQ(little.notes.back(), "No ranks: they need two data sets that all methods have done.");
  study.plan.control = "third";
  EXPECT_EQ(study_statistics(study).front().notes.back(),
            "No ranks: the control, third, is not run on every data set.");
}

TEST(Statistics, LowerLossesAreBetter) {
  Experiment study = made_up_study();
  for (DatasetPlan& dataset : study.plan.datasets) dataset.score = Score::log_loss;
  const StudyBlock block = study_statistics(study).front();
  EXPECT_EQ(block.comparison->average_ranks, (Vector{{1, 2, 3}}));
  EXPECT_LT(block.differences.front().gain.difference.mean, 0);
}

}  // namespace
}  // namespace coterie
