// The front door: trace_path. The optimum along lambda: which tasks join, and when.
#pragma once

#include <optional>

#include "coterie/front/train.hpp"
#include "coterie/search/merge_tree.hpp"

namespace coterie {

// The path of all rows, or of those that `hold_out`, a share, leaves: every point is then judged on the others.
struct TraceSettings {
  PathSettings path = {};
  std::optional<double> hold_out = {};
  std::uint64_t seed = 1;
};

// Who is trained on and who is held out: nobody, unless a share is asked for.
Split path_split(const Dataset& data, const TraceSettings& trace);

// What a path walks on: a training side with its kernels, and the samples that are held out.
Fold path_fold(const Dataset& data, const Settings& settings, const TraceSettings& trace,
               const Run& run = {}, const Extras& extras = {});

LambdaPath trace_path(const Dataset& data, const Settings& settings,
                      const TraceSettings& trace = {}, const Run& run = {},
                      const Extras& extras = {});
// The same on a fold that is at hand; `hooks` keep points and give back those of an earlier run.
LambdaPath trace_path(const Fold& fold, const Dataset& data, const Settings& settings,
                      const TraceSettings& trace, const Run& run, const Extras& extras,
                      const PathHooks& hooks);

// Bytes that kernel values of the fits of a path may take.
double path_memory(const Dataset& data, const Settings& settings, const Run& run,
                   const Extras& extras);

void check_trace(const Settings& settings, const TraceSettings& trace);  // throws InputError

// The model at a point of the path, which has been solved already.
Model model_at(const PathPoint& point, const Dataset& data, const Settings& settings,
               const TraceSettings& trace = {}, const Run& run = {}, const Extras& extras = {});

}  // namespace coterie
