// The verbs, each against the pieces it is made of.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "coterie/data/fingerprint.hpp"
#include "coterie/data/planted.hpp"
#include "coterie/data/split.hpp"
#include "coterie/front/bound.hpp"
#include "coterie/front/extend.hpp"
#include "coterie/front/files.hpp"
#include "coterie/front/journals.hpp"
#include "coterie/front/learnt_kernel.hpp"
#include "coterie/front/verify.hpp"
#include "coterie/io/journal.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/model/evaluation.hpp"
#include "coterie/model/predict.hpp"

namespace coterie {
namespace {

Dataset planted_data(Index tasks = 6) {
  return cast_into_tasks(plant_groups({.tasks = tasks, .groups = 2, .samples = 40}).samples,
                         Casting::binary);
}

const Settings small{.C = 1, .lambda = Lambda::share(0.3), .kernels = {linear(), gauss({1, 4})}};

TEST(Front, TrainsWhatThePiecesGive) {
  const Dataset data = planted_data();
  const Model model = train(data, small);
  const Prepared prepared = prepare(data, small, {}, 1);
  const Fitted fitted = fit_prepared(prepared, small, 1);
  EXPECT_EQ(model, make_model(prepared, small, fitted, fingerprint(data)));
  EXPECT_TRUE(verify(model, data).holds());
  EXPECT_EQ(train(data, small, {.threads = 1}), train(data, small, {.threads = 2}));
}

TEST(Front, ATimeLimitStopsAndIsCertified) {
  const Dataset data = planted_data();
  const Model model = train(data, small, {.time_limit_seconds = 0});
  EXPECT_EQ(model.certificate().status, Status::stopped);
  EXPECT_TRUE(verify(model, data).holds());
}

TEST(Front, TellsWhatItDoesAndWhatIsShortOfRoom) {
  const Dataset data = planted_data();
  std::vector<Work> phases;
  std::vector<std::string> notes;
  coterie::Run run;
  run.phase = [&](Work work) { phases.push_back(work); };
  run.note = [&](const std::string& note) { notes.push_back(note); };
  Settings settings = small;
  settings.normalise = Normalisation::tail(50);  // more than the rank of any kernel here
  train(data, settings, run);
  EXPECT_EQ(phases, (std::vector<Work>{Work::preparing, Work::fitting}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("no tail beyond the main directions of `normalise` tail:50"),
            std::string::npos);
  EXPECT_THROW(train(data, small, {.memory_bytes = 1000}), InputError);
}

TEST(Front, EachColumnHasKernelsOfItsOwn) {
  Dataset data = planted_data();
  data.features[0] = "a b";  // not a word of the grammar
  data.X.col(2).setConstant(5);
  std::vector<std::string> notes;
  coterie::Run run;
  run.note = [&](const std::string& note) { notes.push_back(note); };
  for (const char* method : {"coterie", "uniform", "pooled"})
    for (const Normalisation& normalise : {Normalisation::cosine(), Normalisation::tail(4)}) {
      Settings settings = small;
      settings.method = method;
      settings.normalise = normalise;
      settings.kernels = {gauss({2}), gauss({0.5, 1}).on_each()};
      const Model model = train(data, settings, run);
      EXPECT_EQ(std::ssize(model.kernels), 1 + 2 * (data.X.cols() - 1));
      EXPECT_EQ(to_string(model.kernels[1]), "gauss:0.5@#1");
      const Verification check = verify(model, data);
      for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
      EXPECT_EQ(model_from_bytes(model_to_bytes(model), "m"), model);
      ASSERT_FALSE(notes.empty());
      EXPECT_EQ(notes.front(),
                "@each in `kernels` leaves out the column f3, constant in every task.");
      notes.clear();
    }
  // What the data says of the columns is checked: one that was left out for nothing, one that should have been.
  Model model = train(data, {.kernels = gauss({1}).on_each()});
  data.X(data.tasks[0].rows[0], 2) = 6;
  EXPECT_FALSE(verify_training(model, data).holds());
}

TEST(Front, ErrorsNameMembers) {
  const Dataset data = planted_data();
  try {
    train(data, {.C = -1});
    FAIL();
  } catch (const SettingError& error) {
    EXPECT_EQ(error.field, "C");
    EXPECT_EQ(error.value, "-1");
    EXPECT_STREQ(error.what(), "`C` is '-1'; it must be a number > 0.");
  }
}

TEST(Front, SelectsAndTrainsTheChoice) {
  const Dataset data = planted_data();
  const Grid grid = parse_grid({"0.5,2", "0,0.3max,inf", "1", "cosine"});
  SelectSettings how{.settings = small, .folds = 3};
  const Selection best = select(data, grid, how);
  EXPECT_EQ(best.ranked.size(), 6u);
  EXPECT_EQ(best.model(), train(data, best.settings));
  how.settings.solver = Solver::published;
  EXPECT_THROW(select(data, grid, how), InputError);
  coterie::Run stop;
  stop.share = [](Index, Index) { return false; };
  EXPECT_TRUE(select(data, grid, {.settings = small, .folds = 3}, stop).scores.stopped);
}

TEST(Front, ModelsOfThePathAreItsPoints) {
  const Dataset data = planted_data();
  Settings settings = small;
  settings.tolerance = 1e-7;
  const LambdaPath path = trace_path(data, settings);
  ASSERT_GE(path.points.size(), 3u);
  for (const std::size_t at : {std::size_t{0}, path.points.size() / 2, path.points.size() - 1}) {
    const Model model = model_at(path.points[at], data, settings);
    EXPECT_EQ(model.groups(), path.points[at].fit.groups);
    EXPECT_TRUE(verify(model, data).holds());
  }
  // With rows held out, the model is of all rows all the same.
  const TraceSettings held{.hold_out = 0.3};
  const LambdaPath other = trace_path(data, settings, held);
  EXPECT_TRUE(verify(model_at(other.points[1], data, settings, held), data).holds());
}

// Points of many tasks do not keep their pair duals: the model's are found again, from the point.
TEST(Front, ModelsOfThePathFindPairDualsThatWereNotKept) {
  const Dataset data = planted_data();
  const Settings settings = small;
  const TraceSettings trace;
  const Fold fold = path_fold(data, settings, trace);
  const LambdaPath path = trace_path(fold, data, settings, trace);
  PathPoint point = path.points[path.points.size() / 2];
  const Model kept = model_at(point, fold, data, settings);
  EXPECT_EQ(kept, model_at(point, data, settings));
  point.fit.nu = Matrix(0, 3);
  const Model found = model_at(point, fold, data, settings);
  EXPECT_EQ(found.groups(), kept.groups());
  EXPECT_TRUE(verify(found, data).holds());
  EXPECT_EQ(found.certificate().status, Status::converged);
}

// Scores on rows of their own are those of models that a user would train on the data and evaluate on them.
TEST(Front, SelectsByRowsOfTheirOwn) {
  Samples all = plant_groups({.tasks = 4, .groups = 2, .samples = 40}).samples;
  const RowSplit parts = split_samples(all, 0.6, 3);
  const Samples rows = select_rows(all, parts.rest);
  const Dataset data = cast_into_tasks(select_rows(all, parts.train), Casting::binary);
  const Grid grid = parse_grid({"0.5,2", "0,0.3max,inf", "1", "cosine,variance"});
  SelectSettings how{.settings = small, .validation = rows};
  how.settings.scale = Scale::standard;
  how.settings.tolerance = 1e-8;
  const Selection best = select(data, grid, how);
  EXPECT_EQ(best.judged_by, fmt::format("{} rows to judge on", rows.X.rows()));
  EXPECT_EQ(best.ranked.size(), 12u);
  for (const Ranked& one : best.ranked) {
    const Evaluation e = evaluate(train(data, settings_at(how.settings, grid, one.point)), rows);
    EXPECT_NEAR(one.score, e.mean.accuracy, 1e-12);
  }
  EXPECT_EQ(best.model(), train(data, best.settings));  // nobody trains on them
  how.hold_out = 0.3;
  EXPECT_THROW(select(data, grid, how), InputError);
}

// Stopped after some rows or points, and gone on with in a new journal of the same file: the same bits, and nothing done twice.
TEST(Front, SearchesGoOnWhereTheyWereStopped) {
  const std::string file = ::testing::TempDir() + "front_search.journal";
  const Dataset data = planted_data();
  const Grid grid = parse_grid({"0.5,2", "0,0.3max,inf", "1,2", "cosine"});
  const SelectSettings how{.settings = small, .folds = 3};
  const Selection whole = select(data, grid, how);
  coterie::Run stop{.threads = 1};
  stop.share = [](Index done, Index) { return done < 5; };
  {
    SearchJournal journal(file, Resume::no, data, grid, how);
    EXPECT_TRUE(select(data, grid, how, stop, {}, journal.hooks()).scores.stopped);
    EXPECT_EQ(journal.earlier(), 0);
    EXPECT_EQ(journal.rows(), 5);
  }
  SelectSettings other = how;
  other.seed = 2;
  EXPECT_THROW(SearchJournal(file, Resume::yes, data, grid, other), InputError);
  SearchJournal journal(file, Resume::yes, data, grid, how);
  EXPECT_EQ(journal.earlier(), 5);
  const Selection resumed = select(data, grid, how, {}, {}, journal.hooks());
  EXPECT_EQ(journal.rows(), 12);  // 3 folds, 2 C, 2 norms
  EXPECT_EQ(resumed.scores.cells, whole.scores.cells);
  EXPECT_EQ(resumed.scores.fits, whole.scores.fits);
  EXPECT_EQ(resumed.model(), whole.model());
  journal.remove();
  EXPECT_FALSE(Journal::exists(file));
}

TEST(Front, PathsGoOnWhereTheyWereStopped) {
  const std::string file = ::testing::TempDir() + "front_path.journal";
  const Dataset data = planted_data();
  const TraceSettings trace{.hold_out = 0.25};
  const LambdaPath whole = trace_path(data, small, trace);
  coterie::Run stop{.threads = 1};
  stop.share = [](Index done, Index) { return done < 7; };
  {
    PathJournal journal(file, Resume::no, data, small, trace);
    EXPECT_TRUE(trace_path(data, small, trace, stop, {}, journal.hooks()).stopped);
    EXPECT_GE(journal.records(), 7);
  }
  EXPECT_THROW(PathJournal(file, Resume::yes, data, small, {}), InputError);
  PathJournal journal(file, Resume::yes, data, small, trace);
  EXPECT_GE(journal.earlier(), 7);
  const Fold fold = path_fold(data, small, trace);
  const LambdaPath resumed = trace_path(fold, data, small, trace, {}, {}, journal.hooks());
  ASSERT_EQ(resumed.points.size(), whole.points.size());
  for (std::size_t k = 0; k < whole.points.size(); ++k) {
    EXPECT_EQ(resumed.points[k].lambda, whole.points[k].lambda);
    EXPECT_EQ(resumed.points[k].fit.theta, whole.points[k].fit.theta);
    EXPECT_EQ(resumed.points[k].held_out_accuracy, whole.points[k].held_out_accuracy);
  }
  const Stability first =
      resample_path(fold, resumed, data, small, trace, 3, {}, {}, journal.resample_hooks());
  Index computed = 0;
  StabilityHooks again = journal.resample_hooks();
  again.keep = [&](Index, const ResampledPath&) { ++computed; };
  EXPECT_EQ(first.resamples,
            resample_path(fold, resumed, data, small, trace, 3, {}, {}, again).resamples);
  EXPECT_EQ(computed, 3);  // the journal gives back what it had when it was opened
  journal.remove();
}

// Fits that run side by side each have pair duals of their own, and a path keeps its points.
TEST(Front, MemoryOfPairsCountsForEveryThread) {
  const Dataset data = planted_data(40);
  const coterie::Run run{.threads = 2, .memory_bytes = 1e9};
  const MemoryPlan plan = plan_fit(data, small, run);
  EXPECT_EQ(plan.pairs, 8.0 * 780 * (5 * 3 + 16));
  EXPECT_EQ(kernels_beside(plan, 1000, {.threads = 1}), plan.kernels - 1000);
  if (thread_count(2) < 2) GTEST_SKIP() << "needs two cores";
  EXPECT_EQ(kernels_beside(plan, 1000, run), plan.kernels - 1000 - plan.pairs);
  EXPECT_THROW(kernels_beside(plan, plan.kernels, run), InputError);
  // Enough for one fit, and not for a second beside it.
  const double least = 1e9 - plan.kernels + plan.pairs / 2;
  const Grid grid = parse_grid({"1", "0.3max", "1", "cosine"});
  const SelectSettings how{.settings = small};
  EXPECT_NO_THROW(train(data, small, {.threads = 2, .memory_bytes = least}));
  EXPECT_THROW(check_search(data, grid, how, {.threads = 2, .memory_bytes = least}), InputError);
  EXPECT_NO_THROW(
      check_search(data, grid, how, {.threads = 2, .memory_bytes = least + plan.pairs}));
  EXPECT_THROW(check_path_memory(data, small, {}, {.threads = 2, .memory_bytes = least}),
               InputError);
}

TEST(Front, PredictsLabelsScoresAndProbabilities) {
  const Samples all = plant_groups({.tasks = 4, .groups = 2, .samples = 40}).samples;
  const Dataset data = cast_into_tasks(all, Casting::binary);
  Model model = train(data, small);
  const Predictions plain = predict(model, all);
  EXPECT_TRUE(std::isnan(plain.probability(0)));
  const std::optional<Model> calibrated = calibrate(model, data);
  ASSERT_TRUE(calibrated);
  const Predictions p = predict(*calibrated, all);
  ASSERT_EQ(p.rows(), all.X.rows());
  for (Index i = 0; i < p.rows(); ++i) {
    EXPECT_EQ(p.label(i), p.score(i) > 0 ? "1" : "-1");
    EXPECT_EQ(p.score(i), plain.score(i));
    EXPECT_GT(p.probability(i), 0);
    EXPECT_LT(p.probability(i), 1);
  }
  const Evaluation e = evaluate(model, all);
  EXPECT_EQ(e.n, all.X.rows());
  EXPECT_GT(e.accuracy, 0.5);
}

// The calibration is that of scores by extensions without a fold, computed here by hand.
TEST(Front, NewTasksGetProbabilitiesOfTheirOwn) {
  const Dataset data = planted_data(6);
  std::vector<std::vector<Index>> first(6), last(6);
  for (std::size_t t = 0; t < 6; ++t)
    for (Index i = 0; i < data.tasks[t].size(); ++i) (t < 4 ? first : last)[t].push_back(i);
  const auto part = [&](const std::vector<std::vector<Index>>& kept) {
    Dataset some = subset(data, kept);
    std::erase_if(some.tasks, [](const Task& task) { return task.size() == 0; });
    return some;
  };
  const Dataset added = part(last);
  const Model model = train(part(first), small);
  const coterie::Run run{.threads = 1};
  const Model extended = extend(model, added, {}, run);
  EXPECT_EQ(extended, extend(model, added));
  const std::optional<Model> full =
      calibrate_added(extended, model, added, {}, {.folds = 3, .seed = 5}, run);
  ASSERT_TRUE(full);
  std::vector<Vector> scores;
  for (const Task& task : added.tasks) scores.emplace_back(task.size());
  for (const Split& split : fold_tasks(added, 3, 5)) {
    const Model without = extend(model, subset(added, split.train));
    for (std::size_t t = 0; t < 2; ++t)
      for (const Index i : split.rest[t]) {
        const Index row = added.tasks[t].rows[static_cast<std::size_t>(i)];
        scores[t][i] = decision_values(without, 4 + static_cast<Index>(t), added.X.row(row))[0];
      }
  }
  for (std::size_t t = 0; t < 2; ++t) {
    const Calibration& found = full->tasks[4 + t].calibration;
    const Calibration expected =
        fit_calibration(Calibration::Kind::platt, scores[t], added.tasks[t].y);
    EXPECT_NEAR(found.slope, expected.slope, 1e-9 * std::abs(expected.slope));
    EXPECT_NEAR(found.offset, expected.offset, 1e-9);
  }
  Model plain = *full;
  for (TaskModel& task : plain.tasks) task.calibration = {};
  EXPECT_EQ(plain, extended);
  coterie::Run stopping = run;
  stopping.share = [](Index, Index) { return false; };
  EXPECT_FALSE(calibrate_added(extended, model, added, {}, {}, stopping));
  coterie::Run tight = run;
  tight.memory_bytes = 1e6;
  EXPECT_THROW(extend(model, added, {}, tight), InputError);
}

TEST(Front, BoundsAreThoseOfTheRoomAndCanBeStopped) {
  const Dataset data = planted_data();
  const Model model = train(data, small);
  const BoundSettings few{.samples = 20};
  const std::optional<Bound> found = bound(model, data, few, {.threads = 2});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->by_monte_carlo.bound, bound_of(model, data, few, {}, 1).by_monte_carlo.bound);
  coterie::Run run;
  run.share = [](Index done, Index) { return done < 3; };
  EXPECT_FALSE(bound(model, data, few, run));
}

TEST(Front, ModelsKnowTheColumnsOfTheirTable) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("coterie_front_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string table = folder / "d.csv", file = folder / "m.h5";
  {
    std::ofstream out(table);
    out << "f1,f2,target,site\n";
    for (int i = 0; i < 24; ++i)
      out << (i % 2 == 0 ? 1.5 : -1) + 0.1 * (i % 5) << ',' << i % 3 << ','
          << (i % 2 == 0 ? "yes" : "no") << ',' << (i % 4 < 2 ? "a" : "b") << '\n';
  }
  const Dataset data = read_dataset(table, {.label = "target", .task = "site"});
  save(train(data, small), file);
  const Model model = load(file);
  EXPECT_EQ(model.columns, (ColumnNames{"target", "site"}));
  EXPECT_EQ(read_dataset(table, model), data);
  EXPECT_TRUE(verify(model, read_dataset(table, model)).holds());
  const Evaluation e = evaluate(model, read_rows(table, model));
  EXPECT_EQ(e.n, 24);
  EXPECT_EQ(e.errors, 0);
  std::filesystem::remove_all(folder);
}

// Rows are led to tasks by part and classes: verify must not take those from the model.
TEST(Front, VerifyKnowsThePartsAndClassesOfTasks) {
  Matrix X(48, 2);
  std::vector<std::string> labels, parts;
  for (Index i = 0; i < X.rows(); ++i) {
    const Index kind = i % 3;
    X.row(i) << static_cast<double>(kind) + 0.01 * static_cast<double>(i), kind == 1 ? 2.0 : 0.5;
    labels.push_back(std::string(1, static_cast<char>('a' + kind)));
    parts.push_back(i % 2 == 0 ? "north" : "south");
  }
  const Dataset data(X, labels, parts, Casting::one_vs_one);
  const Model model = train(data, small);
  EXPECT_TRUE(verify(model, data).holds());
  Model forged = model;
  std::swap(forged.tasks.front().part, forged.tasks.back().part);
  EXPECT_THROW(verify(forged, data), InputError);
  forged = model;
  std::swap(forged.classes[0], forged.classes[1]);
  EXPECT_THROW(verify(forged, data), InputError);
}

// The tasks from..to - 1 of planted data.
Dataset planted_tasks(Index from, Index to) {
  Dataset data = planted_data();
  data.tasks = {data.tasks.begin() + from, data.tasks.begin() + to};
  return data;
}

std::string refusal(const Model& model, const Dataset& data, const VerifyInputs& inputs = {}) {
  try {
    verify(model, data, inputs);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Front, VerifyFindsThePartThatDataBelongsTo) {
  const Dataset first = planted_tasks(0, 4), added = planted_tasks(4, 6);
  const Model model = extend(train(first, small), added);
  EXPECT_FALSE(part_of(model, first).extension);
  EXPECT_EQ(part_of(model, added).extension, 0u);
  EXPECT_TRUE(verify(model, first).holds());
  EXPECT_TRUE(verify(model, added).holds());
  EXPECT_NE(refusal(model, planted_tasks(3, 5)).find("is of the training, task"),
            std::string::npos);
  EXPECT_NE(refusal(model, planted_tasks(0, 3)).find("not the training data of the model"),
            std::string::npos);
  EXPECT_NE(refusal(model, planted_tasks(4, 5)).find("not the data of extension 1"),
            std::string::npos);
  EXPECT_NE(refusal(model, added, {.task_C = {{}}}).find("have no C of their own"),
            std::string::npos);
}

TEST(Front, VerifyComparesWhatIsGiven) {
  const Dataset data = planted_data(3);
  Extras extras;
  extras.task_C = {{data.tasks[1].name, 3}};
  extras.complete = false;
  extras.graph = {{0, 1, 2}, {1, 2, 1}};
  const Model model = train(data, small, {}, extras);
  const auto taken = [](const Verification& check, const char* what) {
    return std::ranges::any_of(check.taken,
                               [&](const std::string& text) { return text.starts_with(what); });
  };
  const Verification trusting = verify(model, data);
  EXPECT_TRUE(trusting.holds() && taken(trusting, "the C of") && taken(trusting, "the task graph"));
  const Verification all =
      verify(model, data, {.task_C = extras.task_C, .task_graph = extras.graph});
  EXPECT_TRUE(all.holds() && !taken(all, "the C of") && !taken(all, "the task graph"));
  const Verification other_C = verify(model, data, {.task_C = {{{data.tasks[1].name, 4}}}});
  ASSERT_EQ(other_C.findings.size(), 1u);
  EXPECT_NE(other_C.findings[0].find("is 4, not 3 as stated"), other_C.findings[0].npos);
  const TaskGraph other = {{0, 1, 2}, {1, 2, 2}};
  EXPECT_FALSE(verify(model, data, {.task_graph = other}).holds());
}

TEST(Front, DatasetsFromNumbersAtHand) {
  const Samples all = plant_groups({.tasks = 3, .groups = 1, .samples = 20}).samples;
  std::vector<std::string> labels, tasks;
  for (std::size_t i = 0; i < all.label.size(); ++i) {
    labels.push_back(all.labels[static_cast<std::size_t>(all.label[i])]);
    tasks.push_back(all.tasks[static_cast<std::size_t>(all.task[i])]);
  }
  EXPECT_EQ(make_samples(all.X, labels, tasks), all);
  EXPECT_THROW(make_samples(all.X, labels, tasks, {"one"}), InputError);
  EXPECT_THROW(Dataset(all.X, {"1"}, tasks), InputError);
}

TEST(Front, TheLearntKernelIsThatOfDecisionValues) {
  const Dataset data = planted_data();
  Settings settings = small;
  settings.scale = Scale::standard;
  settings.normalise = Normalisation::variance();
  const Model model = train(data, settings);
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const TaskModel& task = model.tasks[t];
    const KernelExpansion& own = task.expansion();
    Matrix support(std::ssize(own.support), data.X.cols());
    for (Index k = 0; k < support.rows(); ++k)
      support.row(k) = data.X.row(
          model.training_row[static_cast<std::size_t>(own.support[static_cast<std::size_t>(k)])]);
    const Vector f =
        learnt_kernel(model, task.theta(), data.X, support) * own.alpha.cwiseProduct(own.y) +
        Vector::Constant(data.X.rows(), task.bias);
    const Vector expected = decision_values(model, static_cast<Index>(t), data.X);
    EXPECT_LE((f - expected).lpNorm<Eigen::Infinity>(), 1e-12 * (1 + own.alpha.sum()));
  }
  const Vector weights = model.tasks[0].theta();
  EXPECT_EQ(learnt_kernel(model, weights, data.X, data.X, 1),
            learnt_kernel(model, weights, data.X, data.X, 2));
  EXPECT_THROW(learnt_kernel(model, weights.head(2), data.X, data.X), InputError);
  EXPECT_THROW(learnt_kernel(model, weights, data.X.leftCols(2), data.X), InputError);
  EXPECT_THROW(learnt_kernel(train(data, {.method = "cmtl"}), weights, data.X, data.X), InputError);
  EXPECT_THROW(
      learnt_kernel(train(data, {.kernels = "gauss:1@pooled"}), Vector::Ones(1), data.X, data.X),
      InputError);
}

}  // namespace
}  // namespace coterie
