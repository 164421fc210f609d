#include "coterie/mtmkl/group_list.hpp"

#include <algorithm>

namespace coterie {

Groups listed(Groups groups) {
  std::ranges::sort(groups, [](const std::vector<Index>& a, const std::vector<Index>& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  return groups;
}

std::vector<Index> group_numbers(Index tasks, const Groups& groups) {
  std::vector<Index> numbers(static_cast<std::size_t>(tasks), 0);
  Index number = 0;
  for (const std::vector<Index>& group : listed(groups)) {
    ++number;
    for (const Index t : group) numbers[static_cast<std::size_t>(t)] = number;
  }
  return numbers;
}

}  // namespace coterie
