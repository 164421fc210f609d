#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "coterie/baseline/plain.hpp"
#include "coterie/data/planted.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/search/choice.hpp"
#include "coterie/search/cross_validation.hpp"
#include "coterie/stats/scores.hpp"

namespace coterie {
namespace {

Settings of_method(const MethodRef& method) {
  Settings settings;
  settings.method = method;
  return settings;
}

Grid grid_of(const MethodRef& method, const std::string& parameters = "",
             const GridText& text = {}) {
  return parse_method_grid(of_method(method), text, parameters);
}

std::string message(const MethodRef& method, const std::string& parameters) {
  try {
    grid_of(method, parameters);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// ---- grids

TEST(MethodGrid, ListsGoFromSimpleToComplex) {
  const Grid grid = grid_of("cmtl", "lambda=0.5,2^2..2^0,8 clusters=3,1..2 within=1..100:3");
  ASSERT_EQ(grid.parameters.size(), 3u);
  EXPECT_EQ(grid.parameters[0].values, (std::vector<double>{8, 4, 2, 1, 0.5}));
  EXPECT_EQ(grid.parameters[1].values, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(grid.parameters[2].values, (std::vector<double>{100, 10, 1}));
  EXPECT_EQ(grid.columns, (std::vector<std::string>{"lambda", "clusters", "within"}));
  EXPECT_EQ(all_points(grid).size(), 5u * 3 * 3);
  // What the method does not have is as in a fit without it.
  const Settings at = settings_at(of_method("cmtl"), grid, {0, 0, 0, 0, {4, 1, 2}});
  EXPECT_EQ(at.parameters, (Parameters{{"clusters", 2}, {"lambda", 0.5}, {"within", 1}}));
  EXPECT_EQ(at.C, 1);
  EXPECT_EQ(value_at(grid, {0, 0, 0, 0, {4, 1, 2}}, "lambda"), "0.5");
}

TEST(MethodGrid, WhatIsNotGivenIsAsTheMethodSuggests) {
  Grid grid = grid_of("cmtl", "lambda=1");
  EXPECT_EQ(grid.parameters[0].values, (std::vector<double>{1}));
  EXPECT_EQ(grid.parameters[1].values, (std::vector<double>{1, 2, 4, 8}));
  limit_clusters(grid, 9);  // half of nine is four
  EXPECT_EQ(grid.parameters[1].values, (std::vector<double>{1, 2, 4}));
  limit_clusters(grid, 1);
  EXPECT_EQ(grid.parameters[1].values, (std::vector<double>{1}));
  Grid given = grid_of("cmtl", "clusters=1..5");
  limit_clusters(given, 4);
  EXPECT_EQ(given.parameters[1].values, (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_EQ(grid_of("metag").parameters.size(), 1u);  // the others have one value, the default
  EXPECT_EQ(grid_of("metag").parameters[0].values.size(), 21u);
}

TEST(MethodGrid, EveryMethodHasItsColumns) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(grid_of("coterie"), parse_grid({}));
  EXPECT_EQ(grid_of("stl").columns, (Names{"norm", "normalise", "C"}));
  EXPECT_EQ(grid_of("stl").lambda, (std::vector<Lambda>{0}));
  EXPECT_EQ(grid_of("mtl").lambda, (std::vector{Lambda::infinite()}));
  EXPECT_EQ(grid_of("pooled").columns, (Names{"norm", "normalise", "C"}));
  EXPECT_EQ(grid_of("tang").columns, (Names{"normalise", "C", "share"}));
  EXPECT_EQ(grid_of("flexclus").columns, (Names{"lambda1", "lambda2", "lambda3"}));
  Settings mapped = of_method("metag");
  mapped.map = Mapping::kernels();
  EXPECT_EQ(parse_method_grid(mapped, {}, "").columns, (Names{"normalise", "lambda"}));
  for (const Method& method : methods()) {
    const Grid grid = grid_of(method);
    for (const GridPoint& point : {all_points(grid).front(), all_points(grid).back()})
      EXPECT_NO_THROW(validate(settings_at(of_method(method), grid, point)));
  }
}

TEST(MethodGrid, SaysWhatIsWrong) {
  const std::string rule =
      "; each entry must be a number, a power such as 2^-3, a range of powers such as 2^-10..2^10, "
      "or a range with the number of points such as 0.01..10:7.";
  EXPECT_EQ(message("cmtl", "lambda=1,x"), "`parameters`: lambda has 'x'" + rule);
  EXPECT_EQ(message("cmtl", "lambda=1..5"), "`parameters`: lambda has '1..5'" + rule);
  EXPECT_EQ(message("cmtl", "lambda=1,1"),
            "`parameters`: lambda has 1 twice; give each value once.");
  EXPECT_EQ(message("cmtl", "clusters=1..6000,1..6000"),
            "`parameters`: clusters has more than 10000 numbers; give fewer.");
  EXPECT_EQ(message("cmtl", "lambda=1e-5..1e5:1001 clusters=1..1000"),
            "the lists make 1.001e+06 points to try; 1e+06 are the most. Give shorter lists.");
  EXPECT_EQ(
      message("cmtl", "lambda=1,0"),
      "`parameters`: lambda of `method` cmtl is '0'; it must be a number from 1e-40 to 1e40.");
  EXPECT_EQ(message("cmtl", "clusters=0..2"),
            "`parameters`: clusters of `method` cmtl is '0'; it must be a whole number from 1 to "
            "1000000.");
  EXPECT_EQ(message("cmtl", "clusters=1..2:3"),
            "`parameters`: clusters of `method` cmtl is '1.414'; it must be a whole number from 1 "
            "to 1000000.");
  EXPECT_EQ(message("cmtl", "clusters=1..1000000"),
            "`parameters`: clusters has '1..1000000'" + rule);
  EXPECT_EQ(message("cmtl", "lambda=0.1max"),
            "`parameters`: lambda has a share of lambda_max, which only `lambda` of the method "
            "coterie knows; give numbers.");
  EXPECT_NE(message("cmtl", "power=1").find("which `method` cmtl does not have"),
            std::string::npos);
  EXPECT_NE(message("stl", "power=1").find("`method` stl has none"), std::string::npos);
}

TEST(MethodGrid, TiesGoToSimplerParametersAndThenToSmallerC) {
  GridScores scores;
  const Matrix good = Matrix::Constant(2, 1, 0.8), bad = Matrix::Constant(2, 1, 0.5);
  // {norm, normalise, C, lambda, parameters}
  scores.cells = {{{0, 0, 0, 0, {3, 0}}, good},
                  {{0, 0, 2, 0, {1, 1}}, good},
                  {{0, 0, 1, 0, {1, 1}}, good},
                  {{0, 0, 0, 0, {0, 0}}, bad}};
  const std::vector<Ranked> ranked = rank_points(scores);
  EXPECT_EQ(ranked[0].point, (GridPoint{0, 0, 1, 0, {1, 1}}));
  EXPECT_EQ(ranked[1].point, (GridPoint{0, 0, 2, 0, {1, 1}}));
  EXPECT_EQ(ranked[2].point, (GridPoint{0, 0, 0, 0, {3, 0}}));
  // In all resamples the first of the three is best; of the others one is a step away, one is not.
  EXPECT_EQ(judge_choice(scores, ranked, ranked[0].point, 50, 1).chosen_again, 1);
  EXPECT_EQ(judge_choice(scores, ranked, ranked[1].point, 50, 1).near, 1);
  EXPECT_EQ(judge_choice(scores, ranked, ranked[2].point, 50, 1).near, 0);
}

// ---- scores

struct Searched {
  Dataset data;
  Settings settings;
  Extras extras;
  std::vector<Split> splits;
  Grid grid;

  explicit Searched(const MethodRef& method, const Mapping& map = Mapping::none()) {
    data = cast_into_tasks(
        plant_groups(
            {.tasks = 4, .groups = 2, .samples = 24, .noise = 0.1, .size_spread = 0.3, .seed = 3})
            .samples,
        Casting::binary);
    settings = of_method(method);
    settings.kernels = "linear gauss:2";
    // Fits of convex problems are compared by their optima, others by every step: both begin cold.
    settings.tolerance = is_convex(settings) ? 1e-8 : 1e-3;
    settings.map = map;
    settings.scale = Scale::standard;
    settings.class_weight = ClassWeight::balanced;
    splits = fold_tasks(data, 3, 5);
    std::string lists;
    for (const Parameter& parameter : method->parameters)
      if (!parameter.grid.empty())
        lists += parameter.name + (parameter.whole ? "=1,2 " : "=0.25,0.5,1 ");
    const bool normalised = method == "tang" || map.mapped;
    grid = parse_method_grid(
        settings, {.C = "0.5,4", .normalise = normalised ? "cosine,variance" : "cosine"}, lists);
  }

  GridScores run(Score score, int threads, const SearchHooks& hooks = {}) const {
    const SearchData search{data, settings, extras, grid.C.back(), Storage::stored, threads};
    return score_grid(search, splits, grid, score, hooks);
  }

  // What a user would do: train on a file of the training rows, score a file of the others.
  Vector by_hand(const Settings& at, const Split& split, std::size_t t) const {
    const MethodProblem problem = prepare_method(subset(data, split.train), at, extras, 1);
    const Model model = make_model(problem, at, fit_method(problem, at, 1), "");
    std::vector<Index> rows;
    for (const Index i : split.rest[t])
      rows.push_back(data.tasks[t].rows[static_cast<std::size_t>(i)]);
    return decision_values(model, static_cast<Index>(t), data.X(rows, Eigen::all));
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

class EveryMethod : public ::testing::TestWithParam<std::pair<const char*, Mapping>> {};

TEST_P(EveryMethod, HasTheScoresOfSingleFitsFromRawRows) {
  const Searched searched(GetParam().first, GetParam().second);
  const GridScores scores = searched.run(Score::accuracy, 1);
  const std::vector<GridPoint> points = all_points(searched.grid);
  ASSERT_EQ(scores.cells.size(), points.size());
  EXPECT_EQ(scores.fits, std::ssize(points) * 3);
  EXPECT_TRUE(scores.unconverged == 0 ||
              std::string(GetParam().first) == "coclus");  // which may end at its step limit
  Index compared = 0;
  for (std::size_t p = 0; p < points.size(); p += std::max<std::size_t>(1, points.size() / 4)) {
    const Settings at = settings_at(searched.settings, searched.grid, points[p]);
    const Matrix& cells = scores.cells.at(points[p]);
    for (std::size_t t = 0; t < 4; ++t) {
      const Vector f = searched.by_hand(at, searched.splits[1], t);
      // A score so near 0 that the tolerance of the fit could turn it is not compared.
      if (f.cwiseAbs().minCoeff() < 1e-4) continue;
      ++compared;
      EXPECT_NEAR(cells(1, static_cast<Index>(t)),
                  accuracy(f, searched.data.tasks[t].y(searched.splits[1].rest[t])), 1e-12)
          << text_of(at.parameters) << " C " << at.C << " task " << t;
    }
  }
  EXPECT_GE(compared, 6);
}

TEST_P(EveryMethod, HasCrossValidatedDecisionsOfFitsFromRawRows) {
  const Searched searched(GetParam().first, GetParam().second);
  const SearchData search{searched.data, searched.settings, searched.extras, 1, Storage::stored, 2};
  const std::vector<Vector> scores = cross_validated_scores(search, searched.splits);
  for (std::size_t t = 0; t < scores.size(); ++t) {
    const std::vector<Index>& rest = searched.splits[0].rest[t];
    const Vector raw = searched.by_hand(searched.settings, searched.splits[0], t);
    EXPECT_LE((raw - scores[t](rest)).cwiseAbs().maxCoeff(), 1e-3) << t;
    EXPECT_TRUE(scores[t].allFinite());
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryMethod,
    ::testing::Values(std::pair{"uniform", Mapping::none()}, std::pair{"pooled", Mapping::none()},
                      std::pair{"joint", Mapping::none()}, std::pair{"tang", Mapping::none()},
                      std::pair{"pareto", Mapping::none()}, std::pair{"cmtl", Mapping::none()},
                      std::pair{"whom", Mapping::none()}, std::pair{"flexclus", Mapping::none()},
                      std::pair{"coclus", Mapping::none()}, std::pair{"metag", Mapping::none()},
                      std::pair{"metag", Mapping::kernels(20)}),
    [](const auto& test) {
      return std::string(test.param.first) + (test.param.second.mapped ? "_mapped" : "");
    });

TEST(MethodScores, DoNotDependOnThreads) {
  for (const char* method : {"tang", "pooled", "joint", "flexclus", "whom"}) {
    const Searched searched(method);
    EXPECT_TRUE(same_cells(searched.run(Score::log_loss, 1), searched.run(Score::log_loss, 3)))
        << method;
  }
}

// Interrupted after some rows and resumed from what was kept: the same bits.
TEST(MethodScores, AreTheSameAfterAnInterruption) {
  for (const char* method : {"tang", "cmtl"}) {
    const Searched searched(method);
    const GridScores whole = searched.run(Score::log_loss, 1);
    for (const Index enough : {1, 3, 5}) {
      std::map<RowKey, RowScores> kept;
      SearchHooks hooks;
      hooks.keep = [&](const RowKey& key, const RowScores& row) { kept[key] = row; };
      hooks.progress = [&](Index, Index) { return std::ssize(kept) < enough; };
      EXPECT_TRUE(searched.run(Score::log_loss, 1, hooks).stopped);
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
      EXPECT_TRUE(same_cells(whole, resumed)) << method << " after " << enough;
      EXPECT_EQ(whole.fits, resumed.fits);
    }
  }
}

}  // namespace
}  // namespace coterie
