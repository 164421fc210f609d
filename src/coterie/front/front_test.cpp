// The verbs, each against the pieces it is made of.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "coterie/data/fingerprint.hpp"
#include "coterie/data/planted.hpp"
#include "coterie/front/files.hpp"
#include "coterie/front/path.hpp"
#include "coterie/front/select.hpp"
#include "coterie/model/evaluation.hpp"
#include "coterie/model/verify.hpp"

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
  EXPECT_EQ(model.certificate.status, to_string(Status::stopped));
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
    EXPECT_EQ(model.groups, path.points[at].fit.groups);
    EXPECT_TRUE(verify(model, data).holds());
  }
  // With rows held out, the model is of all rows all the same.
  const TraceSettings held{.hold_out = 0.3};
  const LambdaPath other = trace_path(data, settings, held);
  EXPECT_TRUE(verify(model_at(other.points[1], data, settings, held), data).holds());
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

TEST(Front, DatasetsFromNumbersAtHand) {
  const Samples all = plant_groups({.tasks = 3, .groups = 1, .samples = 20}).samples;
  std::vector<std::string> labels, tasks;
  for (std::size_t i = 0; i < all.label.size(); ++i) {
    labels.push_back(all.labels[static_cast<std::size_t>(all.label[i])]);
    tasks.push_back(all.tasks[static_cast<std::size_t>(all.task[i])]);
  }
  EXPECT_EQ(make_samples(all.X, labels, tasks), all);
  EXPECT_THROW(make_samples(all.X, labels, tasks, {"one"}), InputError);
  EXPECT_THROW(make_dataset(all.X, {"1"}, tasks), InputError);
}

}  // namespace
}  // namespace coterie
