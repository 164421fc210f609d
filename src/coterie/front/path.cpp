#include "coterie/front/path.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

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

Split path_split(const Dataset& data, const TraceSettings& trace) {
  if (trace.hold_out) return hold_out_tasks(data, *trace.hold_out, trace.seed);
  Split all;
  for (const Task& task : data.tasks) {
    all.train.emplace_back(static_cast<std::size_t>(task.size()));
    std::iota(all.train.back().begin(), all.train.back().end(), Index{0});
    all.rest.emplace_back();
  }
  return all;
}

Fold path_fold(const Dataset& data, const Settings& given, const TraceSettings& trace,
               const Run& run, const Extras& extras) {
  const Settings settings = in_full(given);
  check_trace(settings, trace);
  check_dataset(data);
  SearchData search{data, settings, extras, settings.C, Storage::on_demand, run.threads};
  search.storage = storage_within(search, 1, 0.5 * memory_budget(run));
  GramCache cache;
  return std::move(
      make_folds(search, {path_split(data, trace)}, settings.normalise, cache).front());
}

LambdaPath trace_path(const Dataset& data, const Settings& given, const TraceSettings& trace,
                      const Run& run, const Extras& extras) {
  const Settings settings = in_full(given);
  PathHooks hooks;
  if (run.share)
    hooks.progress = [&](Index points, double, double left) {
      return run.share(points, points + static_cast<Index>(left));
    };
  return trace_path(path_fold(data, settings, trace, run, extras), data, settings, trace, run,
                    extras, hooks);
}

double path_memory(const Dataset& data, const Settings& settings, const Run& run,
                   const Extras& extras) {
  return 0.5 * plan_fit(data, settings, run, extras).kernels;
}

LambdaPath trace_path(const Fold& fold, const Dataset& data, const Settings& settings,
                      const TraceSettings& trace, const Run& run, const Extras& extras,
                      const PathHooks& hooks) {
  PathSettings how = trace.path;
  how.memory = path_memory(data, settings, run, extras);
  return walk_path(fold, data, settings, how, run.threads, hooks);
}

Model model_at(const PathPoint& point, const Dataset& data, const Settings& given,
               const TraceSettings& trace, const Run& run, const Extras& extras) {
  Settings settings = in_full(given);
  settings.lambda = point.lambda;
  // The point is of the rows that were not held out, which nobody has as a file: the model is of all rows, at the same lambda.
  if (trace.hold_out) return train(data, settings, run, extras);
  const Prepared prepared = prepare(data, settings, extras, run.threads);
  return make_model(prepared, settings, Fitted{point.fit, point.lambda, 0, 0}, fingerprint(data));
}

}  // namespace coterie
