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
constexpr double kStep = 8;  // between neighbouring C, as in the grid of --preset best about

struct Trial {
  Settings settings;
  Grid grid;
};

Trial kernel_trial(const Selection& selection, const Settings& base, const char* method,
                   double norm) {
  Trial trial;
  trial.settings = base;
  trial.settings.method = method;
  trial.settings.parameters.clear();
  trial.settings = in_full(trial.settings);
  const double C = selection.settings.C;
  trial.grid.C = {C / kStep, C, C * kStep};
  trial.grid.lambda = {trial.settings.lambda};
  trial.grid.norm = {norm};
  trial.grid.normalise = {selection.settings.normalise};
  trial.grid.method = trial.settings.method;
  return trial;
}

Trial linear_trial(const Settings& base, Index tasks) {
  Trial trial;
  trial.settings = base;
  trial.settings.method = "cmtl";
  trial.settings.scale = Scale::standard;
  trial.grid = parse_method_grid(
      trial.settings, {},
      tasks < 4 ? "lambda=2^-8,2^-4,1 clusters=1" : "lambda=2^-8,2^-4,1 clusters=2");
  trial.settings = in_full(trial.settings);
  return trial;
}

std::vector<Trial> trials_for(const Dataset& data, const Selection& selection,
                              const Settings& base) {
  std::vector<Trial> out;
  const bool features = std::ranges::none_of(base.kernels.list(), &Kernel::is_precomputed);
  if (features) out.push_back(linear_trial(base, std::ssize(data.tasks)));
  const bool has_uniform =
      std::ranges::any_of(selection.grid.norm, [](double norm) { return std::isinf(norm); });
  if (!has_uniform) out.push_back(kernel_trial(selection, base, "uniform", 1));
  const MethodRef pooled("pooled");
  if (data.tasks.size() > 1 && !why_not(*pooled, data))
    out.push_back(kernel_trial(selection, base, "pooled", std::numeric_limits<double>::infinity()));
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
  for (const Trial& trial : trials_for(data, selection, how.settings)) {
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
