// Cross-validated scores of the points of a grid.
//
// For every fold, norm and normalisation: along C a fit at lambda = inf, each started at the one before; from it, at every C, down
// lambda, each fit started at the one before. The rows (one fold at one C) are independent of each other and run side by side; a row
// always takes the same steps, so that neither the number of threads nor an interruption changes a bit of its scores.
// Where lambda >= lambda_max, docs/maths.md (19), the fit at lambda = inf is the answer, with its proof.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "coterie/search/fold.hpp"
#include "coterie/search/grid.hpp"
#include "coterie/search/judgement.hpp"

namespace coterie {

// One fold at one C: what is kept of a row, in memory and in the journal of a run.
struct RowKey {
  Index round = 0, norm = 0, normalise = 0, fold = 0, C = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 behind a defaulted <=> for a pointer
  auto operator<=>(const RowKey&) const = default;
};
struct RowScores {
  Matrix
      values;  // lambdas of the row x tasks; for log loss x held-out samples, and decision values
  double lambda_max = 0;
  double worst_gap = 0;
  Index fits = 0, outer_steps = 0;
  Index reused = 0;       // lambdas at which the fit at lambda = inf was the answer
  Index unconverged = 0;  // fits that did not reach their tolerance
};

struct SearchHooks {
  std::function<bool(Index done, Index rows)> progress;  // false: stop
  // From an earlier run, with so many points; nullptr: not known.
  std::function<const RowScores*(const RowKey&, Index points)> known;
  std::function<void(const RowKey&, const RowScores&)> keep;  // one call at a time
};

struct GridScores {
  Score score = Score::accuracy;
  std::map<GridPoint, Matrix> cells;  // folds x tasks; NaN where a score is not defined
  Index fits = 0, outer_steps = 0, reused = 0, unconverged = 0;
  double worst_gap = 0;
  bool stopped = false;  // by the hook: cells are not complete
};

// Adds the scores of the points to `scores`. `round` tells calls of one search apart.
void score_points(const SearchData& search, const std::vector<Split>& splits, const Grid& grid,
                  const std::vector<GridPoint>& points, Index round, GramCache& cache,
                  const SearchHooks& hooks, GridScores& scores);

}  // namespace coterie
