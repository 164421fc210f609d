#include "coterie/report/dendrogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "coterie/report/svg.hpp"

namespace coterie {

namespace {

using svg::Point;

// The nodes that a picture shows. A merge beyond the largest lambda is left out with all that stands on it.
struct Tree {
  Index leaves = 0;
  std::vector<std::vector<Index>> children =
      {};                              // of each node, the one with the earlier leaf first
  std::vector<double> lambda = {};     // of each node; leaves: 0
  std::vector<Index> parent = {};      // -1: none
  std::vector<Index> first_leaf = {};  // the smallest leaf below each node
  std::vector<bool> shown = {};
  std::vector<Index> roots = {};  // shown nodes without a shown parent
};

void check(bool good, const std::string& words) {
  if (!good) throw InputError("dendrogram: " + words);
}

Tree build_tree(const Dendrogram& tree) {
  const Index n = std::ssize(tree.leaves), nodes = n + std::ssize(tree.merges);
  check(n > 0, "there are no leaves; name at least one task");
  check(std::isfinite(tree.lambda_max) && tree.lambda_max > 0,
        fmt::format("lambda_max is {}; it must be positive and finite",
                    svg::number_text(tree.lambda_max)));
  Tree out;
  out.leaves = n;
  out.children.resize(nodes);
  out.lambda.assign(nodes, 0);
  out.parent.assign(nodes, -1);
  out.first_leaf.resize(nodes);
  out.shown.assign(nodes, true);
  std::iota(out.first_leaf.begin(), out.first_leaf.end(), Index{0});
  for (Index k = 0; k < std::ssize(tree.merges); ++k) {
    const TreeMerge& merge = tree.merges[k];
    const Index node = n + k;
    const auto here = [&](const std::string& words) {
      return fmt::format("merge {} {}", k, words);
    };
    check(merge.children.size() >= 2,
          here(fmt::format("has {} children; it needs two or more", merge.children.size())));
    check(merge.lambda >= 0, here(fmt::format("is at lambda {}; it must not be negative",
                                              svg::number_text(merge.lambda))));
    check(!merge.support || (*merge.support >= 0 && *merge.support <= 1),
          here(fmt::format("has support {}; it must lie in [0, 1]",
                           svg::number_text(merge.support.value_or(0)))));
    out.lambda[node] = merge.lambda;
    out.shown[node] = merge.lambda <= tree.lambda_max;
    out.children[node] = merge.children;
    for (const Index child : merge.children) {
      check(child >= 0 && child < node,
            here(fmt::format("joins node {}; it may join the leaves and earlier merges, 0 to {}",
                             child, node - 1)));
      check(out.parent[child] < 0,
            here(fmt::format("joins node {}, which is joined before; a node joins once", child)));
      check(out.lambda[child] <= merge.lambda,
            here(fmt::format("is at lambda {}, below its part, node {}, at {}; lambda must not "
                             "fall towards the root",
                             svg::number_text(merge.lambda), child,
                             svg::number_text(out.lambda[child]))));
      out.parent[child] = node;
    }
    std::sort(out.children[node].begin(), out.children[node].end(),
              [&](Index a, Index b) { return out.first_leaf[a] < out.first_leaf[b]; });
    out.first_leaf[node] = out.first_leaf[out.children[node].front()];
  }
  for (Index node = 0; node < nodes; ++node)
    if (out.shown[node] && (out.parent[node] < 0 || !out.shown[out.parent[node]]))
      out.roots.push_back(node);
  std::sort(out.roots.begin(), out.roots.end(),
            [&](Index a, Index b) { return out.first_leaf[a] < out.first_leaf[b]; });
  return out;
}

// Depth first, with a stack: a chain of a thousand merges is as deep as it is long.
std::vector<Index> order_leaves(const Tree& tree) {
  std::vector<Index> order, waiting(tree.roots.rbegin(), tree.roots.rend());
  while (!waiting.empty()) {
    const Index node = waiting.back();
    waiting.pop_back();
    if (node < tree.leaves) order.push_back(node);
    waiting.insert(waiting.end(), tree.children[node].rbegin(), tree.children[node].rend());
  }
  return order;
}

std::vector<Index> find_groups(const Tree& tree, double lambda) {
  const Index nodes = std::ssize(tree.parent);
  std::vector<Index> group(nodes);
  std::vector<Index> top(nodes);  // of each node, the highest one that lambda reaches
  for (Index node = nodes - 1; node >= 0; --node) {
    const Index up = tree.parent[node];
    top[node] = up >= 0 && tree.lambda[up] <= lambda ? top[up] : node;
  }
  std::vector<Index> number(nodes, -1), out(tree.leaves);
  Index groups = 0;
  for (Index leaf = 0; leaf < tree.leaves; ++leaf) {
    Index& own = number[top[leaf]];
    if (own < 0) own = groups++;
    out[leaf] = own;
  }
  return out;
}

}  // namespace

std::vector<Index> leaf_order(const Dendrogram& tree) { return order_leaves(build_tree(tree)); }

std::vector<Index> groups_at(const Dendrogram& tree, double lambda) {
  return find_groups(build_tree(tree), lambda);
}

std::string as_svg(const Dendrogram& tree) {
  const Tree built = build_tree(tree);
  svg::Drawing drawing;
  return drawing.finish(640, 400, tree.title);
}

}  // namespace coterie
