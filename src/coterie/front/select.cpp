#include "coterie/front/select.hpp"

#include <fmt/format.h>

#include <cmath>

#include "coterie/data/validation.hpp"
#include "coterie/front/alternatives.hpp"
#include "coterie/mtmkl/range.hpp"

namespace coterie {

namespace {

constexpr Index kResamples = 1000;  // of the scores, to judge how sure the choice is

// What cannot be computed at some point of the grid is said before the search.
void check_grid(const Settings& settings, const Grid& grid, const Dataset& data,
                const Extras& extras) {
  const Method& method = *settings.method;
  if (method.is_linear()) return;
  Settings at = settings;
  for (const double C : grid.C) {
    at.C = C;
    check_costs(sample_costs(data, at, extras), data.tasks);
  }
  if (!method.walks_lambda()) return;
  const TaskGraph graph = extras.complete ? complete_graph(std::ssize(data.tasks)) : extras.graph;
  for (const Lambda& lambda : grid.lambda)
    if (!lambda.relative) check_penalty(graph, lambda.value, names_in(data.tasks));
}

// Memory of the search: half for matrices of folds, half for what fits keep.
SearchData search_data(const Dataset& data, const Settings& settings, const Extras& extras,
                       const Grid& grid, Index folds, const Run& run) {
  SearchData search{data, settings, extras, grid.C.back(), Storage::on_demand, run.threads};
  search.storage = storage_within(search, folds, 0.5 * memory_budget(run));
  Settings largest = settings;  // what is too large is said before the search
  largest.C = grid.C.back();
  const MemoryPlan plan = plan_fit(data, largest, run, extras);
  search.memory = 0.5 * kernels_beside(plan, 0, run);
  search.first_stage_memory = 0.5 * plan.first_stage;
  if (!settings.method->is_linear()) return search;
  const double bytes = static_cast<double>(folds) * linear_bytes(data, settings);
  if (bytes > memory_budget(run))
    throw InputError(
        fmt::format("the folds of `method` {} need about {}, more than the {} there are. Use "
                    "fewer `folds`, or `hold_out`.",
                    settings.method->name, bytes_text(bytes), bytes_text(memory_budget(run))));
  return search;
}

// Tasks without a score on any fold.
void note_unjudged(const GridScores& scores, const Run& run) {
  const Matrix& cells = scores.cells.begin()->second;  // what is undefined depends on labels alone
  Index unjudged = 0;
  for (Index t = 0; t < cells.cols(); ++t)
    unjudged += std::ranges::all_of(cells.col(t), [](double value) { return std::isnan(value); });
  const bool by_class = scores.score == Score::balanced_accuracy || scores.score == Score::auc;
  if (unjudged > 0 && run.note)
    run.note(
        fmt::format("{} of {} tasks had no part in the choice: no held-out part of theirs has "
                    "{}.",
                    unjudged, cells.cols(), by_class ? "both classes" : "rows"));
}

std::string judged_by(const SelectSettings& how) {
  if (how.validation) return fmt::format("{} rows to judge on", how.validation->X.rows());
  return how.hold_out ? fmt::format("about {:.4g} % of the rows held out", 100 * *how.hold_out)
                      : fmt::format("{}-fold cross-validation", how.folds);
}

}  // namespace

namespace grid {
GridText paper_text() { return {}; }
GridText best_text() {
  return {"2^-4..2^10:8", "0,0.01max..1max:5,inf", "1,2,inf", "cosine,variance,tail:4,tail:8"};
}
Grid paper() { return parse_grid(paper_text()); }
Grid best() { return parse_grid(best_text()); }
}  // namespace grid

void check_selection(const SelectSettings& how) {
  const Settings& settings = how.settings;
  validate(settings);
  if (settings.solver != Solver::newton)
    throw InputError(
        "`solver`: select compares optima, which 'published' does not reach; it needs 'newton'.");
  if (how.coarse && !settings.method->walks_lambda())
    throw InputError(
        fmt::format("`search` coarse goes along C and lambda, which `method` {} has not; it "
                    "needs `search` grid.",
                    settings.method->name));
  if (how.hold_out && how.validation)
    throw InputError("`hold_out` and `validation` are both given; choose one.");
  const std::vector<Kernel> kernels = settings.kernels.list();
  if (how.validation &&
      std::ranges::any_of(kernels, [](const Kernel& kernel) { return kernel.is_precomputed(); }))
    throw InputError(
        "`validation`: precomputed kernels have no values for its rows. Use `folds` or `hold_out`, "
        "or other `kernels`.");
  if (how.hold_out && !(*how.hold_out > 0 && *how.hold_out < 1))
    throw InputError(fmt::format("`hold_out` is {}; it must be between 0 and 1.", *how.hold_out));
}

void check_search(const Dataset& data, const Grid& grid, const SelectSettings& how, const Run& run,
                  const Extras& extras) {
  check_selection(how);
  check_dataset(data);
  check_grid(how.settings, grid, data, extras);
  const SearchedRows rows = searched_rows(data, how);
  search_data(rows.in(data), how.settings, extras, grid, std::ssize(rows.splits), run);
}

SearchedRows searched_rows(const Dataset& data, const SelectSettings& settings) {
  if (settings.validation) {
    Validated validated = with_validation(data, *settings.validation);
    return {{std::move(validated.split)}, std::move(validated.data)};
  }
  if (settings.hold_out) return {{hold_out_tasks(data, *settings.hold_out, settings.seed)}};
  return {fold_tasks(data, settings.folds, settings.seed)};
}

Selection choose(const Dataset& data, const Grid& wanted, const SelectSettings& how, const Run& run,
                 const Extras& extras, const SearchHooks& hooks) {
  Selection out;
  out.grid = wanted;
  out.score = how.score;
  out.coarse = how.coarse;
  out.one_se = how.one_se;
  out.judged_by = judged_by(how);
  SelectSettings full = how;
  full.settings.method = wanted.method;
  full.settings = in_full(full.settings);
  const Settings& settings = full.settings;
  limit_clusters(out.grid, std::ssize(data.tasks));
  Run quiet = run;
  quiet.note = {};
  check_search(data, out.grid, full, quiet, extras);
  const SearchedRows rows = searched_rows(data, how);
  const SearchData search =
      search_data(rows.in(data), settings, extras, out.grid, std::ssize(rows.splits), quiet);

  if (run.phase) run.phase(Work::searching);
  SearchHooks own = hooks;
  if (!own.progress) own.progress = run.share;
  out.scores = (how.coarse ? score_coarse_to_fine : score_grid)(search, rows.splits, out.grid,
                                                                how.score, own);
  if (out.scores.stopped) return out;

  out.ranked = rank_points(out.scores);
  if (std::isnan(out.ranked.front().score))
    throw InputError(
        fmt::format("`score` {} is not defined on any held-out part: no task has both classes "
                    "there. Use fewer `folds`, or `score` accuracy.",
                    to_string(how.score)));
  out.chosen = how.one_se ? one_standard_error(out.ranked, how.score) : out.ranked.front().point;
  out.confidence = judge_choice(out.scores, out.ranked, out.chosen, kResamples, how.seed);
  out.saved = std::ssize(all_points(out.grid)) - std::ssize(out.ranked);
  note_unjudged(out.scores, run);

  out.settings = settings_at(settings, out.grid, out.chosen);
  return out;
}

Selection select(const Dataset& data, const Grid& grid, const SelectSettings& settings,
                 const Run& run, const Extras& extras, const SearchHooks& hooks) {
  Selection out = choose(data, grid, settings, run, extras, hooks);
  if (out.scores.stopped) return out;
  if (settings.alternatives && grid.method->is_main()) {
    SelectSettings full = settings;
    full.settings = in_full(full.settings);
    out.alternatives = cheap_alternatives(data, out, full, run, extras);
  }
  out.trained = train_in_detail(data, out.settings, run, extras);
  return out;
}

}  // namespace coterie
