// Critical-difference diagrams, after Demsar (JMLR 2006): methods on an axis of average ranks, and bars over those that do not differ.
#pragma once

#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

struct CriticalDifference {
  std::string title = {};
  std::string remark = {};
  std::vector<std::string> methods = {};        // two or more
  Vector average_ranks = {};                    // of the methods, from 1 to their number
  double critical_difference = 0;               // at least 0
  std::vector<std::vector<Index>> groups = {};  // methods that do not differ, as of nemenyi_test
};

// One picture with a diagram below the other; the title is that of the whole. Throws InputError where sizes do not fit each other or a rank
// cannot be.
std::string as_svg(const std::vector<CriticalDifference>& diagrams, const std::string& title);

}  // namespace coterie
