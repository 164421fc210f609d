// Partitions of tasks in two forms: a label per task, and lists of tasks.
#pragma once

#include <algorithm>
#include <vector>

#include "coterie/mtmkl/problem.hpp"

namespace coterie {

// Groups in the order of their first task, without empty ones.
inline Groups in_order(Groups groups) {
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  for (auto& group : groups) std::sort(group.begin(), group.end());
  std::sort(groups.begin(), groups.end());
  return groups;
}

inline Groups groups_of(const std::vector<Index>& label) {
  Groups groups;
  for (std::size_t t = 0; t < label.size(); ++t) {
    const auto g = static_cast<std::size_t>(label[t]);
    if (g >= groups.size()) groups.resize(g + 1);
    groups[g].push_back(static_cast<Index>(t));
  }
  return in_order(std::move(groups));
}

inline bool is_partition(const Groups& groups, Index T) {
  std::vector<Index> tasks;
  for (const auto& group : groups) tasks.insert(tasks.end(), group.begin(), group.end());
  std::sort(tasks.begin(), tasks.end());
  for (Index t = 0; t < std::ssize(tasks); ++t)
    if (tasks[static_cast<std::size_t>(t)] != t) return false;
  return std::ssize(tasks) == T;
}

}  // namespace coterie
