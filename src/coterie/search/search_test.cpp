#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "coterie/data/planted.hpp"
#include "coterie/math/random.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/search/choice.hpp"
#include "coterie/search/cross_validation.hpp"
#include "coterie/search/stability.hpp"
#include "coterie/stats/scores.hpp"

namespace coterie {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

Dataset planted(Index tasks = 6, Index samples = 30, std::uint64_t seed = 3) {
  return cast_into_tasks(plant_groups({.tasks = tasks,
                                       .groups = 2,
                                       .samples = samples,
                                       .noise = 0.1,
                                       .size_spread = 0.3,
                                       .seed = seed})
                             .samples,
                         Casting::binary);
}

Dataset three_classes() {
  Samples samples = plant_groups({.tasks = 1, .groups = 1, .samples = 90, .seed = 8}).samples;
  samples.task.clear();
  samples.tasks.clear();
  samples.labels = {"a", "b", "c"};
  for (std::size_t i = 0; i < samples.label.size(); ++i)
    samples.label[i] = static_cast<Index>(i) % 3;
  return cast_into_tasks(std::move(samples), Casting::one_vs_one);
}

Settings small_settings() {
  Settings settings;
  settings.kernels = "linear gauss:1,2,4@f1-f4 gauss:1,2,4";
  settings.tolerance = 1e-9;
  return settings;
}

// ---- grids

TEST(Grid, ReadsListsPowersAndRanges) {
  const Grid grid = parse_grid({"4,2^-1,1", "2^-2..2^2", "1,2,inf", "cosine, tail:4"});
  EXPECT_EQ(grid.C, (std::vector<double>{0.5, 1, 4}));
  EXPECT_EQ(grid.lambda, (std::vector<Lambda>{4, 2, 1, 0.5, 0.25}));
  EXPECT_EQ(grid.norm, (std::vector<double>{1, 2, infinite}));
  EXPECT_EQ(grid.normalise, (std::vector{Normalisation::cosine(), Normalisation::tail(4)}));
  const Grid shares = parse_grid({"10^-2..10^2", "0,0.01max..1max:3,inf", "1", "cosine"});
  EXPECT_EQ(shares.C, (std::vector<double>{0.01, 0.1, 1, 10, 100}));
  EXPECT_EQ(shares.lambda, (std::vector<Lambda>{"inf", "1max", "0.1max", "0.01max", 0}));
  EXPECT_EQ(parse_grid({}).C.size(), 21u);
  // Equal weights have nothing to share: one lambda each for norm = inf.
  EXPECT_EQ(all_points(grid).size(), 2u * 2 * 3 * 5 + 2u * 3);
}

TEST(Grid, SaysWhatIsWrong) {
  const auto message = [](const GridText& text) -> std::string {
    try {
      parse_grid(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string rule =
      "; each entry must be a number, a power such as 2^-3, a range of powers such as 2^-10..2^10, "
      "or a range with the number of points such as 0.01..10:7";
  EXPECT_EQ(message({.C = "1,x"}), "`C` has 'x'" + rule + ".");
  EXPECT_EQ(message({.C = ""}), "`C` has ''" + rule + ".");
  EXPECT_EQ(message({.C = "1..5"}), "`C` has '1..5'" + rule + ".");
  EXPECT_EQ(message({.C = "2^0..3^2"}), "`C` has '2^0..3^2'" + rule + ".");
  EXPECT_EQ(message({.C = "1..10:1.5"}), "`C` has '1..10:1.5'" + rule + ".");
  EXPECT_EQ(message({.C = "0"}), "`C` has 0; every C must be a number > 0.");
  EXPECT_EQ(message({.C = "1,2,1"}), "`C` has 1 twice; give each value once.");
  EXPECT_EQ(message({.C = "1e-9..1:20000"}),
            "`C` has '1e-9..1:20000', which is 20000 numbers; 10000 is the most.");
  EXPECT_EQ(message({.C = "1..2:10000,3"}), "`C` has more than 10000 numbers; give fewer.");
  EXPECT_EQ(message({.lambda = "-1"}), "`lambda` has -1; it must be at least 0, or 'inf'.");
  EXPECT_EQ(
      message({.lambda = "1,0.1max"}),
      "`lambda` mixes numbers and shares of lambda_max; which of them shares more would change "
      "with C. Give one kind (0 and inf go with both).");
  EXPECT_EQ(message({.norm = "0.5"}), "`norm` has 0.5; every norm must be a number >= 1, or inf.");
  EXPECT_EQ(message({.normalise = "cosine,tail"}),
            "`normalise` is 'tail'; it must be cosine, variance, none, or tail:h with a whole "
            "number h of at least 1, such as tail:8.");
  EXPECT_EQ(message({.normalise = "tail:8,none,tail:8"}),
            "`normalise` has tail:8 twice; give each value once.");
}

// ---- folds: slices of kernels equal fits from raw rows

class Slicing
    : public ::testing::TestWithParam<std::tuple<Scale, Index, Normalisation, ClassWeight>> {};

TEST_P(Slicing, EqualsRefittingFromRawRows) {
  const auto [scale, smooth, normalise, weight] = GetParam();
  for (const Dataset& data : {planted(), three_classes()}) {
    Settings settings = small_settings();
    settings.scale = scale;
    settings.smooth = smooth;
    settings.normalise = normalise;
    settings.class_weight = weight;
    settings.lambda = "0.2max";
    const Extras extras;
    const std::vector<Split> splits = fold_tasks(data, 3, 5);
    const SearchData search{data, settings, extras, 1, Storage::stored, 1};
    const std::vector<Vector> scores = cross_validated_scores(search, splits);
    for (const Split& split : splits) {
      // What a user would do: train on a file of the training rows, score a file of the others.
      const Prepared prepared = prepare(subset(data, split.train), settings, extras, 1);
      const Fitted fitted = fit_prepared(prepared, settings, 1);
      const Model model = make_model(prepared, settings, fitted, "");
      for (std::size_t t = 0; t < data.tasks.size(); ++t) {
        std::vector<Index> rows;
        for (const Index i : split.rest[t])
          rows.push_back(data.tasks[t].rows[static_cast<std::size_t>(i)]);
        const Vector raw = decision_values(model, static_cast<Index>(t), data.X(rows, Eigen::all));
        const Vector sliced = scores[t](split.rest[t]);
        // Both are optimal to 1e-9; the decision values of a strongly convex problem differ by its root.
        EXPECT_LE((raw - sliced).cwiseAbs().maxCoeff(), 1e-4) << data.tasks[t].name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllWays, Slicing,
    ::testing::Values(
        std::tuple{Scale::none, Index{3}, Normalisation::cosine(), ClassWeight::none},
        std::tuple{Scale::none, Index{1}, Normalisation::cosine(), ClassWeight::none},
        std::tuple{Scale::none, Index{1}, Normalisation::tail(4), ClassWeight::balanced},
        std::tuple{Scale::none, Index{1}, Normalisation::none(), ClassWeight::none},
        std::tuple{Scale::standard, Index{1}, Normalisation::variance(), ClassWeight::none},
        std::tuple{Scale::minmax, Index{2}, Normalisation::tail(2), ClassWeight::balanced}));

// Held-out rows that are absurd must not touch the training side: its scaling, divisors and fit.
TEST(Slicing, NothingLeaksFromHeldOutRows) {
  Dataset data = planted();
  Settings settings = small_settings();
  settings.scale = Scale::standard;
  settings.smooth = 2;
  settings.normalise = Normalisation::variance();
  const Extras extras;
  const std::vector<Split> splits = fold_tasks(data, 3, 5);
  const auto fit_of_first_fold = [&] {
    const SearchData search{data, settings, extras, 1, Storage::stored, 1};
    GramCache cache;
    const Fold fold =
        std::move(make_folds(search, {splits[0]}, Normalisation::variance(), cache).front());
    const Prepared& train = kernels_of(fold);
    return std::tuple(train.set.scaling.neighbours, train.grams.divisors,
                      fit_prepared(train, settings, 1).fit);
  };
  const auto [neighbours, divisors, before] = fit_of_first_fold();
  for (std::size_t t = 0; t < data.tasks.size(); ++t)
    for (const Index i : splits[0].rest[t])
      data.X.row(data.tasks[t].rows[static_cast<std::size_t>(i)]).setConstant(1e3);
  const auto [same, changed, after] = fit_of_first_fold();
  EXPECT_EQ(same, neighbours);
  EXPECT_LE((divisors - changed).norm(), 1e-9 * divisors.norm());
  EXPECT_LE((before.theta - after.theta).norm(), 1e-5);
}

// Nor, where kernels look at scores of other models, a first stage: absurd features and labels change nothing that is learnt.
TEST(Slicing, NothingLeaksIntoAFirstStage) {
  Dataset data = planted();
  Settings settings = small_settings();
  settings.kernels = "linear gauss:2 linear:raw@pooled gauss:1@others gauss:1@group";
  settings.first_stage = {{"C", 0}};
  settings.scale = Scale::standard;
  settings = in_full(settings);
  const Extras extras;
  const std::vector<Split> splits = fold_tasks(data, 3, 5);
  const auto fit_of_first_fold = [&] {
    const SearchData search{data, settings, extras, 1, Storage::stored, 1};
    GramCache cache;
    const Fold fold =
        std::move(make_folds(search, {splits[0]}, Normalisation::cosine(), cache).front());
    return std::pair(cache[0]->scored->first->scores, fit_prepared(kernels_of(fold), settings, 1));
  };
  const auto [scores, before] = fit_of_first_fold();
  for (std::size_t t = 0; t < data.tasks.size(); ++t)
    for (const Index i : splits[0].rest[t]) {
      data.X.row(data.tasks[t].rows[static_cast<std::size_t>(i)]).setConstant(1e3);
      data.tasks[t].y[i] *= -1;
    }
  const auto [changed, after] = fit_of_first_fold();
  EXPECT_LE((scores - changed).norm(), 1e-9);
  EXPECT_LE((before.fit.theta - after.fit.theta).norm(), 1e-5);
}

// Nor models of the rows of many tasks, nor the search for groups.
TEST(Slicing, NothingLeaksIntoPools) {
  for (const auto& [method, parameters] :
       std::vector<std::pair<const char*, Parameters>>{{"pooled", {}},
                                                       {"joint", {{"own", 0.4}}},
                                                       {"groups", {{"clusters", 2}}},
                                                       {"groups", {{"restarts", 0}}}}) {
    Dataset data = planted();
    Settings settings = small_settings();
    settings.method = method;
    settings.parameters = parameters;
    settings.scale = Scale::standard;
    settings.class_weight = ClassWeight::balanced;
    settings = in_full(settings);
    const Extras extras;
    const std::vector<Split> splits = fold_tasks(data, 3, 5);
    const auto fit_of_first_fold = [&] {
      const SearchData search{data, settings, extras, 1, Storage::stored, 1};
      GramCache cache;
      const Fold fold =
          std::move(make_folds(search, {splits[0]}, Normalisation::cosine(), cache).front());
      return fit_fold(fold, search, settings, 1).kernel()->fit;
    };
    const Fit before = fit_of_first_fold();
    for (std::size_t t = 0; t < data.tasks.size(); ++t)
      for (const Index i : splits[0].rest[t]) {
        data.X.row(data.tasks[t].rows[static_cast<std::size_t>(i)]).setConstant(1e3);
        data.tasks[t].y[i] *= -1;
      }
    const Fit after = fit_of_first_fold();
    EXPECT_EQ(before.groups, after.groups) << method;
    EXPECT_LE((before.theta - after.theta).norm(), 1e-5) << method;
    ASSERT_EQ(before.alpha.size(), after.alpha.size()) << method;
    for (std::size_t t = 0; t < before.alpha.size(); ++t)
      EXPECT_LE((before.alpha[t] - after.alpha[t]).norm(), 1e-4) << method << t;
  }
}

// Labels by chance, and a kernel that knows every row by heart: cross-validated decisions know nothing.
double share_right_by_chance(Settings settings) {
  Random random(7);
  Matrix X(240, 3);
  std::vector<std::string> label, task;
  for (Index i = 0; i < 240; ++i) {
    for (double& x : X.row(i)) x = random.normal();
    label.emplace_back(random.uniform() < 0.5 ? "no" : "yes");
    task.push_back(std::to_string(i / 60));
  }
  const Dataset data(X, label, task);
  settings.lambda = 0;
  settings = in_full(settings);
  const Extras extras;
  const SearchData search{data, settings, extras, 1, Storage::stored, 1};
  const std::vector<Vector> scores = cross_validated_scores(search, fold_tasks(data, 4, 1));
  double right = 0;
  for (std::size_t t = 0; t < 4; ++t)
    right += static_cast<double>((scores[t].array() * data.tasks[t].y.array() > 0).count());
  return right / 240;
}

TEST(Slicing, ChanceStaysChanceWithAFirstStage) {
  Settings settings;
  settings.kernels = "gauss:0.05 linear:raw@pooled linear:raw@others linear:raw@group";
  settings.first_stage = {{"C", 10}};
  EXPECT_NEAR(share_right_by_chance(settings), 0.5, 0.12);  // a standard error is 0.032
}

TEST(Slicing, ChanceStaysChanceInPools) {
  for (const auto& [method, parameters] :
       std::vector<std::pair<const char*, Parameters>>{{"pooled", {}},
                                                       {"joint", {{"own", 0.4}}},
                                                       {"groups", {{"clusters", 3}}},
                                                       {"groups", {{"restarts", 0}}}}) {
    Settings settings;
    settings.kernels = "gauss:0.05 gauss:1";
    settings.method = method;
    settings.parameters = parameters;
    EXPECT_NEAR(share_right_by_chance(settings), 0.5, 0.12) << method;
  }
}

TEST(Slicing, StoredAndComputedKernelsGiveTheSameBits) {
  const Dataset data = planted();
  const Settings settings = small_settings();
  const Extras extras;
  const std::vector<Split> splits = fold_tasks(data, 3, 5);
  std::vector<std::vector<Vector>> scores;
  for (const Storage storage : {Storage::stored, Storage::on_demand}) {
    const SearchData search{data, settings, extras, 1, storage, 1};
    scores.push_back(cross_validated_scores(search, splits));
  }
  EXPECT_EQ(scores[0], scores[1]);
}

// ---- scores of a grid

struct Searched {
  Dataset data = planted();
  Settings settings = small_settings();
  Extras extras;
  std::vector<Split> splits = fold_tasks(data, 3, 5);
  Grid grid = parse_grid({"0.25,4", "0,0.3max,inf", "1,inf", "cosine,tail:2"});

  GridScores run(Score score, int threads, const SearchHooks& hooks = {}) const {
    const SearchData search{data, settings, extras, grid.C.back(), Storage::stored, threads};
    return score_grid(search, splits, grid, score, hooks);
  }
};

bool same_cells(const GridScores& a, const GridScores& b) {
  if (a.cells.size() != b.cells.size()) return false;
  for (const auto& [point, cells] : a.cells) {
    const Matrix& other = b.cells.at(point);
    for (Index i = 0; i < cells.size(); ++i)
      if (std::bit_cast<std::uint64_t>(cells.data()[i]) !=
          std::bit_cast<std::uint64_t>(other.data()[i]))
        return false;
  }
  return true;
}

// Every point equals fits of that setting alone, folded and judged by itself.
TEST(GridScores, AreThoseOfSingleFits) {
  const Searched searched;
  std::map<Score, GridScores> scores;
  for (const Score score : {Score::accuracy, Score::balanced_accuracy, Score::auc}) {
    scores[score] = searched.run(score, 1);
    ASSERT_EQ(scores[score].cells.size(), all_points(searched.grid).size());
    EXPECT_EQ(scores[score].unconverged, 0);
    EXPECT_LE(scores[score].worst_gap, searched.settings.tolerance);
  }
  Index compared = 0;
  for (const GridPoint& point : all_points(searched.grid)) {
    const Settings settings = settings_at(searched.settings, searched.grid, point);
    const SearchData search{searched.data, settings, searched.extras, 4, Storage::stored, 1};
    const std::vector<Vector> f = cross_validated_scores(search, searched.splits);
    for (std::size_t k = 0; k < searched.splits.size(); ++k)
      for (std::size_t t = 0; t < f.size(); ++t) {
        const std::vector<Index>& rest = searched.splits[k].rest[t];
        const Vector y = searched.data.tasks[t].y(rest);
        const Vector here = f[t](rest);
        // A score so near 0 that the tolerance of the fit could turn it is not compared.
        if (here.cwiseAbs().minCoeff() < 1e-3) continue;
        ++compared;
        const auto cell = [&](Score score) {
          return scores[score].cells.at(point)(static_cast<Index>(k), static_cast<Index>(t));
        };
        EXPECT_NEAR(cell(Score::accuracy), accuracy(here, y), 1e-12);
        EXPECT_NEAR(cell(Score::balanced_accuracy), balanced_accuracy(here, y), 1e-12);
        EXPECT_NEAR(cell(Score::auc), auc(here, y), 0.02);
      }
  }
  EXPECT_GT(compared, 200);  // of 16 points, 3 folds, 6 tasks
}

TEST(GridScores, DoNotDependOnThreads) {
  const Searched searched;
  for (const Score score : {Score::accuracy, Score::log_loss})
    EXPECT_TRUE(same_cells(searched.run(score, 1), searched.run(score, 3)));
}

// Interrupted after every possible row and resumed from what was kept: the same bits.
TEST(GridScores, AreTheSameAfterAnInterruption) {
  const Searched searched;
  const GridScores whole = searched.run(Score::log_loss, 1);
  for (const Index enough : {1, 4, 7, 20}) {
    std::map<RowKey, RowScores> kept;
    SearchHooks hooks;
    hooks.keep = [&](const RowKey& key, const RowScores& row) { kept[key] = row; };
    hooks.progress = [&](Index, Index) { return std::ssize(kept) < enough; };
    const GridScores part = searched.run(Score::log_loss, 1, hooks);
    EXPECT_TRUE(part.stopped);
    EXPECT_EQ(std::ssize(kept), enough);
    Index taken = 0;
    SearchHooks again;
    again.known = [&](const RowKey& key, Index) -> const RowScores* {
      const auto found = kept.find(key);
      if (found == kept.end()) return nullptr;
      ++taken;
      return &found->second;
    };
    const GridScores resumed = searched.run(Score::log_loss, 2, again);
    EXPECT_EQ(taken, enough);
    EXPECT_TRUE(same_cells(whole, resumed)) << "after " << enough << " rows";
    EXPECT_EQ(whole.fits, resumed.fits);
  }
}

TEST(GridScores, AboveLambdaMaxAreThoseOfInfinity) {
  Searched searched;
  searched.grid = parse_grid({"1", "1e6,inf", "1", "cosine"});
  const GridScores scores = searched.run(Score::auc, 1);
  EXPECT_EQ(scores.reused, 6);  // two lambdas in three folds
  EXPECT_EQ(scores.fits, 3);
  EXPECT_EQ(scores.cells.at({0, 0, 0, 0}), scores.cells.at({0, 0, 0, 1}));
}

// With a single kernel every positive lambda fuses all tasks: lambda_max is 0, and every share of it is one kernel for all, in a search as
// in a fit.
TEST(GridScores, WhereLambdaMaxIsZeroEveryShareIsInfinite) {
  Searched searched;
  searched.settings.kernels = "gauss:2";
  searched.grid = parse_grid({"1", "0,0.5max,inf", "1", "cosine"});
  const GridScores scores = searched.run(Score::auc, 1);
  EXPECT_EQ(scores.reused, 6);  // inf and 0.5max in three folds
  EXPECT_EQ(scores.fits, 6);    // inf and 0
  EXPECT_EQ(scores.cells.at({0, 0, 0, 0}), scores.cells.at({0, 0, 0, 1}));
  Settings settings = searched.settings;
  settings.lambda = Lambda::share(0.5);
  const Fitted fitted = fit_prepared(prepare(searched.data, settings, {}, 1), settings, 1);
  EXPECT_EQ(fitted.lambda_max, 0);
  EXPECT_TRUE(std::isinf(fitted.lambda));
  EXPECT_EQ(fitted.fit.groups.size(), 1u);
  settings.lambda = Lambda::share(0);
  EXPECT_EQ(fit_prepared(prepare(searched.data, settings, {}, 1), settings, 1).lambda, 0);
}

// ---- choosing

GridScores made_up(const std::vector<std::pair<GridPoint, Matrix>>& cells, Score score) {
  GridScores scores;
  scores.score = score;
  for (const auto& [point, values] : cells) scores.cells[point] = values;
  return scores;
}

Matrix column(std::initializer_list<double> values) {
  Matrix out(static_cast<Index>(values.size()), 1);
  Index i = 0;
  for (const double value : values) out(i++, 0) = value;
  return out;
}

TEST(Choice, TiesGoToStrongerSharingAndThenToSmallerC) {
  // {norm, normalise, C, lambda}; lambda 0 shares most.
  const Matrix good = column({0.9, 0.7}), bad = column({0.5, 0.5});
  const GridScores scores = made_up(
      {{{0, 0, 0, 2}, good}, {{0, 0, 2, 1}, good}, {{0, 0, 1, 1}, good}, {{0, 0, 0, 0}, bad}},
      Score::accuracy);
  const std::vector<Ranked> ranked = rank_points(scores);
  EXPECT_EQ(ranked[0].point, (GridPoint{0, 0, 1, 1}));
  EXPECT_EQ(ranked[1].point, (GridPoint{0, 0, 2, 1}));
  EXPECT_EQ(ranked[2].point, (GridPoint{0, 0, 0, 2}));
  EXPECT_DOUBLE_EQ(ranked[0].score, 0.8);
  EXPECT_DOUBLE_EQ(ranked[0].standard_error, 0.1);  // sqrt(2 * 0.1^2 / 1 / 2)
  EXPECT_EQ(one_standard_error(ranked, Score::accuracy), (GridPoint{0, 0, 1, 1}));
}

TEST(Choice, OneStandardErrorPrefersSharing) {
  const GridScores scores = made_up({{{0, 0, 1, 2}, column({0.9, 0.8})},
                                     {{0, 0, 0, 1}, column({0.85, 0.76})},
                                     {{0, 0, 0, 0}, column({0.8, 0.78})}},
                                    Score::accuracy);
  const std::vector<Ranked> ranked = rank_points(scores);
  EXPECT_EQ(ranked[0].point, (GridPoint{0, 0, 1, 2}));  // 0.85, error 0.05
  EXPECT_EQ(one_standard_error(ranked, Score::accuracy),
            (GridPoint{0, 0, 0, 1}));  // 0.805; 0.79 is too low
}

TEST(Choice, LogLossIsBetterWhenSmaller) {
  const GridScores scores = made_up(
      {{{0, 0, 0, 0}, column({0.7, 0.6})}, {{0, 0, 0, 1}, column({0.3, 0.2})}}, Score::log_loss);
  const std::vector<Ranked> ranked = rank_points(scores);
  EXPECT_EQ(ranked[0].point, (GridPoint{0, 0, 0, 1}));
  const Confidence sure = judge_choice(scores, ranked, ranked[0].point, 200, 1);
  EXPECT_EQ(sure.within, 1);
  EXPECT_EQ(sure.chosen_again, 1);
  EXPECT_EQ(sure.optimism, 0);
}

TEST(Choice, ConfidenceIsThatOfACoinWhenItIsOne) {
  // Two points, each best in half of the cells by the same margin.
  const GridScores scores = made_up({{{0, 0, 0, 0}, column({1, 0, 1, 0, 1, 0, 1, 0.02})},
                                     {{0, 0, 9, 0}, column({0, 1, 0, 1, 0, 1, 0, 1})}},
                                    Score::accuracy);
  const std::vector<Ranked> ranked = rank_points(scores);
  const Confidence sure = judge_choice(scores, ranked, ranked[0].point, 2000, 1);
  EXPECT_EQ(sure.within, 2);
  EXPECT_NEAR(sure.chosen_again, 0.5, 0.2);
  EXPECT_NEAR(sure.optimism, 0.5, 0.02);  // the other one is better by 1 in half of the folds
}

TEST(Choice, UndefinedCellsAreLeftOut) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  Matrix cells(2, 2);
  cells << 0.5, none, 1, 0.25;
  EXPECT_DOUBLE_EQ(mean_score(cells), 0.5 * (0.75 + 0.25));
  EXPECT_DOUBLE_EQ(standard_error(cells), 0.0625);  // folds: 0.5 and 0.625
  EXPECT_TRUE(std::isnan(mean_score(Matrix::Constant(2, 2, none))));
  EXPECT_TRUE(std::isnan(standard_error(Matrix::Constant(1, 1, 0.5))));
}

TEST(Choice, RefinementStaysAroundWhatItIsGiven) {
  const Grid grid = parse_grid({"2^0..2^10", "2^0..2^10", "1,inf", "cosine"});
  const std::vector<GridPoint> coarse = refine(grid, {2, 4}, {});
  EXPECT_EQ(coarse.size(), 6u * 4 + 6);  // every second C; lambdas 0, 4, 8 and 10; one for norm inf
  for (const GridPoint& point : refine(grid, {1, 2}, {{0, 0, 4, 4}})) {
    EXPECT_EQ(point.norm, 0);
    EXPECT_LE(std::abs(point.C - 4), 1);
    EXPECT_LE(std::abs(point.lambda - 4), 2);
  }
  EXPECT_EQ(refine(grid, {1, 1}, {{0, 0, 0, 10}}).size(), 4u);  // a corner
}

// ---- the path

struct Walked {
  Dataset data = planted(6, 40, 11);
  Settings settings;
  Extras extras;
  Split split;
  Fold fold;
  LambdaPath path;

  explicit Walked(int threads = 1, const PathHooks& hooks = {}, double norm = 1) {
    settings = small_settings();
    settings.kernels = "gauss:2@f1-f4 gauss:2@f5-f8 gauss:2";
    settings.C = 0.5;
    settings.norm = norm;
    split = hold_out_tasks(data, 0.2, 1);
    const SearchData search{data, settings, extras, 1, Storage::stored, 1};
    GramCache cache;
    fold = std::move(make_folds(search, {split}, Normalisation::cosine(), cache).front());
    path = walk_path(fold, data, settings, {}, threads, hooks);
  }
};

TEST(Path, IsCertifiedNondecreasingAndConcave) {
  for (const double norm : {1.0, 2.0}) {
    const Walked walked(1, {}, norm);
    const auto& points = walked.path.points;
    ASSERT_GT(points.size(), 20u);
    EXPECT_TRUE(std::isinf(points.front().lambda));
    EXPECT_EQ(points.back().lambda, 0);
    EXPECT_EQ(points.front().fit.groups.size(), 1u);
    for (const PathPoint& point : points) {
      EXPECT_EQ(point.fit.status, Status::converged);
      EXPECT_LE(point.fit.gap, walked.settings.tolerance);
    }
    for (std::size_t k = 1; k + 1 < points.size(); ++k) {
      EXPECT_LT(points[k + 1].lambda, points[k].lambda);
      const double slack = 2 * walked.settings.tolerance * points[k].fit.primal;
      EXPECT_LE(points[k + 1].fit.dual, points[k].fit.primal + slack);  // nondecreasing
      if (k == 1) continue;
      const double a = points[k - 1].lambda, b = points[k].lambda, c = points[k + 1].lambda;
      const double chord =
          ((b - c) * points[k - 1].fit.dual + (a - b) * points[k + 1].fit.dual) / (a - c);
      EXPECT_GE(points[k].fit.primal, chord - slack) << "not concave at " << b;
    }
  }
}

TEST(Path, JumpsOverNoMerge) {
  const Walked walked;
  const auto& points = walked.path.points;
  const PathSettings defaults;
  for (std::size_t k = 1; k + 2 < points.size(); ++k) {
    const Changes changes = changes_between(6, points[k + 1].fit.groups, points[k].fit.groups);
    const double width = points[k].lambda / points[k + 1].lambda - 1;
    const Index events = changes.merges + changes.splits;
    if (events > 0) {
      EXPECT_LE(width, events > 1 ? defaults.finest : defaults.resolution);
    }
  }
}

// Once all tasks share a kernel at some lambda they do at every larger one, and the solver must see it: at these points the weights of an
// unlucky fit differ by 1e-8 to 1e-6.
TEST(Path, OnceAllShareTheyShareForGood) {
  Walked walked;
  walked.data =
      cast_into_tasks(plant_groups({.tasks = 12, .groups = 3, .seed = 7}).samples, Casting::binary);
  walked.settings.kernels = "gauss:2@f1-f4 gauss:2@f5-f8 gauss:2@f9-f12 gauss:2";
  walked.settings.C = 1;
  walked.settings.tolerance = 1e-8;
  const Fold fold{prepare(walked.data, walked.settings, walked.extras, 1, Storage::stored)};
  const LambdaPath path = walk_path(fold, walked.data, walked.settings, {}, 0);
  bool all_share = true;
  for (const PathPoint& point : path.points) {
    const bool here = point.fit.groups.size() == 1;
    EXPECT_TRUE(all_share || !here) << "they join at " << point.lambda << " and not above";
    all_share = all_share && here;
  }
  EXPECT_FALSE(all_share);
}

TEST(Path, EndsWithTheTasksByThemselvesAndBeginsWithOneKernel) {
  const Walked walked;
  Settings settings = walked.settings;
  for (const char* lambda : {"inf", "0"}) {
    settings.lambda = lambda;
    const Fit alone = fit_prepared(kernels_of(walked.fold), settings, 1).fit;
    const Fit& there =
        lambda[0] == '0' ? walked.path.points.back().fit : walked.path.points.front().fit;
    EXPECT_NEAR(alone.primal, there.primal, 1e-8 * alone.primal);
  }
}

TEST(Path, IsTheSameWithThreadsAndAfterAnInterruption) {
  const Walked whole;
  const auto same = [](const LambdaPath& a, const LambdaPath& b) {
    if (a.points.size() != b.points.size()) return false;
    for (std::size_t k = 0; k < a.points.size(); ++k)
      if (a.points[k].lambda != b.points[k].lambda ||
          a.points[k].fit.theta != b.points[k].fit.theta ||
          a.points[k].fit.groups != b.points[k].fit.groups ||
          a.points[k].fit.primal != b.points[k].fit.primal)
        return false;
    return true;
  };
  EXPECT_TRUE(same(whole.path, Walked(3).path));
  for (const std::size_t enough : {1u, 5u, 30u}) {
    std::map<double, PathPoint> kept;
    PathHooks hooks;
    hooks.keep = [&](const PathPoint& point) { kept[point.lambda] = point; };
    hooks.progress = [&](Index, double, double) { return kept.size() < enough; };
    const Walked part(1, hooks);
    EXPECT_TRUE(part.path.stopped);
    PathHooks again;
    again.known = [&](double lambda) -> std::optional<PathPoint> {
      const auto found = kept.find(lambda);
      if (found == kept.end()) return {};
      return found->second;
    };
    EXPECT_TRUE(same(whole.path, Walked(2, again).path)) << "after " << enough;
  }
}

// Nobody is held out: the training side is everything, with its features, and there is nothing to judge on.
TEST(Path, OfAllSamplesNeedsNoSplit) {
  const Dataset data = planted(4, 24, 11);
  Settings settings = small_settings();
  settings.scale = Scale::standard;
  settings.normalise = Normalisation::variance();
  Split nobody;
  for (const Task& task : data.tasks) {
    nobody.rest.emplace_back();
    nobody.train.emplace_back();
    for (Index i = 0; i < task.size(); ++i) nobody.train.back().push_back(i);
  }
  const Extras extras;
  const SearchData search{data, settings, extras, 1, Storage::stored, 1};
  GramCache cache;
  const Fold sliced = std::move(make_folds(search, {nobody}, settings.normalise, cache).front());
  const Fold whole{prepare(data, settings, extras, 1)};
  const LambdaPath a = walk_path(sliced, data, settings, {}, 1);
  const LambdaPath b = walk_path(whole, data, settings, {}, 1);
  ASSERT_EQ(a.points.size(), b.points.size());
  for (std::size_t k = 0; k < a.points.size(); ++k) {
    EXPECT_EQ(a.points[k].fit.groups, b.points[k].fit.groups);
    EXPECT_EQ(a.points[k].train_accuracy, b.points[k].train_accuracy);
    EXPECT_NEAR(a.points[k].fit.primal, b.points[k].fit.primal, 1e-8 * a.points[k].fit.primal);
    EXPECT_TRUE(std::isnan(b.points[k].held_out_accuracy));
  }
}

// Duals of pairs: none at lambda = 0 and inf, where no pair pulls; between them only while they are few.
TEST(Path, KeepsFewPairDuals) {
  const Walked walked;
  for (const PathPoint& point : walked.path.points) {
    const bool paired = point.lambda > 0 && std::isfinite(point.lambda);
    EXPECT_EQ(point.fit.nu.rows(), paired ? 15 : 0) << point.lambda;
  }
  EXPECT_TRUE(keeps_pair_duals(6553, 10));
  EXPECT_FALSE(keeps_pair_duals(6554, 10));
  // 150 tasks of a few samples and 6 kernels: 11175 pairs are too many to be kept with every point.
  const Dataset many = planted(150, 4, 2);
  Settings settings = small_settings();
  settings.kernels = "gauss:1,2,4@f1-f4 gauss:1,2,4";
  settings.tolerance = 1e-4;
  const Fold fold{prepare(many, settings, {}, 0)};
  Index seen = 0;
  PathHooks hooks;
  hooks.keep = [&](const PathPoint& point) {
    EXPECT_EQ(point.fit.nu.rows(), 0);
    ++seen;
  };
  hooks.progress = [&](Index points, double, double) { return points < 4; };
  walk_path(fold, many, settings, {}, 0, hooks);
  EXPECT_GE(seen, 4);
}

TEST(Path, HasAboutAsManyPointsAsExpected) {
  const Walked walked;
  const double expected = expected_points({}, 6);
  EXPECT_GT(expected, 0.5 * static_cast<double>(walked.path.points.size()));
  EXPECT_LT(expected, 2 * static_cast<double>(walked.path.points.size()));
  EXPECT_EQ(expected_points({}, 5000), 1000);
}

// ---- the tree

TEST(MergeTree, TellsMergesFromSplits) {
  // At falling lambdas: all; {0 1}{2 3}; {0 1}{2}{3}; all of {1 2} for a while; alone.
  const std::vector<double> lambda = {infinite, 8, 4, 2, 1};
  const std::vector<Groups> groups = {{{0, 1, 2, 3}},
                                      {{0, 1}, {2, 3}},
                                      {{0, 1}, {2}, {3}},
                                      {{0}, {1, 2}, {3}},
                                      {{0}, {1}, {2}, {3}}};
  const MergeTree tree = merge_tree(4, lambda, groups);
  ASSERT_EQ(tree.merges.size(), 3u);
  EXPECT_EQ(tree.merges[0].members, (std::vector<Index>{0, 1}));
  EXPECT_EQ(tree.merges[0].lower, 2);
  EXPECT_EQ(tree.merges[0].upper, 4);
  EXPECT_EQ(tree.merges[1].members, (std::vector<Index>{2, 3}));
  EXPECT_EQ(tree.merges[2].children, (std::vector<Index>{4, 5}));
  EXPECT_EQ(tree.merges[2].upper, infinite);
  ASSERT_EQ(tree.splits.size(), 1u);
  EXPECT_EQ(tree.splits[0].members, (std::vector<Index>{1, 2}));
  EXPECT_EQ(tree.splits[0].parts, (Groups{{1}, {2}}));
  EXPECT_EQ(tree.splits[0].lower, 2);
  EXPECT_EQ(tree.splits[0].upper, 4);
}

TEST(MergeTree, TimeTogetherIsAShareOfThePath) {
  const Matrix share =
      time_together(3, {infinite, 4, 2, 1, 0},
                    {{{0, 1, 2}}, {{0, 1, 2}}, {{0, 1}, {2}}, {{0}, {1}, {2}}, {{0}, {1}, {2}}});
  EXPECT_DOUBLE_EQ(share(0, 1), 0.75);  // from 4 down to half-way between 2 and 1, of 4 down to 1
  EXPECT_DOUBLE_EQ(share(0, 2), 0.25);  // from 4 half-way to 2
  EXPECT_DOUBLE_EQ(share(2, 2), 1);
  EXPECT_EQ(time_together(2, {infinite}, {{{0, 1}}}), Matrix::Ones(2, 2));
}

// Partitions at falling lambdas, the first of all tasks.
std::vector<Groups> draw_partitions(Random& random, Index tasks, std::size_t count, bool breaks) {
  std::vector<Groups> groups = {{{}}};
  for (Index t = 0; t < tasks; ++t) groups[0][0].push_back(t);
  while (groups.size() < count) {
    std::vector<std::vector<Index>> next;
    for (const std::vector<Index>& group : breaks ? groups[0] : groups.back()) {
      std::vector<Index> parts[2];
      for (const Index t : group) parts[random.uniform() < 0.7 ? 0 : 1].push_back(t);
      for (std::vector<Index>& part : parts)
        if (!part.empty()) next.push_back(std::move(part));
    }
    std::ranges::sort(next);
    groups.push_back(std::move(next));
  }
  return groups;
}

TEST(MergeTree, NodesAreTheMergesWhereNoGroupBreaks) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const std::vector<double> lambda = {infinite, 9, 7, 3, 1, 0.2, 0};
    const std::vector<Groups> groups = draw_partitions(random, 9, lambda.size(), false);
    const MergeTree tree = merge_tree(9, lambda, groups);
    EXPECT_TRUE(tree.splits.empty());
    double last = 0;
    for (const TreeNode& node : tree.nodes) {
      EXPECT_TRUE(node.for_good);
      const auto merge = std::ranges::find(tree.merges, node.members, &Merge::members);
      ASSERT_NE(merge, tree.merges.end());
      const double at = merge->lower == 0          ? 0.2
                        : std::isinf(merge->upper) ? 9
                                                   : std::sqrt(merge->lower * merge->upper);
      EXPECT_NEAR(node.lambda, at, 1e-12 * at);
      EXPECT_NEAR(node.together, merge->together, 1e-12);
      EXPECT_GE(node.lambda, last);
      last = node.lambda;
    }
    EXPECT_EQ(tree.nodes.back().members.size(), 9u);
  }
}

TEST(MergeTree, NodesStandAtTheMeanTimeTogetherWhereGroupsBreak) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const std::vector<double> lambda = {infinite, 9, 7, 3, 1, 0.2};
    const MergeTree tree = merge_tree(8, lambda, draw_partitions(random, 8, lambda.size(), true));
    const auto members = [&](Index node) {
      return node < 8 ? std::vector<Index>{node}
                      : tree.nodes[static_cast<std::size_t>(node - 8)].members;
    };
    for (const TreeNode& node : tree.nodes) {
      double sum = 0;
      double pairs = 0;
      for (const Index a : node.children)
        for (const Index b : node.children)
          if (a < b)
            for (const Index t : members(a))
              for (const Index s : members(b)) sum += tree.together(t, s), ++pairs;
      EXPECT_NEAR(node.together, sum / pairs, 1e-8);
    }
    EXPECT_EQ(tree.nodes.back().members.size(), 8u);
  }
}

// A group that lasts for most of the path and breaks before all join is in the tree, and said to break.
TEST(MergeTree, ShowsAGroupThatBreaksAgain) {
  const std::vector<double> lambda = {infinite, 1, 0.5, 0.4, 0.001, 0.0009};
  const Groups alone = {{0}, {1}, {2}, {3}};
  const MergeTree tree = merge_tree(4, lambda,
                                    {{{0, 1, 2, 3}},
                                     {{0, 1, 2, 3}},
                                     {{0, 1}, {2}, {3}},
                                     {{0, 1, 2}, {3}},
                                     {{0, 1, 2}, {3}},
                                     alone});
  EXPECT_EQ(tree.merges.back().members.size(), 4u);  // 2 joins last, for good
  EXPECT_EQ(tree.merges.back().children.size(), 3u);
  EXPECT_GT(tree.merges.back().together, 0.3);
  ASSERT_EQ(tree.nodes.size(), 3u);
  EXPECT_EQ(tree.nodes[0].members, (std::vector<Index>{0, 1}));
  EXPECT_TRUE(tree.nodes[0].for_good);
  EXPECT_EQ(tree.nodes[1].members, (std::vector<Index>{0, 1, 2}));
  EXPECT_FALSE(tree.nodes[1].for_good);
  EXPECT_GT(tree.nodes[1].together, 0.85);
  EXPECT_TRUE(tree.nodes[2].for_good);
  ASSERT_EQ(tree.splits.size(), 1u);
  EXPECT_DOUBLE_EQ(tree.splits[0].together, tree.nodes[1].together);
}

TEST(MergeTree, TheBestPointIsTheFirstOfTheBest) {
  LambdaPath path;
  EXPECT_FALSE(best_point(path));
  for (const double accuracy : {0.7, 0.8, 0.75, 0.8})
    path.points.emplace_back().held_out_accuracy = accuracy;
  EXPECT_EQ(best_point(path), 1u);
  for (PathPoint& point : path.points) point.held_out_accuracy = std::nan("");
  EXPECT_FALSE(best_point(path));
}

TEST(MergeTree, FindsTheNumberOfGroupsOrTheNearest) {
  const Walked walked;
  for (Index k = 1; k <= 6; ++k) {
    const std::size_t at = point_with_groups(walked.path, k);
    const Index found = std::ssize(walked.path.points[at].fit.groups);
    for (const PathPoint& point : walked.path.points)
      EXPECT_LE(std::abs(found - k), std::abs(std::ssize(point.fit.groups) - k));
  }
}

TEST(Stability, IsSeededAndSupportIsAShare) {
  const Walked walked;
  const Stability a = resample_paths(walked.fold, walked.settings, 1e-3, 12, 6, 4, 1);
  const Stability b = resample_paths(walked.fold, walked.settings, 1e-3, 12, 6, 4, 3);
  EXPECT_EQ(a.resamples, b.resamples);
  EXPECT_EQ(support(a, {0, 1, 2, 3, 4, 5}), 1);  // all together at lambda_max
  const double share = support(a, {0, 2});
  EXPECT_GE(share, 0);
  EXPECT_LE(share, 1);
  EXPECT_FALSE(a.resamples ==
               resample_paths(walked.fold, walked.settings, 1e-3, 12, 6, 5, 1).resamples);
  Stability exact;
  exact.resamples = {{{{0, 1}, {2}, {3}}}, {{{0, 1, 2}, {3}}}, {{{0, 1, 2, 3}}}};
  EXPECT_DOUBLE_EQ(support(exact, {0, 1}), (1 + 2.0 / 3 + 0) / 3);  // all together do not count
  EXPECT_DOUBLE_EQ(support(exact, {0, 1, 2, 3}), (2.0 / 4 + 3.0 / 4 + 1) / 3);
}

}  // namespace
}  // namespace coterie
