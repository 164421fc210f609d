#include "coterie/search/stability.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <mutex>

#include "coterie/baseline/group_search.hpp"
#include "coterie/math/parallel.hpp"

namespace coterie {

namespace {

// Calls one(resample, threads) for each that is not known, some at a time.
template <typename One>
void for_resamples(Stability& out, Index resamples, int threads, const StabilityHooks& hooks,
                   std::atomic<bool>& stop, const One& one) {
  out.resamples.resize(static_cast<std::size_t>(resamples));
  std::mutex one_at_a_time;
  Index done = 0;
  if (hooks.progress && !hooks.progress(0, resamples)) stop = true;
  const bool many = resamples >= thread_count(threads);
  parallel_for(resamples, many ? threads : 1, [&](Index b) {
    if (stop) return;
    ResampledPath& path = out.resamples[static_cast<std::size_t>(b)];
    const ResampledPath* known = hooks.known ? hooks.known(b) : nullptr;
    path = known ? *known : one(b, many ? 1 : threads);
    const std::lock_guard lock(one_at_a_time);
    if (stop) return;
    if (!known && hooks.keep) hooks.keep(b, path);
    ++done;
    if (hooks.progress && !hooks.progress(done, resamples)) stop = true;
  });
  out.stopped = stop && done < resamples;
}

// Of one of the fits that run side by side on all threads, or alone.
double memory_on(int threads, double memory, int all) {
  return threads == 1 ? memory / thread_count(all) : memory;
}

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
  std::atomic<bool> stop = false;
  for_resamples(out, resamples, threads, hooks, stop, [&](Index b, int own_threads) {
    return resample_path(fold, settings, out.shares, seed + static_cast<std::uint64_t>(b),
                         own_threads, memory_on(own_threads, memory, threads), stop);
  });
  return out;
}

Stability resample_groups(const Pool& pool, const Settings& settings, Index resamples,
                          std::uint64_t seed, int threads, const StabilityHooks& hooks,
                          double memory) {
  const auto& [set, grams] = pool.prepared;
  Dataset rows = pool.tasks;  // strata need only the rows of tasks
  rows.X.resize(set.data.X.rows(), 0);
  const Vector theta = WeightSet(settings.norm).uniform(grams.tasks.front().M());
  const GroupSearch how = settings.method->search_groups(parameters_of(settings));
  Stability out;
  std::atomic<bool> stop = false;
  for_resamples(out, resamples, threads, hooks, stop, [&](Index b, int own_threads) {
    std::vector<Index> drawn, sizes;
    Index first = 0;
    for (const std::vector<Index>& own :
         resample_tasks(rows, seed + static_cast<std::uint64_t>(b))) {
      for (const Index i : own) drawn.push_back(first + i);
      first += set.pooled[sizes.size()];
      sizes.push_back(std::ssize(own));
    }
    const TaskGrams some = slice(grams.tasks.front(), drawn);
    const Vector y = set.y.front()(drawn);
    return ResampledPath{find_groups(
                             {some, y, sizes}, theta, settings.C, how, own_threads,
                             [&] { return !stop.load(); }, memory_on(own_threads, memory, threads))
                             .groups};
  });
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

Matrix share_together(const Stability& stability, Index tasks) {
  Matrix count = Matrix::Zero(tasks, tasks);
  for (const ResampledPath& path : stability.resamples)
    for (const Groups& groups : path)
      for (const std::vector<Index>& group : groups)
        for (const Index t : group)
          for (const Index s : group) count(t, s) += 1;
  return count / static_cast<double>(std::max<std::size_t>(1, stability.resamples.size()));
}

}  // namespace coterie
