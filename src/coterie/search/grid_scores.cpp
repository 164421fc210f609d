#include "coterie/search/grid_scores.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "coterie/math/parallel.hpp"

namespace coterie {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// Points that share a norm and a normalisation: per C, the places of its lambdas in the grid, from strong sharing to none.
struct Sheet {
  Index norm = 0, normalise = 0;
  std::map<Index, std::vector<Index>> lambdas;
};

std::vector<Sheet> sheets_of(const std::vector<GridPoint>& points) {
  std::map<std::pair<Index, Index>, Sheet>
      sheets;  // by normalisation first: its kernels are shared
  for (const GridPoint& point : points) {
    Sheet& sheet = sheets[{point.normalise, point.norm}];
    sheet.norm = point.norm;
    sheet.normalise = point.normalise;
    sheet.lambdas[point.C].push_back(point.lambda);
  }
  std::vector<Sheet> out;
  for (auto& [key, sheet] : sheets) {
    for (auto& [C, lambdas] : sheet.lambdas) std::ranges::sort(lambdas);
    out.push_back(std::move(sheet));
  }
  return out;
}

// The fit at lambda = inf of one fold at one C, from which a row starts.
struct Beginning {
  Fit common;
  double lambda_max = 0;
};

class SheetScorer {
 public:
  SheetScorer(const SearchData& search, const Grid& grid, const Sheet& sheet, Index round,
              Score score)
      : search_(search), grid_(grid), sheet_(sheet), round_(round), score_(score) {}

  RowKey key(std::size_t fold, Index C) const {
    return {round_, sheet_.norm, sheet_.normalise, static_cast<Index>(fold), C};
  }

  Settings settings(Index C) const {
    return settings_at(search_.settings, grid_, {sheet_.norm, sheet_.normalise, C, 0});
  }

  FitSettings fit_settings(int threads) const {
    // Fits that run side by side share what there is.
    return fit_settings_of(
        search_.settings, threads,
        threads == 1 ? search_.memory / thread_count(search_.threads) : search_.memory);
  }

  // Fits at lambda = inf of a fold for all C of the sheet, upwards. Empty when it was stopped.
  std::map<Index, Beginning> begin_rows(const Fold& fold, int threads,
                                        const std::atomic<bool>& stop) const {
    std::map<Index, Beginning> out;
    WarmStart start;
    for (const auto& [C, lambdas] : sheet_.lambdas) {
      const std::vector<Vector> costs = costs_of(fold, C);
      const MtmklProblem problem = problem_of(fold, costs, infinite);
      Beginning begin;
      begin.common = fit(
          problem, fit_settings(threads), [&](const Progress&) { return !stop.load(); }, start);
      if (stop) return {};
      begin.lambda_max = lambda_max(problem, begin.common);
      start = {begin.common.theta, begin.common.alpha, {}};
      out.emplace(C, std::move(begin));
    }
    return out;
  }

  RowScores score_row(const Fold& fold, Index C, const Beginning& begin, int threads,
                      const std::atomic<bool>& stop) const {
    const std::vector<Vector> costs = costs_of(fold, C);
    RowScores row;
    row.lambda_max = begin.lambda_max;
    const auto count = [&](const Fit& fit) {
      ++row.fits;
      row.outer_steps += fit.outer_steps;
      row.worst_gap = std::max(row.worst_gap, fit.gap);
      row.unconverged += fit.status != Status::converged;
    };
    count(begin.common);
    const std::vector<Index>& lambdas = sheet_.lambdas.at(C);
    const Vector common = judge(fold, begin.common);
    row.values.resize(std::ssize(lambdas), common.size());
    WarmStart start{begin.common.theta, begin.common.alpha, {}};
    Workspace workspace;
    for (std::size_t k = 0; k < lambdas.size(); ++k) {
      const double lambda = lambda_of(lambdas[k], begin.lambda_max);
      if (lambda >= begin.lambda_max && lambda > 0) {
        row.values.row(static_cast<Index>(k)) = common;
        ++row.reused;
        continue;
      }
      Fit found = fit(
          problem_of(fold, costs, lambda), fit_settings(threads),
          [&](const Progress&) { return !stop.load(); }, start, &workspace);
      if (stop) return row;
      count(found);
      row.values.row(static_cast<Index>(k)) = judge(fold, found);
      start = {std::move(found.theta), std::move(found.alpha), std::move(found.nu)};
    }
    return row;
  }

 private:
  Vector judge(const Fold& fold, const Fit& fit) const {
    return judge_held_out(search_.data, fold.split, score_,
                          [&](Index t, const std::vector<Index>& samples) {
                            return decisions_at(fold, fit, t, samples);
                          });
  }

  std::vector<Vector> costs_of(const Fold& fold, Index C) const {
    return sample_costs(fold.train.set.data, settings(C), search_.extras);
  }

