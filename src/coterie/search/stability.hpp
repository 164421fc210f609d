// How stable groups are: the path, or the groups that are searched for, of many bootstrap resamples, each drawn with replacement within the
// classes of the tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "coterie/search/merge_tree.hpp"

namespace coterie {

// The groups of one resample at shares of its own lambda_max, falling; or those that were found, alone.
using ResampledPath = std::vector<Groups>;

struct Stability {
  std::vector<double> shares;  // of lambda_max
  std::vector<ResampledPath> resamples;
  bool stopped = false;
};

struct StabilityHooks {
  std::function<bool(Index done, Index resamples)> progress;  // false: stop
  std::function<const ResampledPath*(Index resample)> known;  // from an earlier run
  std::function<void(Index resample, const ResampledPath&)> keep;
};

// Resamples are those of the training side of the fold. `memory` bounds the bytes of kernel values, which changes no bit.
Stability resample_paths(const Fold& fold, const Settings& settings, double smallest_share,
                         Index points, Index resamples, std::uint64_t seed, int threads,
                         const StabilityHooks& hooks = {},
                         double memory = std::numeric_limits<double>::infinity());

// The groups that a search for them finds in resamples of a pool. The settings' method is one that searches.
Stability resample_groups(const Pool& pool, const Settings& settings, Index resamples,
                          std::uint64_t seed, int threads, const StabilityHooks& hooks = {},
                          double memory = std::numeric_limits<double>::infinity());

// How well these tasks are found as a group again: mean over resamples of the largest Jaccard similarity |A n B| / |A u B| with a group B at
// some lambda (Hennig, 2007). 1: always exactly these; above 0.75 is commonly called stable.
double support(const Stability& stability, const std::vector<Index>& members);

// Mean over resamples of time_together.
Matrix time_together(const Stability& stability, Index tasks);

// Of resamples whose groups were searched for: the share of them that has two tasks in one group.
Matrix share_together(const Stability& stability, Index tasks);

}  // namespace coterie
