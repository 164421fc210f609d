// How tasks come together along the lambda path.
//
// Two tasks have joined for good at the smallest lambda from which on they share a kernel at every larger one: the merges. Where a group
// forms and breaks again at a larger lambda, that is no part of them and is told apart, as a split.
//
// The tree that pictures show must not hide such groups, so it is made from the time that tasks spend together, by average linkage. A node
// stands at the lambda from which on its parts would share a kernel if their time together were in one piece: where no group breaks again,
// its nodes are the merges.
#pragma once

#include <optional>
#include <vector>

#include "coterie/search/path.hpp"

namespace coterie {

// Between two neighbouring points of the path, lower < lambda <= upper.
struct Merge {
  std::vector<Index> children;  // nodes: tasks 0 .. T-1, then merges T, T+1, ..
  std::vector<Index> members;   // tasks, increasing
  double lower = 0, upper = 0;
  double together =
      0;  // mean share of the path that tasks of different children spend in one group
};
struct GroupSplit {
  std::vector<Index> members;  // of a group at `lower`
  Groups parts;                // among the groups at `upper`
  double lower = 0, upper = 0;
  double together = 0;  // as of Merge, of different parts
};
struct TreeNode {
  std::vector<Index> children;  // nodes: tasks 0 .. T-1, then nodes T, T+1, ..
  std::vector<Index> members;   // tasks, increasing
  double together = 0;          // as of Merge
  double lambda = 0;            // where it stands
  bool for_good = true;         // it is a merge; else its parts are together in several pieces
};

struct MergeTree {
  std::vector<Merge> merges;       // lambda rises
  std::vector<GroupSplit> splits;  // lambda rises
  std::vector<TreeNode> nodes;     // time together falls
  Matrix together;                 // time_together
};

// From partitions at falling lambdas, as in LambdaPath; the first may be at infinity. Tasks that are together at the smallest lambda join at it.
MergeTree merge_tree(Index tasks, const std::vector<double>& lambda,
                     const std::vector<Groups>& groups);
MergeTree merge_tree(const LambdaPath& path);

// tasks x tasks: the share of the path, in log lambda, on which two tasks are in one group. What begins or ends between two points does so
// half-way.
Matrix time_together(Index tasks, const std::vector<double>& lambda,
                     const std::vector<Groups>& groups);

// Average linkage of how alike tasks are, two by two: of every join a task of each cluster, and how alike these are; falling.
struct Join {
  Index t = 0, s = 0;
  double share = 0;
};
std::vector<Join> average_linkage(Matrix share);

// The point of the path with k groups that is in the middle of the longest stretch (in log lambda) of such points; if there is none, of
// those with the nearest number of groups, the smaller one of two.
std::size_t point_with_groups(const LambdaPath& path, Index k);

// The point of the best held-out accuracy, of equal ones that of the largest lambda; nothing where no rows were held out.
std::optional<std::size_t> best_point(const LambdaPath& path);

}  // namespace coterie
