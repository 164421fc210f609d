#include "coterie/search/grid_scores.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "coterie/math/parallel.hpp"
#include "coterie/search/rows.hpp"

namespace coterie {

void Effort::count(Status status, Index steps, double gap) {
  ++fits;
  outer_steps += steps;
  unconverged += status != Status::converged;
  worst_gap = std::max(worst_gap, gap);
}

void Effort::add(const Effort& other) {
  fits += other.fits;
  outer_steps += other.outer_steps;
  reused += other.reused;
  unconverged += other.unconverged;
  worst_gap = std::max(worst_gap, other.worst_gap);
}

// The rows of one normalisation, whose kernels they share.
struct GridSearch::Sheet {
  Index normalise = 0;
  std::vector<Row> rows = {};
};

// How far a round is, and whether it may go on.
struct GridSearch::Round {
  const SearchHooks& hooks;
  Index rows = 0, done = 0;
  std::atomic<bool> stop = false;
  std::mutex one_at_a_time = {};

  void report(Index more) {
    done += more;
    if (hooks.progress && !hooks.progress(done, rows)) stop = true;
  }
};

GridSearch::GridSearch(const SearchData& search, const std::vector<Split>& splits, const Grid& grid,
                       Score score, const SearchHooks& hooks)
    : search_(search),
      splits_(splits),
      grid_(grid),
      hooks_(hooks),
      strategy_(strategy_of(search, grid, score)) {
  scores_.score = score;
}

GridSearch::~GridSearch() = default;

void GridSearch::score(const std::vector<GridPoint>& points) {
  std::map<Index, Sheet> sheets;
  Round round{hooks_};
  for (Row& row : rows_of(points, *strategy_)) {
    Sheet& sheet = sheets[row.point.normalise];
    sheet.normalise = row.point.normalise;
    sheet.rows.push_back(std::move(row));
    round.rows += std::ssize(splits_);
  }
  for (const auto& [normalise, sheet] : sheets) {
    score_sheet(sheet, round);
    scores_.stopped = round.stop;
    if (scores_.stopped) return;
  }
  scores_.rows += round.rows;
  ++rounds_;
}

void GridSearch::score_sheet(const Sheet& sheet, Round& round) {
  std::map<RowKey, RowScores> found;
  for (Index fold = 0; fold < std::ssize(splits_); ++fold)
    for (const Row& row : sheet.rows) {
      const RowKey key = key_of(fold, row.point);
      const RowScores* known = hooks_.known ? hooks_.known(key, std::ssize(row.points)) : nullptr;
      if (known) found[key] = *known;
    }
  round.report(std::ssize(found));
  if (std::ssize(found) < std::ssize(splits_) * std::ssize(sheet.rows))
    fit_rows(sheet, round, found);
  if (!round.stop) add_up(sheet, found);
}

void GridSearch::fit_rows(const Sheet& sheet, Round& round, std::map<RowKey, RowScores>& found) {
  std::vector<std::pair<Index, const Row*>> missing;  // fold, row
  std::vector<Index> unfinished;                      // folds
  for (Index fold = 0; fold < std::ssize(splits_); ++fold)
    for (const Row& row : sheet.rows) {
      if (found.contains(key_of(fold, row.point))) continue;
      missing.emplace_back(fold, &row);
      if (unfinished.empty() || unfinished.back() != fold) unfinished.push_back(fold);
    }
  // Large C first: they take longest.
  std::ranges::stable_sort(missing, std::ranges::greater{},
                           [](const auto& item) { return item.second->point.C; });
  if (of_normalisation_ != sheet.normalise) {
    folds_.clear();
    folds_ = make_folds(search_, splits_,
                        grid_.normalise[static_cast<std::size_t>(sheet.normalise)], cache_);
    of_normalisation_ = sheet.normalise;
  }
  const auto fold_at = [&](Index fold) -> const Fold& {
    return folds_[static_cast<std::size_t>(fold)];
  };

  const bool many_folds = std::ssize(unfinished) >= thread_count(search_.threads);
  std::vector<Beginnings> beginnings(splits_.size());
  parallel_for(std::ssize(unfinished), many_folds ? search_.threads : 1, [&](Index k) {
    const Index fold = unfinished[static_cast<std::size_t>(k)];
    if (!round.stop)
      beginnings[static_cast<std::size_t>(fold)] = strategy_->begin(
          fold_at(fold), sheet.rows, {many_folds ? 1 : search_.threads, round.stop});
    const std::lock_guard lock(round.one_at_a_time);
    round.report(0);
  });
  const bool many_rows = std::ssize(missing) >= thread_count(search_.threads);
  parallel_for(std::ssize(missing), many_rows ? search_.threads : 1, [&](Index item) {
    if (round.stop) return;
    const auto& [fold, row] = missing[static_cast<std::size_t>(item)];
    RowScores scores =
        strategy_->score(fold_at(fold), *row, beginnings[static_cast<std::size_t>(fold)],
                         {many_rows ? 1 : search_.threads, round.stop});
    const std::lock_guard lock(round.one_at_a_time);
    if (round.stop) return;
    const RowKey key = key_of(fold, row->point);
    if (hooks_.keep) hooks_.keep(key, scores);
    found[key] = std::move(scores);
    round.report(1);
  });
}

void GridSearch::add_up(const Sheet& sheet, const std::map<RowKey, RowScores>& found) {
  for (const auto& [key, row] : found) scores_.add(row);
  for (const Row& row : sheet.rows)
    for (std::size_t p = 0; p < row.points.size(); ++p) {
      std::vector<Vector> judged;
      for (Index fold = 0; fold < std::ssize(splits_); ++fold)
        judged.emplace_back(found.at(key_of(fold, row.point)).values.row(static_cast<Index>(p)));
      scores_.cells[row.points[p]] = cells_of(search_.data, splits_, scores_.score, judged);
    }
}

GridScores score_grid(const SearchData& search, const std::vector<Split>& splits, const Grid& grid,
                      Score score, const SearchHooks& hooks) {
  GridSearch one(search, splits, grid, score, hooks);
  one.score(all_points(grid));
  return one.scores();
}

}  // namespace coterie
