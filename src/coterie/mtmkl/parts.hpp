// The connected parts of the task graph are separate problems. Private to this room.
#pragma once

#include <vector>

#include "coterie/mtmkl/problem.hpp"

namespace coterie {

// Its theta has one row per unit: a task each, or one for all when lambda is infinite.
struct Part {
  std::vector<Index> tasks;  // of the whole problem
  std::vector<Index> edges;  // of the whole problem
  std::vector<Index> unit;   // [task of the part]
  Index units = 0;
  TaskGraph graph;  // between units
};

std::vector<Part> split_into_parts(const MtmklProblem& problem);

}  // namespace coterie
