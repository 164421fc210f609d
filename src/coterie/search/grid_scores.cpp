#include "coterie/search/grid_scores.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "coterie/math/parallel.hpp"
#include "coterie/stats/calibration.hpp"
#include "coterie/stats/scores.hpp"

namespace coterie {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

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

// Held-out labels of a task.
Vector held_out_labels(const Dataset& data, const Split& split, std::size_t t) {
  return data.tasks[t].y(split.rest[t]);
}

// The scores of one fit on the held-out samples of its fold: one per task, or the decision values themselves for log loss.
Vector judge(const SearchData& search, const Fold& fold, const Fit& fit, Score score) {
  std::vector<double> out;
  for (std::size_t t = 0; t < search.data.tasks.size(); ++t) {
    const std::vector<Index>& rest = fold.split.rest[t];
    if (rest.empty()) {
      if (score != Score::log_loss) out.push_back(undefined);
      continue;
    }
    const Vector f = decisions_at(fold, fit, static_cast<Index>(t), rest);
    const Vector y = held_out_labels(search.data, fold.split, t);
    switch (score) {
      case Score::accuracy:
        out.push_back(accuracy(f, y));
        break;
      case Score::balanced_accuracy:
        out.push_back(balanced_accuracy(f, y));
        break;
      case Score::auc:
        out.push_back(auc(f, y));
        break;
      case Score::log_loss:
        out.insert(out.end(), f.begin(), f.end());
        break;
    }
  }
  return Eigen::Map<const Vector>(out.data(), std::ssize(out));
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

  TrainSettings settings(Index C) const {
    return settings_at(search_.settings, grid_, {sheet_.norm, sheet_.normalise, C, 0});
  }

  FitSettings fit_settings(int threads) const {
    FitSettings out;
    out.gap_tolerance = search_.settings.tolerance;
    out.max_outer_steps = search_.settings.max_steps;
    out.threads = threads;
    // Fits that run side by side share what there is.
    out.memory = threads == 1 ? search_.memory / thread_count(search_.threads) : search_.memory;
    return out;
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
      row.short_of_it += fit.status != Status::converged;
    };
    count(begin.common);
    const std::vector<Index>& lambdas = sheet_.lambdas.at(C);
    const Vector common = judge(search_, fold, begin.common, score_);
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
      row.values.row(static_cast<Index>(k)) = judge(search_, fold, found, score_);
      start = {std::move(found.theta), std::move(found.alpha), std::move(found.nu)};
    }
    return row;
  }

 private:
  std::vector<Vector> costs_of(const Fold& fold, Index C) const {
    return sample_costs(fold.prepared.data, settings(C), search_.extras);
  }

  MtmklProblem problem_of(const Fold& fold, const std::vector<Vector>& costs, double lambda) const {
    const Prepared& p = fold.prepared;
    const double norm = grid_.norm[static_cast<std::size_t>(sheet_.norm)];
    return {p.grams.tasks, p.y, costs, lambda, p.graph, WeightSet(norm)};
  }

  double lambda_of(Index place, double largest) const {
    if (!has_lambda(grid_, sheet_.norm)) return infinite;
    const LambdaChoice choice = parse_lambda(grid_.lambda[static_cast<std::size_t>(place)]);
    return choice.relative ? choice.value * largest : choice.value;
  }

  const SearchData& search_;
  const Grid& grid_;
  const Sheet& sheet_;
  Index round_;
  Score score_;
};

// Log loss of the held-out samples of every fold, (folds x tasks), with sigmoids fitted to the held-out scores of the other folds; of a
// single fold, to the other half of its own.
Matrix cross_fitted_log_loss(const Dataset& data, const std::vector<Split>& splits,
                             const std::vector<Vector>& decisions) {
  const Index K = std::ssize(splits);
  const Index T = std::ssize(data.tasks);
  Matrix cells = Matrix::Constant(K, T, undefined);
  std::vector<Index> begin(splits.size(), 0);
  for (Index t = 0; t < T; ++t) {
    const auto task = static_cast<std::size_t>(t);
    std::vector<double> f, y;
    std::vector<Index> part;  // which part a score is judged in: its fold, or a half
    Index of_class[2] = {0, 0};
    for (std::size_t k = 0; k < splits.size(); ++k) {
      for (const Index i : splits[k].rest[task]) {
        f.push_back(decisions[k][begin[k]++]);
        y.push_back(data.tasks[task].y[i]);
        part.push_back(K > 1 ? static_cast<Index>(k) : of_class[y.back() > 0]++ % 2);
      }
    }
    double sum = 0;
    Index judged = 0;
    for (Index p = 0; p < std::max<Index>(K, 2); ++p) {
      std::vector<Index> inside, outside;
      for (std::size_t i = 0; i < part.size(); ++i)
        (part[i] == p ? inside : outside).push_back(static_cast<Index>(i));
      if (inside.empty()) continue;
      const Eigen::Map<const Vector> scores(f.data(), std::ssize(f));
      const Eigen::Map<const Vector> labels(y.data(), std::ssize(y));
      const Calibration sigmoid = fit_platt(Vector(scores(outside)), Vector(labels(outside)));
      Vector probabilities(std::ssize(inside));
      for (Index i = 0; i < probabilities.size(); ++i)
        probabilities[i] = probability(sigmoid, scores[inside[static_cast<std::size_t>(i)]]);
      const double loss = log_loss(probabilities, Vector(labels(inside)));
      if (K > 1) cells(p, t) = loss;
      sum += loss * static_cast<double>(inside.size());
      judged += std::ssize(inside);
    }
    if (K == 1 && judged > 0) cells(0, t) = sum / static_cast<double>(judged);
  }
  return cells;
}

}  // namespace

