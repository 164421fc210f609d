// Methods side by side, against searches of each alone.
#include "coterie/front/contest.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "coterie/data/planted.hpp"
#include "coterie/front/journals.hpp"

namespace coterie {
namespace {

Dataset planted_tasks() {
  return cast_into_tasks(plant_groups({.tasks = 4, .groups = 2, .samples = 30}).samples,
                         Casting::binary);
}

Candidate candidate(const char* method, const char* kernels = "linear gauss:1,4") {
  Candidate out;
  out.settings.method = method;
  out.settings.kernels = kernels;
  out.grid = parse_method_grid(out.settings, {"0.5,2", "0,0.3max,inf", "1", "cosine"}, "");
  for (ParameterList& list : out.grid.parameters)
    if (list.values.size() > 2) list.values.resize(2);
  return out;
}

const SelectSettings three_folds{.folds = 3};

TEST(Contest, GivesEachMethodItsOwnSearchAndFitsTheBest) {
  const Dataset data = planted_tasks();
  const std::vector<Candidate> all = {candidate("coterie"), candidate("uniform"),
                                      candidate("pooled"), candidate("cmtl")};
  const Contest found = select_among(data, all, three_folds);
  ASSERT_EQ(found.contenders.size(), 4u);
  EXPECT_TRUE(found.left_out.empty());
  double best = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    SelectSettings how = three_folds;
    how.settings = all[k].settings;
    const Selection alone = choose(data, all[k].grid, how);
    EXPECT_EQ(found.contenders[k].selection.chosen, alone.chosen);
    EXPECT_EQ(found.contenders[k].selection.scores.cells, alone.scores.cells);
    best = std::max(best, alone.of_chosen().score);
  }
  EXPECT_EQ(found.chosen().of_chosen().score, best);
  EXPECT_EQ(found.contenders[found.best].behind, 0);
  for (const Contender& one : found.contenders)
    EXPECT_NEAR(one.behind, best - one.selection.of_chosen().score, 1e-12);
  EXPECT_EQ(found.trained->model, train(data, found.chosen().settings));
}

// The error of a difference is that of the cells' differences, not of the two scores.
TEST(Contest, PairsDifferencesByFoldAndTask) {
  const Dataset data = planted_tasks();
  const Contest found =
      judge_candidates(data, {candidate("stl"), candidate("stl", "linear"), candidate("uniform")},
                       {.folds = 3, .score = Score::log_loss});
  const Matrix& best = found.chosen().scores.cells.at(found.chosen().chosen);
  for (const Contender& one : found.contenders) {
    const Matrix& cells = one.selection.scores.cells.at(one.selection.chosen);
    EXPECT_GE(one.behind, 0);
    EXPECT_DOUBLE_EQ(one.behind_error, standard_error(Matrix(cells - best)));
  }
  EXPECT_EQ(found.name(found.contenders[0]), "stl, linear gauss:1,4");
  EXPECT_EQ(found.name(found.contenders[1]), "stl, linear");
  EXPECT_EQ(found.name(found.contenders[2]), "uniform");
}

TEST(Contest, LeavesOutWhatDoesNotApply) {
  Samples samples = plant_groups({.tasks = 3, .groups = 1, .samples = 30}).samples;
  samples.label = samples.task;  // three classes
  samples.labels = samples.tasks;
  samples.task.clear();
  samples.tasks.clear();
  const Dataset data = cast_into_tasks(samples, Casting::one_vs_one);
  const Contest found =
      judge_candidates(data, {candidate("pooled"), candidate("stl")}, {.folds = 3}, {.threads = 1});
  ASSERT_EQ(found.left_out.size(), 1u);
  EXPECT_EQ(found.left_out[0].candidate, 0u);
  EXPECT_EQ(found.left_out[0].why,
            "one model for all tasks asks that a positive label means the same in each, which "
            "pairs of classes do not grant");
  EXPECT_EQ(found.chosen().grid.method->name, "stl");
  EXPECT_THROW(judge_candidates(data, {candidate("pooled")}, {.folds = 3}), InputError);
}

TEST(Contest, GivesEveryMethodTheExtrasItHasAUseFor) {
  const Dataset data = planted_tasks();
  Extras extras;
  extras.complete = false;
  extras.graph = {{0, 1, 1}};
  extras.task_C = {{data.tasks[0].name, 3}};
  const Contest found = judge_candidates(
      data, {candidate("coterie"), candidate("stl"), candidate("pooled"), candidate("cmtl")},
      three_folds, {}, extras);
  EXPECT_EQ(found.contenders.size(), 4u);
  EXPECT_TRUE(extras_for(*MethodRef("coterie"), extras).graph == extras.graph);
  EXPECT_TRUE(extras_for(*MethodRef("stl"), extras).complete);
  EXPECT_FALSE(extras_for(*MethodRef("stl"), extras).task_C.empty());
  EXPECT_TRUE(extras_for(*MethodRef("pooled"), extras).task_C.empty());
}

TEST(Contest, GoesOnFromItsJournal) {
  const Dataset data = planted_tasks();
  const std::vector<Candidate> all = {candidate("coterie"), candidate("stl"), candidate("cmtl")};
  const std::string path = testing::TempDir() + "contest.journal";
  std::filesystem::remove(path);
  {
    SearchJournal journal(path, Resume::no, data, all, three_folds);
    Index rows = 0;
    const Contest stopped =
        judge_candidates(data, all, three_folds, {.threads = 1}, {}, [&](std::size_t k) {
          SearchHooks hooks = journal.hooks(k);
          hooks.progress = [&, k](Index done, Index) { return k < 2 || (rows = done) < 3; };
          return hooks;
        });
    EXPECT_TRUE(stopped.stopped);
    EXPECT_GE(rows, 3);
  }
  SearchJournal journal(path, Resume::yes, data, all, three_folds);
  EXPECT_GT(journal.earlier(), 6);  // two folds of coterie alone are six
  const Contest resumed = judge_candidates(data, all, three_folds, {}, {},
                                           [&](std::size_t k) { return journal.hooks(k); });
  const Contest whole = judge_candidates(data, all, three_folds);
  for (std::size_t k = 0; k < all.size(); ++k)
    EXPECT_EQ(resumed.contenders[k].selection.scores.cells,
              whole.contenders[k].selection.scores.cells);
  EXPECT_EQ(resumed.best, whole.best);
  journal.remove();
  SearchJournal other(path, Resume::no, data, {all[0], all[1]}, three_folds);
  EXPECT_EQ(other.earlier(), 0);
  other.remove();
}

}  // namespace
}  // namespace coterie
