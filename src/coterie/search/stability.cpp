#include "coterie/search/stability.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <mutex>

#include "coterie/math/parallel.hpp"

namespace coterie {

namespace {

ResampledPath resample_path(const Fold& fold, const Settings& settings,
                            const std::vector<double>& shares, std::uint64_t seed, int threads,
                            double memory, const std::atomic<bool>& stop) {
  const Prepared& whole = kernels_of(fold);
  Dataset rows;  // strata need only the rows of tasks
  rows.tasks = whole.set.data.tasks;
  rows.classes = whole.set.data.classes;
  rows.casting = whole.set.data.casting;
  Index last = 0;
  for (const Task& task : rows.tasks)
    for (const Index row : task.rows) last = std::max(last, row);
  rows.X.resize(last + 1, 0);
  const std::vector<std::vector<Index>> drawn = resample_tasks(rows, seed);
  Prepared sample;
  sample.set.data = subset(rows, drawn);
  sample.set.graph = whole.set.graph;
  sample.grams.kernels = whole.grams.kernels;
  for (std::size_t t = 0; t < drawn.size(); ++t) {
    sample.grams.tasks.push_back(slice(whole.grams.tasks[t], drawn[t]));
    sample.set.y.emplace_back(whole.set.y[t](drawn[t]));
    sample.set.C.emplace_back(whole.set.C[t](drawn[t]));
  }
  const FitSettings how = fit_settings_of(settings, threads, memory);
  const auto go_on = [&](const Progress&) { return !stop.load(); };
  MtmklProblem problem =
      joint_problem(sample, sample.set.C, std::numeric_limits<double>::infinity(), settings.norm);
  Workspace workspace;
  Fit found = fit(problem, how, go_on, {}, &workspace);
  const double largest = lambda_max(problem, found);
  WarmStart start{found.theta, found.alpha, {}};
  ResampledPath path;
  for (const double share : shares) {
    if (stop) return {};
    problem.lambda = share * largest;
    if (largest > 0) {
      found = fit(problem, how, go_on, start, &workspace);
      start = {found.theta, found.alpha, found.nu};
    }
    path.push_back(found.groups);
  }
  return path;
}

}  // namespace

Stability resample_paths(const Fold& fold, const Settings& settings, double smallest_share,
                         Index points, Index resamples, std::uint64_t seed, int threads,
                         const StabilityHooks& hooks, double memory) {
  Stability out;
  for (Index k = 0; k < points; ++k)
    out.shares.push_back(
        std::pow(smallest_share,
                 static_cast<double>(k) / static_cast<double>(std::max<Index>(1, points - 1))));
  out.resamples.resize(static_cast<std::size_t>(resamples));
  std::atomic<bool> stop = false;
  std::mutex one_at_a_time;
  Index done = 0;
  if (hooks.progress && !hooks.progress(0, resamples)) stop = true;
  const bool many = resamples >= thread_count(threads);
  parallel_for(resamples, many ? threads : 1, [&](Index b) {
    if (stop) return;
    ResampledPath& path = out.resamples[static_cast<std::size_t>(b)];
    const ResampledPath* known = hooks.known ? hooks.known(b) : nullptr;
    if (known)
      path = *known;
    else
      path =
          resample_path(fold, settings, out.shares, seed + static_cast<std::uint64_t>(b),
                        many ? 1 : threads, many ? memory / thread_count(threads) : memory, stop);
    const std::lock_guard lock(one_at_a_time);
    if (stop) return;
    if (!known && hooks.keep) hooks.keep(b, path);
    ++done;
    if (hooks.progress && !hooks.progress(done, resamples)) stop = true;
  });
  out.stopped = stop && done < resamples;
  return out;
}

double support(const Stability& stability, const std::vector<Index>& members) {
  double sum = 0;
  for (const ResampledPath& path : stability.resamples) {
    double best = 0;
    for (const Groups& groups : path)
      for (const std::vector<Index>& group : groups) {
        // All tasks together are a group of every path, and tell nothing about a smaller one.
        if (groups.size() == 1 && members.size() < group.size()) continue;
        std::vector<Index> common;
        std::ranges::set_intersection(members, group, std::back_inserter(common));
        const double both = static_cast<double>(common.size());
        best = std::max(best, both / (static_cast<double>(members.size() + group.size()) - both));
      }
    sum += best;
  }
  return sum / static_cast<double>(std::max<std::size_t>(1, stability.resamples.size()));
}

Matrix time_together(const Stability& stability, Index tasks) {
  Matrix sum = Matrix::Zero(tasks, tasks);
  for (const ResampledPath& path : stability.resamples)
    sum += time_together(tasks, stability.shares, path);
  return sum / static_cast<double>(std::max<std::size_t>(1, stability.resamples.size()));
}

}  // namespace coterie
