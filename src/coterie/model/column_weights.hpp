// Which columns matter, and to whom: how much of the kernel weights goes to kernels of one column.
#pragma once

#include <vector>

#include "coterie/model/model.hpp"

namespace coterie {

// The weight of a column in a group is the sum of the weights of all kernels that look at it alone, as a share of all weights.
struct ColumnWeights {
  std::vector<Index> columns;  // that have a kernel of their own; the largest mean first
  Vector mean;                 // per column of these, over tasks
  Matrix share;                // groups, as `listed` (mtmkl/group_list.hpp) orders them, x columns
  Vector together;             // per group: of all kernels that look at several columns
};
// Nothing (no columns) where no kernel looks at one column alone, and for models without kernels.
ColumnWeights column_weights(const Model& model);

// Of methods that cluster features too, on features as they are: the group of tasks that every feature belongs to, counted from 1, or 0
// where no task has its cluster. Read off the weights, as the clusters of tasks are. Of other models empty.
std::vector<Index> feature_clusters(const Model& model);

}  // namespace coterie
