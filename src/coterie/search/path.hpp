// The lambda path: the optimum from lambda = inf, where all tasks share a kernel, down to lambda = 0, where each has its own.
//
// First a ladder of lambdas in equal ratios. Then every interval between neighbours is halved (in logarithm) until at most one group forms or
// breaks in it and its ends are close, so that no merge is jumped over and each is located; what still happens at once within the finest
// interval counts as one event. Every point starts from the one above it and carries its own proof; the intervals of a round are
// independent, so neither threads nor an interruption change a bit.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "coterie/search/fold.hpp"

namespace coterie {

struct PathSettings {
  double smallest = 1e-4;    // of lambda_max: where the path ends when tasks still share
  double beyond = 100;       // how far it goes on, as a factor, after the last group broke
  double ratio = 1.25;       // between the lambdas of the ladder
  double resolution = 0.02;  // a merge is located to this share of its lambda
  double finest = 1e-3;      // intervals with several events are halved down to this
  double memory = std::numeric_limits<double>::infinity();  // bytes for kernel values of the fits
  Index most_points = 1000;                                 // then refinement ends
};

// Points keep their pair duals, from which the next one starts in about a sixth fewer steps, where all of them are at most so many numbers:
// those of 1000 tasks and 10 kernels would take 40 MB a point.
inline constexpr Index kMostPairDuals = Index{1} << 16;
bool keeps_pair_duals(Index pairs, Index kernels);

struct PathPoint {
  double lambda = 0;                                 // infinity for the first
  Fit fit;                                           // its optimum, of the training side
  double train_accuracy = 0, held_out_accuracy = 0;  // mean over tasks; NaN without held-out rows
};

struct LambdaPath {
  double lambda_max = 0;
  std::vector<PathPoint> points;  // lambda falls, from infinity to 0
  bool resolved = true;           // else refinement ended at most_points
  bool stopped = false;           // by the hook
};

struct PathHooks {
  // Points done, how far down the ladder is, and about how many points are left after it. False: stop.
  std::function<bool(Index points, double lambda_share, double points_left)> progress;
  std::function<std::optional<PathPoint>(double lambda)> known;  // from an earlier run
  std::function<void(const PathPoint&)> keep;                    // one call at a time
};

// About how many points a path of so many tasks has: the ladder, and halvings for every merge.
double expected_points(const PathSettings& settings, Index tasks);

LambdaPath walk_path(const Fold& fold, const Dataset& data, const Settings& settings,
                     const PathSettings& path, int threads, const PathHooks& hooks = {});

// Groups that form and break when lambda rises from the lower partition's to the upper one's.
struct Changes {
  Index merges = 0, splits = 0;
};
Changes changes_between(Index tasks, const Groups& lower, const Groups& upper);

}  // namespace coterie
