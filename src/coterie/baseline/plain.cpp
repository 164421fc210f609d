#include "coterie/baseline/plain.hpp"

#include <numeric>
#include <utility>

#include "coterie/baseline/shared_weights.hpp"
#include "coterie/kernel/single_threaded_blas.hpp"

namespace coterie {

Fit fit_uniform(const MtmklProblem& problem, const FitSettings& settings,
                const ProgressCallback& progress, const WarmStart& start, Workspace* workspace) {
  const SingleThreadedBlas guard;
  const Index T = problem.T();
  const Index M = problem.M();
  Workspace own;
  Workspace& room = workspace ? *workspace : own;
  room.make_room(T);
  Tied fixed{{}, T, {}, {}, {}, problem.weights, true};
  fixed.unit.resize(static_cast<std::size_t>(T));
  std::iota(fixed.unit.begin(), fixed.unit.end(), Index{0});
  TiedWeights coupling(std::move(fixed));
  WarmStart from;
  from.theta = Matrix::Constant(T, M, 1 / static_cast<double>(M));
  if (std::ssize(start.alpha) == T) from.alpha = start.alpha;
  return as_fit(minimise(problem, coupling.unit(), coupling, settings, from, room, progress));
}

Dataset pool_tasks(const Dataset& data) {
  Task all{{"all", "-1", "1", ""}, {}, {}};
  std::vector<double> y;
  for (const Task& task : data.tasks) {
    all.rows.insert(all.rows.end(), task.rows.begin(), task.rows.end());
    y.insert(y.end(), task.y.begin(), task.y.end());
  }
  all.y = Eigen::Map<const Vector>(y.data(), std::ssize(y));
  Dataset pooled;
  pooled.X = data.X;
  pooled.weight = data.weight;
  pooled.features = data.features;
  pooled.tasks = {std::move(all)};
  return pooled;
}

std::vector<std::vector<Index>> pooled_samples(const Groups& groups,
                                               const std::vector<Index>& sizes) {
  std::vector<Index> first(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), first.begin() + 1);
  std::vector<std::vector<Index>> out;
  for (const std::vector<Index>& group : groups) {
    std::vector<Index>& samples = out.emplace_back();
    for (const Index t : group)
      for (Index i = first[static_cast<std::size_t>(t)]; i < first[static_cast<std::size_t>(t) + 1];
           ++i)
        samples.push_back(i);
  }
  return out;
}

std::vector<Index> tasks_of_samples(const std::vector<Index>& sizes) {
  std::vector<Index> out;
  for (std::size_t t = 0; t < sizes.size(); ++t)
    out.insert(out.end(), static_cast<std::size_t>(sizes[t]), static_cast<Index>(t));
  return out;
}

}  // namespace coterie
