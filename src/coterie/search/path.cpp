#include "coterie/search/path.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "coterie/math/parallel.hpp"
#include "coterie/stats/scores.hpp"

namespace coterie {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

class Walker {
 public:
  Walker(const Fold& fold, const Dataset& data, const Settings& settings, double memory,
         const PathHooks& hooks)
      : fold_(fold), data_(data), settings_(settings), memory_(memory), hooks_(hooks) {}

  MtmklProblem problem(double lambda) const {
    const Prepared& train = kernels_of(fold_);
    return joint_problem(train, train.set.C, lambda, settings_.norm);
  }

  // The point at lambda, started from the one above it. Nothing when it was stopped.
  std::optional<PathPoint> take(double lambda, const PathPoint* above, int threads) {
    if (hooks_.known)
      if (std::optional<PathPoint> found = hooks_.known(lambda)) return found;
    WarmStart start;
    if (above) start = {above->fit.theta, above->fit.alpha, above->fit.nu};
    PathPoint point;
    point.lambda = lambda;
    point.fit = fit(
        problem(lambda), fit_settings_of(settings_, threads, memory_),
        [&](const Progress&) { return !stop_.load() && report(); }, start);
    if (stop_) return {};
    judge(point);
    if (!keeps_pair_duals(point.fit.nu.rows(), point.fit.nu.cols()))
      point.fit.nu = Matrix(0, point.fit.nu.cols());
    const std::lock_guard lock(mutex_);
    ++points_;
    if (hooks_.keep) hooks_.keep(point);
    return point;
  }

  bool report() {
    const std::lock_guard lock(mutex_);
    if (hooks_.progress && !hooks_.progress(points_, share_, left_)) stop_ = true;
    return !stop_;
  }
  void reached(double share) { share_ = share; }
  void expect(double points) {
    left_ = points;
    share_ = 0;
  }
  bool stopped() const { return stop_; }

 private:
  // Means over tasks.
  void judge(PathPoint& point) const {
    const std::vector<Vector>& y = kernels_of(fold_).set.y;
    double training = 0, held_out = 0;
    Index judged = 0;
    for (std::size_t t = 0; t < y.size(); ++t) {
      const auto task = static_cast<Index>(t);
      training += accuracy(training_decisions(fold_, point.fit, task), y[t]);
      if (!fold_.held_out || fold_.held_out->split.rest[t].empty()) continue;
      held_out += accuracy(held_out_decisions(fold_, point.fit, task),
                           data_.tasks[t].y(fold_.held_out->split.rest[t]));
      ++judged;
    }
    point.train_accuracy = training / static_cast<double>(y.size());
    point.held_out_accuracy = judged == 0 ? std::numeric_limits<double>::quiet_NaN()
                                          : held_out / static_cast<double>(judged);
  }

  const Fold& fold_;
  const Dataset& data_;
  const Settings& settings_;
  double memory_;
  const PathHooks& hooks_;
  std::mutex mutex_;
  std::atomic<bool> stop_ = false;
  Index points_ = 0;
  double share_ = 1, left_ = 0;
};

// Down from lambda_max until nobody shares any more, then some way on, and last the tasks by themselves.
void climb_down(Walker& walker, const PathSettings& settings, int threads, LambdaPath& path) {
  const Index T = std::ssize(path.points.front().fit.alpha);
  double end = settings.smallest;
  for (double share = 1; share > 0;) {
    walker.reached(share);
    std::optional<PathPoint> point =
        walker.take(share * path.lambda_max, &path.points.back(), threads);
    if (!point) return;
    path.points.push_back(std::move(*point));
    const bool alone = std::ssize(path.points.back().fit.groups) == T;
    if (alone) end = std::max(end, share / settings.beyond);
    const bool last = share <= end * (1 + 1e-12);
    share = last ? 0 : std::max(end, share / settings.ratio);
    if (!alone) end = settings.smallest;  // some joined again on the way down
  }
  std::optional<PathPoint> separate = walker.take(0, &path.points.back(), threads);
  if (separate) path.points.push_back(std::move(*separate));
}

bool needs_halving(const PathPoint& upper, const PathPoint& lower, const PathSettings& settings) {
  if (std::isinf(upper.lambda) || lower.lambda == 0) return false;
  const Changes changes =
      changes_between(std::ssize(lower.fit.alpha), lower.fit.groups, upper.fit.groups);
  const Index events = changes.merges + changes.splits;
  const double width = upper.lambda / lower.lambda - 1;
  return events > 1 ? width > settings.finest : events == 1 && width > settings.resolution;
}

void refine_intervals(Walker& walker, const PathSettings& settings, int threads, LambdaPath& path) {
  for (;;) {
    std::vector<std::size_t> wide;  // the upper ends of intervals
    for (std::size_t k = 0; k + 1 < path.points.size(); ++k)
      if (needs_halving(path.points[k], path.points[k + 1], settings)) wide.push_back(k);
    if (wide.empty()) return;
    double halvings = 0;
    for (const std::size_t k : wide)
      halvings +=
          std::max(1.0, std::log2(std::log(path.points[k].lambda / path.points[k + 1].lambda) /
                                  std::log1p(settings.resolution)));
    walker.expect(std::ceil(halvings));
    if (std::ssize(path.points) + std::ssize(wide) > settings.most_points) {
      path.resolved = false;
      return;
    }
    std::vector<std::optional<PathPoint>> found(wide.size());
    const bool many = std::ssize(wide) >= thread_count(threads);
    parallel_for(std::ssize(wide), many ? threads : 1, [&](Index i) {
      const PathPoint& upper = path.points[wide[static_cast<std::size_t>(i)]];
      const PathPoint& lower = path.points[wide[static_cast<std::size_t>(i)] + 1];
      found[static_cast<std::size_t>(i)] =
          walker.take(std::sqrt(upper.lambda * lower.lambda), &upper, many ? 1 : threads);
    });
    if (walker.stopped()) return;
    for (std::size_t i = wide.size(); i-- > 0;)
      path.points.insert(path.points.begin() + static_cast<std::ptrdiff_t>(wide[i]) + 1,
                         std::move(*found[i]));
  }
}

}  // namespace

bool keeps_pair_duals(Index pairs, Index kernels) { return pairs * kernels <= kMostPairDuals; }

double expected_points(const PathSettings& settings, Index tasks) {
  const double ladder = std::log(1 / settings.smallest) / std::log(settings.ratio) + 3;
  const double halvings = std::ceil(
      std::max(0.0, std::log2(std::log(settings.ratio) / std::log1p(settings.resolution))));
  return std::min(static_cast<double>(settings.most_points),
                  ladder + halvings * static_cast<double>(tasks - 1));
}

Changes changes_between(Index tasks, const Groups& lower, const Groups& upper) {
  const Index common = std::ssize(common_refinement(tasks, lower, upper));
  return {common - std::ssize(upper), common - std::ssize(lower)};
}

LambdaPath walk_path(const Fold& fold, const Dataset& data, const Settings& settings,
                     const PathSettings& path_settings, int threads, const PathHooks& hooks) {
  LambdaPath path;
  Walker walker(fold, data, settings, path_settings.memory / thread_count(threads), hooks);
  std::optional<PathPoint> common = walker.take(infinite, nullptr, threads);
  if (common) {
    path.points.push_back(std::move(*common));
    path.lambda_max = lambda_max(walker.problem(infinite), path.points.front().fit);
    if (path.lambda_max > 0) climb_down(walker, path_settings, threads, path);
  }
  if (!walker.stopped()) refine_intervals(walker, path_settings, threads, path);
  path.stopped = walker.stopped();
  return path;
}

}  // namespace coterie
