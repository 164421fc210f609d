#include "coterie/front/alternatives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coterie/front/contest.hpp"
#include "coterie/math/random.hpp"

namespace coterie {

namespace {

// A pool takes the square of its rows, whatever the tasks: with so many, ten fits take tenths of a second.
constexpr Index kMostPooled = 1000;
constexpr double kStep = 8;  // between neighbouring C
constexpr double kShare = 0.1;
// Measured on letter, landmine and vehicle: a fit that begins cold, in fits of a search, which begin where others ended.
constexpr double kLinearFit = 1.5, kUniformFit = 2, kPooledFit = 2;

struct Trial {
  Settings settings;
  Grid grid;
};

// The first so many of the values, in order.
std::vector<double> first_of(std::vector<double> values, Index points) {
  values.resize(static_cast<std::size_t>(points));
  std::ranges::sort(values);
  return values;
}

Trial kernel_trial(const Selection& selection, const Settings& base, const char* method,
                   double norm, Index points) {
  Trial trial;
  trial.settings = base;
  trial.settings.method = method;
  trial.settings.parameters.clear();
  trial.settings = in_full(trial.settings);
  const double C = selection.settings.C;
  trial.grid.C = first_of({C, C / kStep, C * kStep}, points);
  trial.grid.lambda = {trial.settings.lambda};
  trial.grid.norm = {norm};
  trial.grid.normalise = {selection.settings.normalise};
  trial.grid.method = trial.settings.method;
  return trial;
}

Trial linear_trial(const Settings& base, Index tasks, Index points) {
  Trial trial;
  trial.settings = base;
  trial.settings.method = "cmtl";
  trial.settings.scale = Scale::standard;
  trial.grid = parse_method_grid(trial.settings, {}, tasks < 4 ? "clusters=1" : "clusters=2");
  std::vector<double>& lambda = trial.grid.parameters.front().values;
  lambda = first_of({0x1p-4, 0x1p-8, 1}, points);
  std::ranges::reverse(lambda);  // from simple to complex
  trial.settings = in_full(trial.settings);
  return trial;
}

// The chosen point with more kernels.
Trial columns_trial(const Selection& selection, const Settings& base) {
  Trial trial;
  trial.settings = base;
  trial.settings.kernels = {base.kernels, gauss({0.5, 1}).on_each()};
  trial.grid = selection.grid;
  const Settings& at = selection.settings;
  trial.grid.C = {at.C};
  trial.grid.lambda = {at.lambda};
  trial.grid.norm = {at.norm};
  trial.grid.normalise = {at.normalise};
  return trial;
}

// The chosen point on smoothed features.
Trial smooth_trial(const Selection& selection, const Settings& base) {
  Trial trial = columns_trial(selection, base);
  trial.settings.kernels = base.kernels;
  trial.settings.smooth = kSmooth;
  return trial;
}

struct Wanted {
  bool linear = false, uniform = false, pooled = false, columns = false, smooth = false;
};

Wanted wanted_for(const Dataset& data, const Selection& selection, const Settings& base) {
  Wanted out;
  out.linear = std::ranges::none_of(base.kernels.list(), &Kernel::is_precomputed);
  out.uniform = std::ranges::none_of(selection.grid.norm, [](double p) { return std::isinf(p); });
  out.pooled = data.tasks.size() > 1 && !why_not(*MethodRef("pooled"), data);
  out.smooth = out.linear && base.smooth == 1 && data.X.cols() >= kLeastToSmooth;
  const auto has_columns = [](const Kernel& kernel) { return !kernel.block.empty(); };
  out.columns = out.linear && data.X.cols() > 1 &&
                std::ranges::none_of(base.kernels.list(), has_columns) &&
                std::ranges::find(data.features, "each") == data.features.end();
  return out;
}

// What a fit of the pool costs, in fits of the search: these take the squares of their tasks, something for every pair of tasks, and a
// millisecond at least (about 3e5 pairs of samples).
double cost_of_pool(const Dataset& data, const Settings& base) {
  double squares = 3e5, rows = 0;
  for (const Task& task : data.tasks) {
    squares += static_cast<double>(task.size() * task.size());
    rows += static_cast<double>(task.size());
  }
  const double T = static_cast<double>(data.tasks.size());
  squares += 33 * T * (T - 1) / 2 * static_cast<double>(base.kernels.list().size());
  rows = std::min(rows, static_cast<double>(kMostPooled));
  return kPooledFit + 0.3 * rows * rows / squares;
}

// The same of a fit with two more kernels a column.
double cost_of_columns(const Dataset& data, const Settings& base) {
  return 2 +
         2 * static_cast<double>(data.X.cols()) / static_cast<double>(base.kernels.list().size());
}

std::vector<Trial> trials_for(const Dataset& data, const Selection& selection, const Settings& base,
                              std::size_t folds) {
  const Wanted wanted = wanted_for(data, selection, base);
  const double per_point = static_cast<double>(folds) *
                           ((wanted.linear ? kLinearFit : 0) + (wanted.uniform ? kUniformFit : 0) +
                            (wanted.pooled ? cost_of_pool(data, base) : 0));
  const double fits = kShare * static_cast<double>(selection.scores.fits);
  const double for_smooth = 2 * static_cast<double>(folds);
  const double for_columns = static_cast<double>(folds) * cost_of_columns(data, base);
  double left = fits;
  const auto takes = [&](bool wants, double cost) {  // and leaves room for a point of the others
    const bool room = wants && cost + per_point <= left;
    if (room) left -= cost;
    return room;
  };
  const bool smooth = takes(wanted.smooth, for_smooth);
  const bool columns = takes(wanted.columns, for_columns);
  const Index points = per_point > 0 ? static_cast<Index>(std::min(3.0, left / per_point)) : 0;
  std::vector<Trial> out;
  if (columns) out.push_back(columns_trial(selection, base));
  if (smooth) out.push_back(smooth_trial(selection, base));
  if (points == 0) return out;
  if (wanted.linear) out.push_back(linear_trial(base, std::ssize(data.tasks), points));
  if (wanted.uniform) out.push_back(kernel_trial(selection, base, "uniform", 1, points));
  if (wanted.pooled)
    out.push_back(
        kernel_trial(selection, base, "pooled", std::numeric_limits<double>::infinity(), points));
  return out;
}

// The splits with at most so many rows to train on in all, the same share of every task.
std::vector<Split> thinned(std::vector<Split> splits, Index most, std::uint64_t seed) {
  for (Split& split : splits) {
    Index all = 0;
    for (const std::vector<Index>& rows : split.train) all += std::ssize(rows);
    if (all <= most) continue;
    Random random(seed);
    for (std::vector<Index>& rows : split.train) {
      const double share = static_cast<double>(most) / static_cast<double>(all);
      random.shuffle(rows);
      rows.resize(static_cast<std::size_t>(std::ceil(share * static_cast<double>(rows.size()))));
      std::ranges::sort(rows);
    }
  }
  return splits;
}

}  // namespace

std::vector<Alternative> cheap_alternatives(const Dataset& data, const Selection& selection,
                                            const SelectSettings& how, const Run& run,
                                            const Extras& extras) {
  const SearchedRows rows = searched_rows(data, how);
  const double memory = 0.5 * memory_budget(run);
  const Matrix& chosen = selection.scores.cells.at(selection.chosen);
  const double sign = higher_is_better(how.score) ? 1 : -1;
  SearchHooks hooks;
  if (run.share)
    hooks.progress = [&](Index, Index) {
      return run.share(selection.scores.rows, selection.scores.rows);
    };
  std::vector<Alternative> out;
  for (const Trial& trial : trials_for(data, selection, how.settings, rows.splits.size())) {
    const Method& method = *trial.settings.method;
    const Extras own = extras_for(method, extras);
    if (method.is_linear() &&
        static_cast<double>(rows.splits.size()) * linear_bytes(data, trial.settings) > memory)
      continue;
    const SearchData search{rows.in(data),      trial.settings, own,   trial.grid.C.back(),
                            Storage::on_demand, run.threads,    memory};
    const std::vector<Split> splits =
        method.pools ? thinned(rows.splits, kMostPooled, how.seed) : rows.splits;
    try {
      const GridScores scores = score_grid(search, splits, trial.grid, how.score, hooks);
      if (scores.stopped) return out;
      const Ranked best = rank_points(scores).front();
      const Matrix difference = sign * (scores.cells.at(best.point) - chosen);
      out.push_back({settings_at(trial.settings, trial.grid, best.point), best.score,
                     best.standard_error, mean_score(difference), standard_error(difference)});
    } catch (const InputError&) {  // numbers that it cannot work with, such as features of 1e50
    }
  }
  return out;
}

}  // namespace coterie
