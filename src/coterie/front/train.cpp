#include "coterie/front/train.hpp"

#include <fmt/format.h>

#include <chrono>

#include "coterie/baseline/plain.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/data/names.hpp"
#include "coterie/io/machine.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/model/calibrate.hpp"
#include "coterie/search/cross_validation.hpp"

namespace coterie {

namespace {

void enter(const Run& run, Work work) {
  if (run.phase) run.phase(work);
}

}  // namespace

double memory_budget(const Run& run) {
  return run.memory_bytes > 0 ? run.memory_bytes : 0.9 * memory_of_machine();
}

ProgressCallback watched(const Run& run) {
  if (!(run.time_limit_seconds < std::numeric_limits<double>::infinity())) return run.progress;
  using Clock = std::chrono::steady_clock;
  return [own = run.progress, start = Clock::now(),
          limit = run.time_limit_seconds](const Progress& now) {
    const bool go_on = !own || own(now);
    return go_on && std::chrono::duration<double>(Clock::now() - start).count() < limit;
  };
}

void note_bounded(const Grams& grams, const Settings& settings, const Run& run) {
  std::vector<std::string> bounded;
  for (const Index m : grams.bounded)
    bounded.push_back(to_string(grams.kernels[static_cast<std::size_t>(m)]));
  if (bounded.empty() || !run.note) return;
  run.note(fmt::format(
      "{} {} no tail beyond the main directions of `normalise` {}; the divisor is "
      "1/1000 of the variance.",
      list_names(bounded), bounded.size() == 1 ? "has" : "have", to_string(settings.normalise)));
}

void note_constant(const Dataset& data, const Settings& settings, const Run& run) {
  const std::vector<std::string> unused = unused_fields(settings);
  if (!run.note || std::ranges::find(unused, "kernels") != unused.end()) return;
  if (std::ranges::none_of(settings.kernels.list(), &Kernel::is_for_each_column)) return;
  const std::vector<bool> constant =
      settings.method->pools ? constant_columns(pool_tasks(data)) : constant_columns(data);
  std::vector<std::string> names;
  for (std::size_t j = 0; j < constant.size(); ++j)
    if (constant[j]) names.push_back(data.features[j]);
  if (names.empty()) return;
  run.note(fmt::format("@each in `kernels` leaves out {} {}, constant in every task.",
                       names.size() == 1 ? "the column" : "the columns", list_names(names)));
}

MemoryPlan plan_fit(const Dataset& data, const Settings& settings, const Run& run,
                    const Extras& extras) {
  const double budget = memory_budget(run);
  const Method& method = *settings.method;
  if (method.is_linear()) {
    const double bytes = linear_bytes(data, settings);
    if (bytes > budget)
      throw InputError(fmt::format(
          "`method` {} needs about {} for the features of all tasks, more than the {} there are. "
          "Use fewer rows or features{}.",
          method.name, bytes_text(bytes), bytes_text(budget),
          settings.map.mapped ? ", or a smaller rank of `map`" : ""));
    MemoryPlan all;
    all.kernels = budget - bytes;
    return all;
  }
  const MemoryPlan plan = plan_memory(data, settings, extras, run.threads, budget);
  if (run.kept) run.kept(plan.keeps_all());
  if (!plan.keeps_all() && run.note) run.note(room_text(plan, budget));
  return plan;
}

double kernels_beside(const MemoryPlan& plan, double kept, const Run& run) {
  const double workers = thread_count(run.threads);
  const double left = plan.kernels - kept - (workers - 1) * plan.pairs;
  if (left >= 0) return left;
  throw InputError(fmt::format(
      "fits on {} threads may need {} of memory beside what one of them needs ({} for pairs of "
      "tasks, {} for what is kept), and of {} there are {} left. Raise `memory`, or use fewer "
      "threads, tasks or kernels.",
      workers, bytes_text(plan.kernels - left), bytes_text((workers - 1) * plan.pairs),
      bytes_text(kept), bytes_text(memory_budget(run)), bytes_text(plan.kernels)));
}

namespace {

// What the search for groups says of them: nothing else of it is in the model.
void note_groups(const MethodFit& fit, const Run& run) {
  if (!run.note || !fit.kernel() || !fit.kernel()->found) return;
  const FoundGroups& found = *fit.kernel()->found;
  run.note(fmt::format(
      "groups of tasks: mean hinge loss {:.4f} of tasks under the model of their group without "
      "them (no model: 1), found from {} of {} starts.",
      found.loss, found.agreeing, found.starts));
}

}  // namespace

std::optional<std::string> why_not(const Method& method, const Dataset& data) {
  if (!method.pools || data.casting == Casting::binary) return {};
  return fmt::format(
      "one model for all tasks asks that a positive label means the same in each, which {} do not "
      "grant",
      data.casting == Casting::one_vs_one ? "pairs of classes" : "classes against the rest");
}

Trained train_in_detail(Dataset data, const Settings& given, const Run& run, const Extras& extras) {
  const Settings settings = in_full(given);
  validate(settings);
  const ProgressCallback progress = watched(run);
  const MemoryPlan plan = plan_fit(data, settings, run, extras);
  note_constant(data, settings, run);
  if (const auto reason = why_not(*settings.method, data); reason && run.note)
    run.note(fmt::format("{} suits this data badly: {}.", settings.method->name, *reason));
  std::string mark = fingerprint(data);
  enter(run, Work::preparing);
  const MethodProblem problem =
      prepare_method(std::move(data), settings, extras, run.threads, plan.first_stage);
  note_bounded(grams_of(problem), settings, run);
  enter(run, Work::fitting);
  Trained out;
  out.fit = fit_method(problem, settings, run.threads, progress, nullptr, plan.kernels);
  note_groups(out.fit, run);
  out.model = make_model(problem, settings, out.fit, std::move(mark));
  return out;
}

Model train(Dataset data, const Settings& settings, const Run& run, const Extras& extras) {
  return train_in_detail(std::move(data), settings, run, extras).model;
}

void check_groups_are_searched(const Settings& settings) {
  if (!settings.method->search_groups)
    throw InputError(
        fmt::format("`bootstrap` shows how stable the groups are that a method "
                    "searches for, and `method` {} searches for none.",
                    settings.method->name));
}

Stability resample_groups(Dataset data, const Settings& given, Index resamples, std::uint64_t seed,
                          const Run& run, const Extras& extras) {
  const Settings settings = in_full(given);
  validate(settings);
  check_groups_are_searched(settings);
  Run quiet = run;  // the fit has told it
  quiet.note = {};
  quiet.kept = {};
  const MemoryPlan plan = plan_fit(data, settings, quiet, extras);
  const MethodProblem problem = prepare_method(std::move(data), settings, extras, run.threads);
  StabilityHooks hooks;
  hooks.progress = run.share;
  return resample_groups(std::get<Pool>(problem), settings, resamples, seed, run.threads, hooks,
                         plan.kernels);
}

std::optional<Model> calibrate(Model model, const Dataset& data,
                               const CalibrationSettings& settings, const Run& run,
                               const Extras& extras) {
  Run quiet = run;  // the fit has told it
  quiet.note = {};
  SearchData search{data,       model.settings, extras, model.settings.C, Storage::on_demand,
                    run.threads};
  search.storage = storage_within(search, settings.folds, 0.5 * memory_budget(run));
  const MemoryPlan plan = plan_fit(data, model.settings, quiet, extras);
  search.memory = 0.5 * plan.kernels;
  search.first_stage_memory = 0.5 * plan.first_stage;
  enter(run, Work::calibrating);
  const std::vector<Vector> scores = cross_validated_scores(
      search, fold_tasks(data, settings.folds, settings.seed),
      [&](Index done, Index folds) { return !run.share || run.share(done, folds); });
  if (scores.empty()) return {};
  std::vector<Vector> y;
  for (const Task& task : data.tasks) y.push_back(task.y);
  calibrate(model, scores, y, settings.kind);
  return model;
}

}  // namespace coterie
