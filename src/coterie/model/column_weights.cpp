#include "coterie/model/column_weights.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "coterie/baseline/coclus.hpp"
#include "coterie/model/method.hpp"
#include "coterie/mtmkl/group_list.hpp"

namespace coterie {

namespace {

// The one column that a kernel looks at; -1: it looks at several, or at a matrix.
Index own_column(const Kernel& kernel, Index features) {
  if (kernel.is_precomputed()) return -1;
  if (kernel.columns.empty()) return features == 1 ? 0 : -1;
  return kernel.columns.size() == 1 ? kernel.columns.front() : -1;
}

}  // namespace

ColumnWeights column_weights(const Model& model) {
  const Index d = std::ssize(model.features);
  const Groups groups = listed(model.groups());
  std::vector<Index> column;  // [kernel]
  std::vector<bool> has_kernel(model.features.size(), false);
  for (const Kernel& kernel : model.kernels) {
    column.push_back(own_column(kernel, d));
    if (column.back() >= 0) has_kernel[static_cast<std::size_t>(column.back())] = true;
  }
  Matrix share = Matrix::Zero(std::ssize(groups), d);
  ColumnWeights out;
  out.together = Vector::Zero(std::ssize(groups));
  Vector mean = Vector::Zero(d);
  for (Index g = 0; g < std::ssize(groups); ++g) {
    const std::vector<Index>& group = groups[static_cast<std::size_t>(g)];
    const Vector& theta = model.tasks[static_cast<std::size_t>(group.front())].theta();
    const double all = theta.sum() > 0 ? theta.sum() : 1;
    for (Index m = 0; m < theta.size(); ++m) {
      const Index j = column[static_cast<std::size_t>(m)];
      (j >= 0 ? share(g, j) : out.together[g]) += theta[m] / all;
    }
    mean += share.row(g).transpose() *
            (static_cast<double>(group.size()) / static_cast<double>(model.tasks.size()));
  }
  for (Index j = 0; j < d; ++j)
    if (has_kernel[static_cast<std::size_t>(j)]) out.columns.push_back(j);
  std::ranges::stable_sort(out.columns, std::greater(), [&](Index j) { return mean[j]; });
  out.mean = mean(out.columns);
  out.share = share(Eigen::all, out.columns);
  return out;
}

std::vector<Index> feature_clusters(const Model& model) {
  if (!model.settings.method->clusters_features || !model.kernels.empty()) return {};
  Matrix Q(std::ssize(model.tasks), std::ssize(model.features));
  for (std::size_t t = 0; t < model.tasks.size(); ++t)
    Q.row(static_cast<Index>(t)) = model.tasks[t].w() - model.tasks[t].shared;
  const Parameters parameters = parameters_of(model.settings);
  const CoClusters found = co_clusters(Q, static_cast<Index>(parameters.at("clusters")),
                                       static_cast<Index>(parameters.at("seed")));
  std::vector<Index> numbers;  // of the group with the same label; 0: no task has it
  const std::vector<Index> group = group_numbers(std::ssize(model.tasks), model.groups());
  for (const Index label : found.feature) {
    const auto task = std::ranges::find(found.task, label);
    numbers.push_back(
        task == found.task.end() ? 0 : group[static_cast<std::size_t>(task - found.task.begin())]);
  }
  return numbers;
}

}  // namespace coterie
