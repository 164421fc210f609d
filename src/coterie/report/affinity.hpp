// How alike the tasks are, two by two, as a square of colours in [0, 1].
#pragma once

#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

struct Affinity {
  std::string title = {};
  std::string value_name = {};          // "share of resamples in one group"
  Matrix values = {};                   // tasks by tasks, in [0, 1]; what is not finite is grey
  std::vector<std::string> names = {};  // of the tasks, in the order of the matrix
  std::vector<Index> order =
      {};  // the tasks from top to bottom, as by leaf_order; empty: as they come
  std::vector<Index> groups =
      {};  // the group of each task, as by groups_at; neighbours in one group are outlined
};

// The picture as SVG text. Throws InputError where the sizes do not fit each other or a value lies outside [0, 1].
std::string as_svg(const Affinity& affinity);

}  // namespace coterie
