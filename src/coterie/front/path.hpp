// The front door: trace_path. The optimum along lambda: which tasks join, and when.
#pragma once

#include <optional>

#include "coterie/front/train.hpp"
#include "coterie/search/stability.hpp"

namespace coterie {

// The path of all rows, or of those that `hold_out`, a share, leaves: every point is then judged on the others.
struct TraceSettings {
  PathSettings path = {};
  std::optional<double> hold_out = {};
  std::uint64_t seed = 1;
};

void check_trace(const Settings& settings, const TraceSettings& trace);  // throws InputError

LambdaPath trace_path(const Dataset& data, const Settings& settings,
                      const TraceSettings& trace = {}, const Run& run = {},
                      const Extras& extras = {}, const PathHooks& hooks = {});

// The same in steps, for who wants more of it than the path. What it walks on: everything, or the rows that are not held out.
Fold path_fold(const Dataset& data, const Settings& settings, const TraceSettings& trace = {},
               const Run& run = {}, const Extras& extras = {});
// Throws InputError when memory has no room for it. Notes when memory is short.
void check_path_memory(const Dataset& data, const Settings& settings, const TraceSettings& trace,
                       const Run& run = {}, const Extras& extras = {});
// `hooks` keep points and give back those of an earlier run (front/journals.hpp).
LambdaPath trace_path(const Fold& fold, const Dataset& data, const Settings& settings,
                      const TraceSettings& trace, const Run& run = {}, const Extras& extras = {},
                      const PathHooks& hooks = {});

// The model at a point of the path, which has been solved already.
Model model_at(const PathPoint& point, const Dataset& data, const Settings& settings,
               const TraceSettings& trace = {}, const Run& run = {}, const Extras& extras = {});
// The same where the fold that was walked is at hand, whose kernels are prepared.
Model model_at(const PathPoint& point, const Fold& fold, const Dataset& data,
               const Settings& settings, const TraceSettings& trace = {}, const Run& run = {},
               const Extras& extras = {});

// Paths of resamples of the fold's training side, each down to where `path` ends, at so many points: how stable its groups are.
inline constexpr Index kPointsOfResample = 40;
Stability resample_path(const Fold& fold, const LambdaPath& path, const Dataset& data,
                        const Settings& settings, const TraceSettings& trace, Index resamples,
                        const Run& run = {}, const Extras& extras = {},
                        const StabilityHooks& hooks = {});

}  // namespace coterie
