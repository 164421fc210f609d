#include "coterie/search/merge_tree.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

namespace coterie {

namespace {

std::vector<Index> group_of(Index tasks, const Groups& groups) {
  std::vector<Index> out(static_cast<std::size_t>(tasks), -1);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const Index t : groups[g]) out[static_cast<std::size_t>(t)] = static_cast<Index>(g);
  return out;
}

double mean_between(const Matrix& together, const Groups& parts) {
  double sum = 0;
  double pairs = 0;
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      sum += together(parts[a], parts[b]).sum();
      pairs += static_cast<double>(parts[a].size() * parts[b].size());
    }
  return sum / pairs;
}

// The length of the path in log lambda: its points but for those at infinity and 0.
struct Span {
  double top = 0, length = 0;
  explicit Span(const std::vector<double>& lambda) {
    double bottom = 0;
    for (const double value : lambda) {
      if (std::isinf(value) || value == 0) continue;
      if (top == 0) top = value;
      bottom = value;
    }
    if (top > 0) length = std::log(top / bottom);
  }
  double lambda_of(double share) const { return top * std::exp(-share * length); }
  // Of the path above a merge, which is half-way between two points.
  double share_above(const Merge& merge) const {
    if (merge.lower == 0) return 1;
    return std::isinf(merge.upper) ? 0
                                   : std::log(top / std::sqrt(merge.lower * merge.upper)) / length;
  }
};

}  // namespace

// Average linkage: from any cluster to its nearest, from there to the nearest of that, until two are each other's nearest. The share rises
// along such a chain, so it ends; and no join later on can come between the two (Murtagh, 1983).
std::vector<Join> average_linkage(Matrix share) {
  const Index T = share.rows();
  std::vector<double> size(static_cast<std::size_t>(T), 1);
  std::vector<Index> left;  // clusters, by the task that stands for them
  for (Index t = 0; t < T; ++t) left.push_back(t);
  std::vector<Join> joins;
  while (left.size() > 1) {
    Index a = left.front();
    Index before = -1;
    for (;;) {
      Index nearest = before;
      for (const Index c : left)
        if (c != a && (nearest < 0 || share(a, c) > share(a, nearest))) nearest = c;
      if (nearest == before) break;
      before = a;
      a = nearest;
    }
    joins.push_back({a, before, share(a, before)});
    double& own = size[static_cast<std::size_t>(a)];
    const double other = size[static_cast<std::size_t>(before)];
    share.row(a) = (own * share.row(a) + other * share.row(before)) / (own + other);
    share.col(a) = share.row(a).transpose();
    own += other;
    std::erase(left, before);
  }
  std::ranges::stable_sort(joins, std::greater(), &Join::share);
  return joins;
}

namespace {

// Clusters of one share join at once.
std::vector<TreeNode> time_tree(Index tasks, const MergeTree& tree, const Span& span) {
  constexpr double same = 1e-9;
  std::vector<TreeNode> nodes;
  std::vector<Index> node(static_cast<std::size_t>(tasks));  // that a task belongs to so far
  for (Index t = 0; t < tasks; ++t) node[static_cast<std::size_t>(t)] = t;
  const std::vector<Join> joins = average_linkage(tree.together);
  TaskGraph links;
  for (std::size_t i = 0; i < joins.size();) {
    const double together = joins[i].share;
    for (; i < joins.size() && together - joins[i].share <= same; ++i)
      links.push_back({joins[i].t, joins[i].s, 1});
    for (std::vector<Index>& members :
         connected_parts(tasks, links, std::vector<bool>(links.size(), true))) {
      TreeNode one;
      for (const Index t : members) {
        const Index own = node[static_cast<std::size_t>(t)];
        if (std::ranges::find(one.children, own) == one.children.end()) one.children.push_back(own);
      }
      if (one.children.size() < 2) continue;
      for (const Index t : members) node[static_cast<std::size_t>(t)] = tasks + std::ssize(nodes);
      const auto merge = std::ranges::find(tree.merges, members, &Merge::members);
      one.members = std::move(members);
      one.together = together;
      one.lambda = span.lambda_of(together);
      one.for_good =
          merge != tree.merges.end() && std::abs(span.share_above(*merge) - together) <= same;
      nodes.push_back(std::move(one));
    }
  }
  return nodes;
}

}  // namespace

