// The front door: select. Which settings of a grid predict best, by cross-validation, and the model that they give.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "coterie/front/train.hpp"
#include "coterie/search/choice.hpp"

namespace coterie {

struct SelectSettings {
  Settings settings = {};  // those that the grid does not choose; its method is the grid's
  Index folds = 5;
  std::optional<double> hold_out = {};  // share of the rows, instead of folds
  std::optional<Samples> validation =
      {};  // rows to judge on, instead of folds, which nobody trains on
  Score score = Score::accuracy;
  bool coarse = false;  // coarse to fine along C and lambda, instead of all points
  bool one_se = false;  // the strongest sharing within one standard error of the best
  std::uint64_t seed = 1;
  bool alternatives =
      true;  // of the main method: `select` also looks at cheap ones (alternatives.hpp)
};

// A cheap method at its best point of a few, on the same folds.
struct Alternative {
  Settings settings = {};
  double score = 0, standard_error = 0;
  // By how much it scores better than the choice, and the standard error of that, paired by folds and tasks.
  double better = 0, better_error = 0;
  // By more than chance alone would explain easily.
  bool would_do_better() const { return better > 0 && !(better <= better_error); }
};

struct Selection {
  Grid grid;
  Score score = Score::accuracy;
  std::string judged_by;  // "5-fold cross-validation"
  bool coarse = false, one_se = false;
  GridScores scores;
  std::vector<Ranked> ranked;
  GridPoint chosen;
  Confidence confidence;
  Index saved = 0;         // points that were not looked at
  Settings settings = {};  // at the chosen point
  std::vector<Alternative> alternatives =
      {};  // that were looked at; the choice does not depend on them
  std::optional<Trained> trained =
      {};  // on all rows; nothing when it was stopped before, or only chosen
  const Ranked& of_chosen() const { return *std::ranges::find(ranked, chosen, &Ranked::point); }
  const Model& model() const { return trained->model; }
};

// The grids by name: that of the paper, and one that docs/choosing.md shows to be good.
namespace grid {
GridText paper_text();
GridText best_text();
Grid paper();
Grid best();
}  // namespace grid

// What a search runs on: the data in folds, or in one part that is trained on and one that is held out. Rows to judge on that are given
// stand behind those of the data.
struct SearchedRows {
  std::vector<Split> splits;
  std::optional<Dataset> joined = {};
  const Dataset& in(const Dataset& data) const { return joined ? *joined : data; }
};
SearchedRows searched_rows(const Dataset& data, const SelectSettings& settings);

// Throws InputError for what cannot be searched: settings, points of the grid, memory. Notes when memory is short.
void check_selection(const SelectSettings& settings);  // without data
void check_search(const Dataset& data, const Grid& grid, const SelectSettings& settings,
                  const Run& run = {}, const Extras& extras = {});

// `hooks` keep rows of the search and give back those of an earlier run. Stopped: scores.stopped, and nothing is chosen.
Selection select(const Dataset& data, const Grid& grid, const SelectSettings& settings = {},
                 const Run& run = {}, const Extras& extras = {}, const SearchHooks& hooks = {});
// The same without the fit of the choice.
Selection choose(const Dataset& data, const Grid& grid, const SelectSettings& settings = {},
                 const Run& run = {}, const Extras& extras = {}, const SearchHooks& hooks = {});

}  // namespace coterie
