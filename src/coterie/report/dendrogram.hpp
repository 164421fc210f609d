// The tree of the tasks: which join into one group, and at which lambda.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// Nodes are numbered: the leaves first, then the merges in their order. A merge names earlier nodes only, each once.
struct TreeMerge {
  std::vector<Index> children = {};  // two or more nodes
  double lambda = 0;                 // at least that of its children; infinity: they never join
  std::optional<double> support =
      {};                  // in [0, 1], for example the share of resamples with this group
  bool in_pieces = false;  // the parts are not together all the way from here: drawn dashed
  bool operator==(const TreeMerge&) const = default;
};

// A lambda to look at, with a word of why.
struct LambdaMark {
  double lambda = 0;
  std::string words = {};
  bool operator==(const LambdaMark&) const = default;
};

struct Dendrogram {
  std::string title = {};
  std::string lambda_name = "lambda / lambda_max";
  std::vector<std::string> leaves = {};  // names of the tasks
  std::vector<TreeMerge> merges =
      {};                 // what they leave apart stays apart in the picture, with open ends
  double lambda_max = 1;  // right end of the axis; a merge beyond it is not drawn
  std::optional<double> cut = {};  // show the groups at this lambda, in colours
  std::vector<Index> groups =
      {};  // those groups: a number of each leaf; empty: what the merges say, as by groups_at
  std::optional<LambdaMark> mark = {};
  bool operator==(const Dendrogram&) const = default;
};

// The leaves from top to bottom such that no lines cross; otherwise in their own order as far as possible.
std::vector<Index> leaf_order(const Dendrogram& tree);

// The group of each leaf at a given lambda (0, 1, ... by first leaf): joined by merges with at most this lambda.
std::vector<Index> groups_at(const Dendrogram& tree, double lambda);

// The picture as SVG text. These functions throw InputError where the merges are not a tree as above.
std::string as_svg(const Dendrogram& tree);

}  // namespace coterie