MergeTree merge_tree(Index tasks, const std::vector<double>& lambda,
                     const std::vector<Groups>& groups) {
  MergeTree tree;
  const std::size_t count = lambda.size();
  if (count == 0) return tree;
  tree.together = time_together(tasks, lambda, groups);
  // for_good[k]: pairs that share a kernel at point k and at all larger lambdas.
  std::vector<Groups> for_good(count);
  for_good[0] = groups[0];
  for (std::size_t k = 1; k < count; ++k)
    for_good[k] = common_refinement(tasks, for_good[k - 1], groups[k]);

  std::vector<Index> node(static_cast<std::size_t>(tasks));  // that a task belongs to so far
  for (Index t = 0; t < tasks; ++t) node[static_cast<std::size_t>(t)] = t;
  for (std::size_t k = count; k-- > 0;) {
    for (const std::vector<Index>& members : for_good[k]) {
      std::vector<Index> children;
      for (const Index t : members) {
        const Index own = node[static_cast<std::size_t>(t)];
        if (std::ranges::find(children, own) == children.end()) children.push_back(own);
      }
      if (children.size() < 2) continue;
      Groups parts;
      for (const Index child : children)
        parts.push_back(child < tasks
                            ? std::vector<Index>{child}
                            : tree.merges[static_cast<std::size_t>(child - tasks)].members);
      const Index number = tasks + std::ssize(tree.merges);
      for (const Index t : members) node[static_cast<std::size_t>(t)] = number;
      tree.merges.push_back({std::move(children), members, k + 1 < count ? lambda[k + 1] : 0,
                             lambda[k], mean_between(tree.together, parts)});
    }
    if (k == 0) break;
    const std::vector<Index> above = group_of(tasks, groups[k - 1]);
    for (const std::vector<Index>& members : groups[k]) {
      GroupSplit split{members, {}, lambda[k], lambda[k - 1], 0};
      std::vector<Index> seen;
      for (const Index t : members) {
        const Index own = above[static_cast<std::size_t>(t)];
        const auto place = std::ranges::find(seen, own);
        if (place == seen.end()) {
          seen.push_back(own);
          split.parts.push_back({t});
        } else {
          split.parts[static_cast<std::size_t>(place - seen.begin())].push_back(t);
        }
      }
      if (split.parts.size() < 2) continue;
      split.together = mean_between(tree.together, split.parts);
      tree.splits.push_back(std::move(split));
    }
  }
  tree.nodes = time_tree(tasks, tree, Span(lambda));
  return tree;
}

MergeTree merge_tree(const LambdaPath& path) {
  std::vector<double> lambda;
  std::vector<Groups> groups;
  for (const PathPoint& point : path.points) {
    lambda.push_back(point.lambda);
    groups.push_back(point.fit.groups);
  }
  return merge_tree(path.points.empty() ? 0 : std::ssize(path.points.front().fit.alpha), lambda,
                    groups);
}

Matrix time_together(Index tasks, const std::vector<double>& lambda,
                     const std::vector<Groups>& groups) {
  Matrix share = Matrix::Zero(tasks, tasks);
  double all = 0;
  // A point stands for the halves of the intervals beside it.
  for (std::size_t k = 0; k < lambda.size(); ++k) {
    if (std::isinf(lambda[k]) || lambda[k] == 0) continue;
    double width = 0;
    if (k > 0 && std::isfinite(lambda[k - 1])) width += std::log(lambda[k - 1] / lambda[k]) / 2;
    if (k + 1 < lambda.size() && lambda[k + 1] > 0)
      width += std::log(lambda[k] / lambda[k + 1]) / 2;
    all += width;
    for (const std::vector<Index>& group : groups[k])
      for (const Index t : group)
        for (const Index s : group) share(t, s) += width;
  }
  if (all > 0) {
    share /= all;
  } else if (!groups.empty()) {  // a path without length: its first point says all
    for (const std::vector<Index>& group : groups.front())
      for (const Index t : group) share(group, std::vector<Index>{t}).setOnes();
  }
  for (Index t = 0; t < tasks; ++t) share(t, t) = 1;
  return share.cwiseMin(1.0);
}

std::size_t point_with_groups(const LambdaPath& path, Index k) {
  Index wanted = std::ssize(path.points.front().fit.groups);
  for (const PathPoint& point : path.points) {
    const Index here = std::ssize(point.fit.groups);
    const Index gain = std::abs(wanted - k) - std::abs(here - k);
    if (gain > 0 || (gain == 0 && here < wanted)) wanted = here;
  }
  std::size_t best = 0;
  double longest = -1;
  for (std::size_t i = 0; i < path.points.size();) {
    if (std::ssize(path.points[i].fit.groups) != wanted) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end + 1 < path.points.size() && std::ssize(path.points[end + 1].fit.groups) == wanted)
      ++end;
    // The ends of the path, at infinity and 0, have no length of their own.
    const std::size_t next = end + 1;
    std::size_t begin = i;
    if (std::isinf(path.points[begin].lambda) && end > begin) ++begin;
    if (path.points[end].lambda == 0 && end > begin) --end;
    const double from = path.points[begin].lambda, to = path.points[end].lambda;
    const double length = begin == end ? 0 : std::log(from / to);
    if (length > longest) {
      longest = length;
      best = begin;
      for (std::size_t j = begin; j <= end && begin < end; ++j) {
        const auto off = [&](std::size_t place) {
          return std::abs(std::log(path.points[place].lambda / std::sqrt(from * to)));
        };
        if (off(j) < off(best)) best = j;
      }
    }
    i = next;
  }
  return best;
}

std::optional<std::size_t> best_point(const LambdaPath& path) {
  std::optional<std::size_t> best;
  for (std::size_t k = 0; k < path.points.size(); ++k) {
    const double here = path.points[k].held_out_accuracy;
    if (!std::isnan(here) && (!best || here > path.points[*best].held_out_accuracy)) best = k;
  }
  return best;
}

}  // namespace coterie
