#include "coterie/search/merge_tree.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace coterie {

namespace {

std::vector<Index> group_of(Index tasks, const Groups& groups) {
  std::vector<Index> out(static_cast<std::size_t>(tasks), -1);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const Index t : groups[g]) out[static_cast<std::size_t>(t)] = static_cast<Index>(g);
  return out;
}

}  // namespace

MergeTree merge_tree(Index tasks, const std::vector<double>& lambda,
                     const std::vector<Groups>& groups) {
  MergeTree tree;
  const std::size_t count = lambda.size();
  if (count == 0) return tree;
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
      const Index number = tasks + std::ssize(tree.merges);
      for (const Index t : members) node[static_cast<std::size_t>(t)] = number;
      tree.merges.push_back(
          {std::move(children), members, k + 1 < count ? lambda[k + 1] : 0, lambda[k]});
    }
    if (k == 0) break;
    const std::vector<Index> above = group_of(tasks, groups[k - 1]);
    for (const std::vector<Index>& members : groups[k]) {
      GroupSplit split{members, {}, lambda[k], lambda[k - 1]};
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
      if (split.parts.size() > 1) tree.splits.push_back(std::move(split));
    }
  }
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
  // A point stands for the interval down to the next.
  for (std::size_t k = 0; k + 1 < lambda.size(); ++k) {
    if (std::isinf(lambda[k]) || lambda[k + 1] == 0) continue;
    const double width = std::log(lambda[k] / lambda[k + 1]);
    all += width;
    for (const std::vector<Index>& group : groups[k])
      for (const Index t : group)
        for (const Index s : group) share(t, s) += width;
  }
  if (all > 0) share /= all;
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

}  // namespace coterie
