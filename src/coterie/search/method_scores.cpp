#include "coterie/search/method_scores.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "coterie/math/parallel.hpp"
#include "coterie/search/method_fold.hpp"

namespace coterie {

namespace {

// The place of a point on the list that is walked: C, or one of the parameters.
class Walk {
 public:
  explicit Walk(const Grid& grid) {
    std::size_t longest = grid.C.size();
    for (std::size_t k = 0; k < grid.parameters.size(); ++k) {
      const ParameterList& list = grid.parameters[k];
      if (parameter_named(*grid.method, list.name).whole) continue;
      if (list.values.size() < longest) continue;
      longest = list.values.size();
      parameter_ = static_cast<Index>(k);
    }
  }
  Index& place(GridPoint& point) const {
    return parameter_ < 0 ? point.C : point.parameters[static_cast<std::size_t>(parameter_)];
  }

 private:
  Index parameter_ = -1;
};

struct Row {
  Index number = 0;
  std::vector<GridPoint> points;  // in the order of the walk
};

std::vector<Row> rows_of(const Grid& grid) {
  const Walk walk(grid);
  std::map<GridPoint, Row> rows;
  for (const GridPoint& point : all_points(grid)) {
    GridPoint key = point;
    walk.place(key) = 0;
    rows[key].points.push_back(point);
  }
  std::vector<Row> out;
  for (auto& [key, row] : rows) {
    row.number = std::ssize(out);
    out.push_back(std::move(row));
  }
  return out;
}

RowScores score_row(const SearchData& search, const Grid& grid, const MethodFold& fold,
                    const Row& row, Score score, int threads, const std::atomic<bool>& stop) {
  // Fits that run side by side share what there is.
  const double memory = threads == 1 ? search.memory / thread_count(search.threads) : search.memory;
  RowScores out;
  MethodFit last;
  for (const GridPoint& point : row.points) {
    const Settings settings = settings_at(search.settings, grid, point);
    const bool warm = out.fits > 0 && is_convex(settings);
    MethodFit found = fit_fold(
        fold, search, settings, threads, [&](const Progress&) { return !stop.load(); },
        warm ? &last : nullptr, memory);
    if (stop) return out;
    const Vector judged = judge_held_out(
        search.data, fold.split, score,
        [&](Index t, const std::vector<Index>&) { return held_out_decisions(fold, found, t); });
    if (out.fits == 0) out.values.resize(std::ssize(row.points), judged.size());
    out.values.row(out.fits++) = judged;
    out.outer_steps += found.steps();
    out.worst_gap = std::max(out.worst_gap, found.gap());
    out.unconverged += found.status() != Status::converged;
    last = std::move(found);
  }
  return out;
}

}  // namespace

void score_method(const SearchData& search, const std::vector<Split>& splits, const Grid& grid,
                  const SearchHooks& hooks, GridScores& scores) {
  const std::vector<Row> rows = rows_of(grid);
  const Index in_all = std::ssize(rows) * std::ssize(splits);
  Index done = 0;
  std::atomic<bool> stop = false;
  std::mutex one_at_a_time;
  const auto report = [&](Index more) {
    done += more;
    if (hooks.progress && !hooks.progress(done, in_all)) stop = true;
  };
  const auto key_of = [](std::size_t fold, const Row& row) {
    return RowKey{.fold = static_cast<Index>(fold), .C = row.number};
  };

  std::map<RowKey, RowScores> found;
  GramCache cache;
  for (Index normalise = 0; normalise < std::ssize(grid.normalise); ++normalise) {
    std::vector<std::pair<std::size_t, const Row*>> missing;  // fold, row
    Index known = 0;
    for (const Row& row : rows) {
      if (row.points.front().normalise != normalise) continue;
      for (std::size_t k = 0; k < splits.size(); ++k) {
        const RowScores* earlier =
            hooks.known ? hooks.known(key_of(k, row), std::ssize(row.points)) : nullptr;
        if (earlier)
          found[key_of(k, row)] = *earlier;
        else
          missing.emplace_back(k, &row);
        known += earlier != nullptr;
      }
    }
    report(known);
    if (missing.empty() || stop) continue;
    const std::vector<MethodFold> folds = make_method_folds(
        search, splits, grid.normalise[static_cast<std::size_t>(normalise)], cache);
    const bool many = std::ssize(missing) >= thread_count(search.threads);
    parallel_for(std::ssize(missing), many ? search.threads : 1, [&](Index item) {
      if (stop) return;
      const auto& [fold, row] = missing[static_cast<std::size_t>(item)];
      RowScores of_row =
          score_row(search, grid, folds[fold], *row, scores.score, many ? 1 : search.threads, stop);
      const std::lock_guard lock(one_at_a_time);
      if (stop) return;
      const RowKey key = key_of(fold, *row);
      if (hooks.keep) hooks.keep(key, of_row);
      found[key] = std::move(of_row);
      report(1);
    });
  }
  if (stop) {
    scores.stopped = true;
    return;
  }
  for (const auto& [key, row] : found) {
    scores.fits += row.fits;
    scores.outer_steps += row.outer_steps;
    scores.unconverged += row.unconverged;
    scores.worst_gap = std::max(scores.worst_gap, row.worst_gap);
  }
  for (const Row& row : rows)
    for (std::size_t p = 0; p < row.points.size(); ++p) {
      std::vector<Vector> judged;
      for (std::size_t k = 0; k < splits.size(); ++k)
        judged.emplace_back(found.at(key_of(k, row)).values.row(static_cast<Index>(p)));
      scores.cells[row.points[p]] = cells_of(search.data, splits, scores.score, judged);
    }
}

}  // namespace coterie
