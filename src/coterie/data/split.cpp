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

// Rows of a dataset that play the same part in the same tasks, in order of first appearance.
std::vector<std::vector<Index>> strata_of(const Dataset& data) {
  std::vector<std::vector<Index>> roles(static_cast<std::size_t>(data.X.rows()));
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const Task& task = data.tasks[t];
    for (Index i = 0; i < task.size(); ++i) {
      const auto row = static_cast<std::size_t>(task.rows[static_cast<std::size_t>(i)]);
      roles[row].push_back(static_cast<Index>(2 * t) + (task.y[i] > 0 ? 1 : 0));
    }
  }
  std::map<std::vector<Index>, std::size_t> seen;
  std::vector<std::vector<Index>> strata;
  for (std::size_t row = 0; row < roles.size(); ++row) {
    if (roles[row].empty()) continue;
    const auto [place, is_new] = seen.emplace(std::move(roles[row]), strata.size());
    if (is_new) strata.emplace_back();
    strata[place->second].push_back(static_cast<Index>(row));
  }
  return strata;
}

// The split that holds out the rows of which held_out is true.
Split split_by_row(const Dataset& data, const std::vector<bool>& held_out) {
  Split split;
  for (const Task& task : data.tasks) {
    std::vector<Index>& train = split.train.emplace_back();
    std::vector<Index>& rest = split.rest.emplace_back();
    bool classes[2] = {false, false};
    for (Index i = 0; i < task.size(); ++i) {
      const bool out = held_out[static_cast<std::size_t>(task.rows[static_cast<std::size_t>(i)])];
      (out ? rest : train).push_back(i);
      if (!out) classes[task.y[i] > 0] = true;
    }
    for (const int k : {0, 1})
      if (!classes[k])
        throw InputError(fmt::format(
            "task '{}' has too few rows of class '{}' to hold some out and train on the others. "
            "Give it at least two of each class, or leave the task out.",
            task.name, k == 0 ? task.negative : task.positive));
  }
  return split;
}

}  // namespace

std::vector<Split> fold_tasks(const Dataset& data, Index folds, std::uint64_t seed) {
  if (folds < 2) throw InputError(fmt::format("`folds` is {}; it must be at least 2.", folds));
  Random random(seed);
  std::vector<Index> part(static_cast<std::size_t>(data.X.rows()), -1);
  Index next = 0;
  for (std::vector<Index>& rows : strata_of(data)) {
    random.shuffle(rows);
    for (const Index row : rows) part[static_cast<std::size_t>(row)] = next++ % folds;
  }
  if (next < folds)
    throw InputError(fmt::format("`folds` is {}, but there are only {} rows.", folds, next));
  std::vector<Split> out;
  for (Index k = 0; k < folds; ++k) {
    std::vector<bool> held_out;
    for (const Index p : part) held_out.push_back(p == k);
    out.push_back(split_by_row(data, held_out));
  }
  return out;
}

std::vector<Index> cross_fit_parts(const Dataset& data, Index parts, std::uint64_t seed) {
  Random random(seed);
  std::vector<Index> part(static_cast<std::size_t>(data.X.rows()), -1);
  std::map<std::vector<double>, Index> seen;  // features, and the part of the first such row
  Index next = 0;
  for (std::vector<Index>& rows : strata_of(data)) {
    random.shuffle(rows);
    for (const Index row : rows) {
      const auto x = data.X.row(row);
      const auto [place, is_new] =
          seen.emplace(std::vector<double>(x.begin(), x.end()), next % parts);
      if (is_new) ++next;
      part[static_cast<std::size_t>(row)] = place->second;
    }
  }
  return part;
}

Split hold_out_tasks(const Dataset& data, double share, std::uint64_t seed) {
  if (!(share > 0 && share < 1))
    throw InputError(fmt::format("`hold_out` is {}; it must be between 0 and 1.", share));
  Random random(seed);
  std::vector<bool> held_out(static_cast<std::size_t>(data.X.rows()), false);
  for (std::vector<Index>& rows : strata_of(data)) {
    std::vector<Index> train, rest;
    deal_out(std::move(rows), 1 - share, random, train, rest);
    for (const Index row : rest) held_out[static_cast<std::size_t>(row)] = true;
  }
  return split_by_row(data, held_out);
}

std::vector<std::vector<Index>> resample_tasks(const Dataset& data, std::uint64_t seed) {
  Random random(seed);
  std::vector<Index> times(static_cast<std::size_t>(data.X.rows()), 0);
  for (const std::vector<Index>& rows : strata_of(data))
    for (std::size_t k = 0; k < rows.size(); ++k)
      ++times[static_cast<std::size_t>(
          rows[static_cast<std::size_t>(random.below(std::ssize(rows)))])];
  std::vector<std::vector<Index>> out;
  for (const Task& task : data.tasks) {
    std::vector<Index>& positions = out.emplace_back();
    for (Index i = 0; i < task.size(); ++i)
      positions.insert(positions.end(),
                       static_cast<std::size_t>(
                           times[static_cast<std::size_t>(task.rows[static_cast<std::size_t>(i)])]),
                       i);
  }
  return out;
}

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
  selected.columns = samples.columns;
  for (const Index row : rows) {
    if (!samples.label.empty()) selected.label.push_back(samples.label[row]);
    if (!samples.task.empty()) selected.task.push_back(samples.task[row]);
  }
  return selected;
}

}  // namespace coterie
