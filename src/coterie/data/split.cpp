#include "coterie/data/split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

void check_share(double share) {
  if (share > 0 && share < 1) return;
  throw InputError(fmt::format("train_share is {}; it must be between 0 and 1.", share));
}

void deal_out(std::vector<Index> members, double share, Random& random, std::vector<Index>& train,
              std::vector<Index>& rest) {
  if (members.empty()) return;
  random.shuffle(members);
  const Index n = std::ssize(members);
  const Index wanted = std::lround(share * static_cast<double>(n));
  const Index count = std::clamp<Index>(wanted, 1, std::max<Index>(1, n - 1));
  train.insert(train.end(), members.begin(), members.begin() + count);
  rest.insert(rest.end(), members.begin() + count, members.end());
}

}  // namespace

Split split_tasks(const Dataset& data, double train_share, std::uint64_t seed) {
  check_share(train_share);
  Random random(seed);
  Split split;
  for (const Task& task : data.tasks) {
    std::vector<Index> train, rest;
    for (const double y : {-1.0, 1.0}) {
      std::vector<Index> members;
      for (Index i = 0; i < task.size(); ++i) {
        if (task.y[i] == y) members.push_back(i);
      }
      deal_out(std::move(members), train_share, random, train, rest);
    }
    std::ranges::sort(train);
    std::ranges::sort(rest);
    split.train.push_back(std::move(train));
    split.rest.push_back(std::move(rest));
  }
  return split;
}

RowSplit split_samples(const Samples& samples, double train_share, std::uint64_t seed) {
  check_share(train_share);
  std::map<std::pair<Index, Index>, std::vector<Index>> strata;  // rows by (task, label)
  for (Index i = 0; i < samples.X.rows(); ++i) {
    const Index task = samples.task.empty() ? 0 : samples.task[i];
    const Index label = samples.label.empty() ? 0 : samples.label[i];
    strata[{task, label}].push_back(i);
  }
  Random random(seed);
  RowSplit split;
  for (auto& [key, rows] : strata) {
    deal_out(std::move(rows), train_share, random, split.train, split.rest);
  }
  std::ranges::sort(split.train);
  std::ranges::sort(split.rest);
  return split;
}

Samples select_rows(const Samples& samples, const std::vector<Index>& rows) {
  for (const Index row : rows) {
    if (row >= 0 && row < samples.X.rows()) continue;
    throw InputError(fmt::format("row {} does not exist; there are {} rows, counted from 0.", row,
                                 samples.X.rows()));
  }
  Samples selected;
  selected.X = samples.X(rows, Eigen::all);
  selected.features = samples.features;
  selected.labels = samples.labels;
  selected.tasks = samples.tasks;
  for (const Index row : rows) {
    if (!samples.label.empty()) selected.label.push_back(samples.label[row]);
    if (!samples.task.empty()) selected.task.push_back(samples.task[row]);
  }
  return selected;
}

}  // namespace coterie