std::string to_string(Score score) {
  switch (score) {
    case Score::accuracy:
      return "accuracy";
    case Score::balanced_accuracy:
      return "balanced";
    case Score::auc:
      return "auc";
    case Score::log_loss:
      break;
  }
  return "logloss";
}

std::optional<Score> score_from(const std::string& text) {
  for (const Score score : {Score::accuracy, Score::balanced_accuracy, Score::auc, Score::log_loss})
    if (text == to_string(score)) return score;
  return {};
}

bool higher_is_better(Score score) { return score != Score::log_loss; }

std::vector<GridPoint> all_points(const Grid& grid) {
  std::vector<GridPoint> points;
  for (Index norm = 0; norm < std::ssize(grid.norm); ++norm)
    for (Index normalise = 0; normalise < std::ssize(grid.normalise); ++normalise)
      for (Index C = 0; C < std::ssize(grid.C); ++C)
        for (Index lambda = 0; lambda < (has_lambda(grid, norm) ? std::ssize(grid.lambda) : 1);
             ++lambda)
          points.push_back({norm, normalise, C, lambda});
  return points;
}

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
      // Large C first: they take longest.
      for (auto at = sheet.lambdas.rbegin(); at != sheet.lambdas.rend(); ++at) {
        const RowKey key = scorer.key(k, at->first);
        const RowScores* known = hooks.known ? hooks.known(key) : nullptr;
        if (known) {
          rows[key] = *known;
          continue;
        }
        missing.emplace_back(k, at->first);
        if (unfinished.empty() || unfinished.back() != k) unfinished.push_back(k);
      }
    }
    report(std::ssize(rows));
    if (!missing.empty() && of_normalisation != sheet.normalise) {
      folds.clear();
      folds = make_folds(
          search, splits,
          parse_normalisation(grid.normalise[static_cast<std::size_t>(sheet.normalise)]), cache);
      of_normalisation = sheet.normalise;
    }
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
      scores.short_of_it += row.short_of_it;
      scores.worst_gap = std::max(scores.worst_gap, row.worst_gap);
    }
    for (const auto& [C, lambdas] : sheet.lambdas) {
      for (std::size_t l = 0; l < lambdas.size(); ++l) {
        std::vector<Vector> of_folds;
        for (std::size_t k = 0; k < splits.size(); ++k)
          of_folds.push_back(rows.at(scorer.key(k, C)).values.row(static_cast<Index>(l)));
        Matrix& cells = scores.cells[{sheet.norm, sheet.normalise, C, lambdas[l]}];
        if (scores.score == Score::log_loss) {
          cells = cross_fitted_log_loss(search.data, splits, of_folds);
          continue;
        }
        cells.resize(std::ssize(splits), std::ssize(search.data.tasks));
        for (std::size_t k = 0; k < splits.size(); ++k)
          cells.row(static_cast<Index>(k)) = of_folds[k];
      }
    }
  }
}

double mean_score(const Matrix& cells) {
  double sum = 0;
  Index tasks = 0;
  for (Index t = 0; t < cells.cols(); ++t) {
    double of_task = 0;
    Index folds = 0;
    for (Index k = 0; k < cells.rows(); ++k) {
      if (std::isnan(cells(k, t))) continue;
      of_task += cells(k, t);
      ++folds;
    }
    if (folds == 0) continue;
    sum += of_task / static_cast<double>(folds);
    ++tasks;
  }
  return tasks == 0 ? undefined : sum / static_cast<double>(tasks);
}

double standard_error(const Matrix& cells) {
  const Matrix units = cells.rows() > 1 ? cells : Matrix(cells.transpose());
  std::vector<double> means;
  for (Index k = 0; k < units.rows(); ++k) {
    double sum = 0;
    Index count = 0;
    for (const double value : units.row(k)) {
      if (std::isnan(value)) continue;
      sum += value;
      ++count;
    }
    if (count > 0) means.push_back(sum / static_cast<double>(count));
  }
  const double n = static_cast<double>(means.size());
  if (means.size() < 2) return undefined;
  double mean = 0, squares = 0;
  for (const double value : means) mean += value / n;
  for (const double value : means) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1) / n);
}

}  // namespace coterie
