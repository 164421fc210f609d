// How tasks come together along the lambda path.
//
// Two tasks have joined for good at the smallest lambda from which on they share a kernel at every larger one. Joining for good is an
// equivalence at each lambda, coarser as lambda grows: a tree. Where a group forms and breaks again at a larger lambda, that is no part
// of the tree and is told apart, as a split.
#pragma once

#include <vector>

#include "coterie/search/path.hpp"

namespace coterie {

// Between two neighbouring points of the path, lower < lambda <= upper.
struct Merge {
  std::vector<Index> children;  // nodes: tasks 0 .. T-1, then merges T, T+1, ..
  std::vector<Index> members;   // tasks, increasing
  double lower = 0, upper = 0;
};
struct GroupSplit {
  std::vector<Index> members;  // of a group at `lower`
  Groups parts;                // among the groups at `upper`
  double lower = 0, upper = 0;
};

struct MergeTree {
  std::vector<Merge> merges;       // lambda rises
  std::vector<GroupSplit> splits;  // lambda rises
};

// From partitions at falling lambdas, as in LambdaPath; the first may be at infinity. Tasks that are together at the smallest lambda join at it.
MergeTree merge_tree(Index tasks, const std::vector<double>& lambda,
                     const std::vector<Groups>& groups);
MergeTree merge_tree(const LambdaPath& path);

// tasks x tasks: the share of the path, in log lambda, on which two tasks are in one group.
Matrix time_together(Index tasks, const std::vector<double>& lambda,
                     const std::vector<Groups>& groups);

// The point of the path with k groups that is in the middle of the longest stretch (in log lambda) of such points; if there is none, of
// those with the nearest number of groups, the smaller one of two.
std::size_t point_with_groups(const LambdaPath& path, Index k);

}  // namespace coterie
