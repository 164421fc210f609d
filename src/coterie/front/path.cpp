#include "coterie/front/path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "coterie/data/fingerprint.hpp"

namespace coterie {

void check_trace(const Settings& settings, const TraceSettings& trace) {
  validate(settings);
  if (!settings.method->is_main())
    throw InputError(
        fmt::format("`method` is {}; only coterie has a path.", settings.method->name));
  if (settings.solver != Solver::newton)
    throw InputError(
        "`solver`: the path needs optima, which 'published' does not reach; it needs 'newton'.");
  if (std::isinf(settings.norm))
    throw InputError("`norm` is inf: with equal weights there is nothing to share, and no path.");
  const auto inside = [](double value, const char* name) {
    if (!(value > 0 && value < 1))
      throw InputError(fmt::format("`{}` is {}; it must be above 0 and below 1.", name, value));
  };
  inside(trace.path.smallest, "smallest");
  inside(trace.path.resolution, "resolution");
  if (trace.hold_out) inside(*trace.hold_out, "hold_out");
}

namespace {

// Bytes that kernel values of the fits may take: half of what is left beside the points that are kept, with their pair duals where those are
// small, and beside the pair duals of fits that run side by side.
double kernel_memory(const Dataset& data, const Settings& settings, const TraceSettings& trace,
                     const Run& run, const Extras& extras) {
  const MemoryPlan plan = plan_fit(data, settings, run, extras);
  const Index tasks = std::ssize(data.tasks);
  const Index kernels = std::ssize(kernels_for(settings, data));
  const Index pairs =
      extras.complete ? tasks * (tasks - 1) / 2 : static_cast<Index>(extras.graph.size());
  Index numbers = tasks * (kernels + 3) + (keeps_pair_duals(pairs, kernels) ? pairs * kernels : 0);
  for (const Task& task : data.tasks) numbers += task.size();
  const double points = 8 * expected_points(trace.path, tasks) * static_cast<double>(numbers);
  return 0.5 * kernels_beside(plan, points, run);
}

Run without_notes(Run run) {  // who walked the path has been told
  run.note = {};
  return run;
}

Settings at_point(const Settings& given, const PathPoint& point) {
  Settings settings = in_full(given);
  settings.lambda = point.lambda;
  return settings;
}

// A point of rows that were not held out is of rows that nobody has as a file: the model is of all rows, at the same lambda.
Model model_of_all(const PathPoint& point, const Dataset& data, const Settings& settings,
                   const Run& run, const Extras& extras) {
  return train(data, at_point(settings, point), run, extras);
}

}  // namespace

Fold path_fold(const Dataset& data, const Settings& given, const TraceSettings& trace,
               const Run& run, const Extras& extras) {
  const Settings settings = in_full(given);
  check_trace(settings, trace);
  check_dataset(data);
  SearchData search{data, settings, extras, settings.C, Storage::on_demand, run.threads};
  search.storage = storage_within(search, 1, 0.5 * memory_budget(run));
  Run quiet = without_notes(run);
  quiet.kept = {};
  search.first_stage_memory = 0.5 * plan_fit(data, settings, quiet, extras).first_stage;
  if (!trace.hold_out)
    return {
        prepare(data, settings, extras, run.threads, search.storage, search.first_stage_memory)};
  GramCache cache;
  const Split split = hold_out_tasks(data, *trace.hold_out, trace.seed);
  return std::move(make_folds(search, {split}, settings.normalise, cache).front());
}

LambdaPath trace_path(const Dataset& data, const Settings& given, const TraceSettings& trace,
                      const Run& run, const Extras& extras, const PathHooks& hooks) {
  const Settings settings = in_full(given);
  return trace_path(path_fold(data, settings, trace, run, extras), data, settings, trace, run,
                    extras, hooks);
}

void check_path_memory(const Dataset& data, const Settings& settings, const TraceSettings& trace,
                       const Run& run, const Extras& extras) {
  kernel_memory(data, settings, trace, run, extras);
}

LambdaPath trace_path(const Fold& fold, const Dataset& data, const Settings& settings,
                      const TraceSettings& trace, const Run& run, const Extras& extras,
                      const PathHooks& hooks) {
  PathSettings how = trace.path;
  how.memory = kernel_memory(data, settings, trace, run, extras);
  PathHooks own = hooks;
  if (!own.progress && run.share)
    own.progress = [&](Index points, double, double left) {
      return run.share(points, points + static_cast<Index>(left));
    };
  return walk_path(fold, data, settings, how, run.threads, own);
}

Model model_at(const PathPoint& point, const Dataset& data, const Settings& settings,
               const TraceSettings& trace, const Run& run, const Extras& extras) {
  if (trace.hold_out) return model_of_all(point, data, settings, run, extras);
  return model_at(point, Fold{prepare(data, settings, extras, run.threads)}, data, settings, trace,
                  run, extras);
}

Model model_at(const PathPoint& point, const Fold& fold, const Dataset& data,
               const Settings& settings, const TraceSettings& trace, const Run& run,
               const Extras& extras) {
  if (fold.held_out) return model_of_all(point, data, settings, run, extras);
  const Settings full = at_point(settings, point);
  const Prepared& prepared = kernels_of(fold);
  Fitted fitted{point.fit, point.lambda, 0, 0};
  const bool paired = point.lambda > 0 && std::isfinite(point.lambda);
  if (paired && point.fit.nu.rows() < std::ssize(prepared.set.graph))  // they were not kept
    fitted.fit = fit(joint_problem(prepared, prepared.set.C, point.lambda, full.norm),
                     fit_settings_of(full, run.threads,
                                     kernel_memory(data, full, trace, without_notes(run), extras)),
                     watched(run), {point.fit.theta, point.fit.alpha, {}});
  return make_model(prepared, full, fitted, fingerprint(data));
}

Stability resample_path(const Fold& fold, const LambdaPath& path, const Dataset& data,
                        const Settings& settings, const TraceSettings& trace, Index resamples,
                        const Run& run, const Extras& extras, const StabilityHooks& hooks) {
  double smallest = trace.path.smallest;  // of the path, but for its end at 0
  for (const PathPoint& point : path.points)
    if (point.lambda > 0 && std::isfinite(point.lambda)) smallest = point.lambda / path.lambda_max;
  StabilityHooks own = hooks;
  if (!own.progress) own.progress = run.share;
  return resample_paths(fold, settings, std::min(smallest, 0.5), kPointsOfResample, resamples,
                        trace.seed, run.threads, own,
                        kernel_memory(data, settings, trace, without_notes(run), extras));
}

}  // namespace coterie