  MtmklProblem problem_of(const Fold& fold, const std::vector<Vector>& costs, double lambda) const {
    return joint_problem(fold.train, costs, lambda,
                         grid_.norm[static_cast<std::size_t>(sheet_.norm)]);
  }

  double lambda_of(Index place, double largest) const {
    if (!has_lambda(grid_, sheet_.norm)) return infinite;
    const Lambda choice = grid_.lambda[static_cast<std::size_t>(place)];
    if (!choice.relative) return choice.value;
    // Where every positive lambda fuses all tasks, all shares but 0 do, as in fit_prepared.
    return largest == 0 && choice.value > 0 ? infinite : choice.value * largest;
  }

  const SearchData& search_;
  const Grid& grid_;
  const Sheet& sheet_;
  Index round_;
  Score score_;
};

}  // namespace

void score_points(const SearchData& search, const std::vector<Split>& splits, const Grid& grid,
                  const std::vector<GridPoint>& points, Index round, GramCache& cache,
                  const SearchHooks& hooks, GridScores& scores) {
  const std::vector<Sheet> sheets = sheets_of(points);
  Index rows_in_all = 0, rows_done = 0;
  for (const Sheet& sheet : sheets) rows_in_all += std::ssize(sheet.lambdas) * std::ssize(splits);
  std::atomic<bool> stop = false;
  std::mutex one_at_a_time;
  const auto report = [&](Index done) {
    rows_done += done;
    if (hooks.progress && !hooks.progress(rows_done, rows_in_all)) stop = true;
  };

  std::vector<Fold> folds;
  Index of_normalisation = -1;
  for (const Sheet& sheet : sheets) {
    std::map<RowKey, RowScores> rows;
    std::vector<std::pair<std::size_t, Index>> missing;  // fold, C
    std::vector<std::size_t> unfinished;                 // folds
    const SheetScorer scorer(search, grid, sheet, round, scores.score);
    for (std::size_t k = 0; k < splits.size(); ++k) {
      for (const auto& [C, lambdas] : sheet.lambdas) {
        const RowKey key = scorer.key(k, C);
        const RowScores* known = hooks.known ? hooks.known(key, std::ssize(lambdas)) : nullptr;
        if (known) {
          rows[key] = *known;
          continue;
        }
        missing.emplace_back(k, C);
        if (unfinished.empty() || unfinished.back() != k) unfinished.push_back(k);
      }
    }
    report(std::ssize(rows));
    if (!missing.empty() && of_normalisation != sheet.normalise) {
      folds.clear();
      folds = make_folds(search, splits, grid.normalise[static_cast<std::size_t>(sheet.normalise)],
                         cache);
      of_normalisation = sheet.normalise;
    }
    // Large C first: they take longest.
    std::stable_sort(missing.begin(), missing.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    const bool many_folds = std::ssize(unfinished) >= thread_count(search.threads);
    std::vector<std::map<Index, Beginning>> beginnings(splits.size());
    parallel_for(std::ssize(unfinished), many_folds ? search.threads : 1, [&](Index k) {
      const std::size_t fold = unfinished[static_cast<std::size_t>(k)];
      if (!stop)
        beginnings[fold] = scorer.begin_rows(folds[fold], many_folds ? 1 : search.threads, stop);
      const std::lock_guard lock(one_at_a_time);
      report(0);
    });
    const bool many_rows = std::ssize(missing) >= thread_count(search.threads);
    parallel_for(std::ssize(missing), many_rows ? search.threads : 1, [&](Index item) {
      if (stop) return;
      const auto [fold, C] = missing[static_cast<std::size_t>(item)];
      RowScores row = scorer.score_row(folds[fold], C, beginnings[fold].at(C),
                                       many_rows ? 1 : search.threads, stop);
      const std::lock_guard lock(one_at_a_time);
      if (stop) return;
      const RowKey key = scorer.key(fold, C);
      if (hooks.keep) hooks.keep(key, row);
      rows[key] = std::move(row);
      report(1);
    });
    if (stop) {
      scores.stopped = true;
      return;
    }
    for (const auto& [key, row] : rows) {
      scores.fits += row.fits;
      scores.outer_steps += row.outer_steps;
      scores.reused += row.reused;
      scores.unconverged += row.unconverged;
      scores.worst_gap = std::max(scores.worst_gap, row.worst_gap);
    }
    for (const auto& [C, lambdas] : sheet.lambdas) {
      for (std::size_t l = 0; l < lambdas.size(); ++l) {
        std::vector<Vector> of_folds;
        for (std::size_t k = 0; k < splits.size(); ++k)
          of_folds.emplace_back(rows.at(scorer.key(k, C)).values.row(static_cast<Index>(l)));
        scores.cells[{sheet.norm, sheet.normalise, C, lambdas[l]}] =
            cells_of(search.data, splits, scores.score, of_folds);
      }
    }
  }
}

}  // namespace coterie
