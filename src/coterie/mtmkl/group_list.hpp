// Groups as people see them, numbered from 1: larger ones first, of equal size the one whose first task comes first. All that shows or takes
// numbers of groups asks here.
#pragma once

#include <vector>

#include "coterie/mtmkl/problem.hpp"

namespace coterie {

Groups listed(Groups groups);
std::vector<Index> group_numbers(Index tasks, const Groups& groups);  // of every task

}  // namespace coterie
