// Cross-validated scores of the points of a grid, for every method.
//
// A row is one fold at one choice of everything but the list that is walked: lambda for the main method, the longest list for others
// (rows.hpp). Its points are fitted one after the other, each where the one before ended. Rows are independent of each other and run
// side by side; a row always takes the same steps, so that neither the number of threads nor an interruption changes a bit of
// its scores.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "coterie/search/fold.hpp"
#include "coterie/search/grid.hpp"
#include "coterie/search/judgement.hpp"

namespace coterie {

// Which row of a search: the round of a search that looks closer and closer, the fold, and the point with place 0 on the walked list.
struct RowKey {
  Index round = 0, fold = 0;
  GridPoint point = {};
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 behind a defaulted <=> for a pointer
  auto operator<=>(const RowKey&) const = default;
};

// What it took to score points.
struct Effort {
  Index fits = 0, outer_steps = 0;
  Index reused = 0;       // points at which the fit at lambda = inf was the answer
  Index unconverged = 0;  // fits that did not reach their tolerance
  double worst_gap = 0;
  void count(Status status, Index steps, double gap);
  void add(const Effort& other);
};

// What is kept of a row, in memory and in the journal of a run.
struct RowScores : Effort {
  Matrix values;  // points of the row x tasks; for log loss x held-out samples, and decision values
};

struct SearchHooks {
  std::function<bool(Index done, Index rows)> progress;  // false: stop
  // From an earlier run, with so many points; nullptr: not known.
  std::function<const RowScores*(const RowKey&, Index points)> known;
  std::function<void(const RowKey&, const RowScores&)> keep;  // one call at a time
};

struct GridScores : Effort {
  Score score = Score::accuracy;
  std::map<GridPoint, Matrix> cells;  // folds x tasks; NaN where a score is not defined
  Index rows = 0;
  bool stopped = false;  // by the hook: cells are not complete
};

class RowStrategy;

// A search under way. Everything referred to must outlive it.
class GridSearch {
 public:
  GridSearch(const SearchData& search, const std::vector<Split>& splits, const Grid& grid,
             Score score, const SearchHooks& hooks);
  ~GridSearch();
  GridSearch(const GridSearch&) = delete;
  GridSearch& operator=(const GridSearch&) = delete;

  // Scores these points, which have no score yet: one round. When the hook says stop, scores().stopped is set.
  void score(const std::vector<GridPoint>& points);
  const GridScores& scores() const { return scores_; }

 private:
  struct Round;
  struct Sheet;
  void score_sheet(const Sheet& sheet, Round& round);
  void fit_rows(const Sheet& sheet, Round& round, std::map<RowKey, RowScores>& found);
  void add_up(const Sheet& sheet, const std::map<RowKey, RowScores>& found);
  RowKey key_of(Index fold, const GridPoint& row) const { return {rounds_, fold, row}; }

  const SearchData& search_;
  const std::vector<Split>& splits_;
  const Grid& grid_;
  const SearchHooks& hooks_;
  std::unique_ptr<const RowStrategy> strategy_;
  GridScores scores_;
  Index rounds_ = 0;
  GramCache cache_;
  std::vector<Fold> folds_;      // of the last normalisation
  Index of_normalisation_ = -1;  // which that was
};

// The scores of all points of the grid.
GridScores score_grid(const SearchData& search, const std::vector<Split>& splits, const Grid& grid,
                      Score score = Score::accuracy, const SearchHooks& hooks = {});

}  // namespace coterie
