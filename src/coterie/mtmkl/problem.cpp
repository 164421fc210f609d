#include "coterie/mtmkl/problem.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace coterie {

namespace {

Groups groups_of(const std::vector<std::pair<Index, Index>>& key) {
  std::map<std::pair<Index, Index>, std::size_t> seen;
  Groups groups;
  for (std::size_t t = 0; t < key.size(); ++t) {
    const auto [place, is_new] = seen.emplace(key[t], groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(static_cast<Index>(t));
  }
  return groups;
}

std::vector<Index> number_of_group(Index tasks, const Groups& groups) {
  std::vector<Index> number(static_cast<std::size_t>(tasks), -1);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const Index t : groups[g]) number[static_cast<std::size_t>(t)] = static_cast<Index>(g);
  return number;
}

// Sets of tasks that grow together. Each is known by its first member.
class Parts {
 public:
  explicit Parts(Index tasks) : above_(static_cast<std::size_t>(tasks)) {
    std::iota(above_.begin(), above_.end(), Index{0});
  }

  Index first(Index t) {
    while (above(t) != t) t = above(t) = above(above(t));
    return t;
  }

  void join(const Edge& edge) {
    const Index a = first(edge.t);
    const Index b = first(edge.s);
    above(std::max(a, b)) = std::min(a, b);
  }

  Groups groups() {
    std::vector<std::pair<Index, Index>> key;
    for (Index t = 0; t < std::ssize(above_); ++t) key.emplace_back(first(t), 0);
    return groups_of(key);
  }

 private:
  Index& above(Index t) { return above_[static_cast<std::size_t>(t)]; }

  std::vector<Index> above_;
};

}  // namespace

ConstantAnswer constant_answer(const Vector& y, const Vector& C) {
  const double positive = C.dot((y.array() > 0).cast<double>().matrix());
  const double negative = C.sum() - positive;
  return {positive > negative ? 1.0 : -1.0, 2 * std::min(positive, negative)};
}

TaskGraph complete_graph(Index tasks) {
  TaskGraph graph;
  graph.reserve(static_cast<std::size_t>(tasks * (tasks - 1) / 2));
  for (Index t = 0; t < tasks; ++t)
    for (Index s = t + 1; s < tasks; ++s) graph.push_back({t, s, 1});
  return graph;
}

Groups connected_parts(Index tasks, const TaskGraph& graph, const std::vector<bool>& joined) {
  Parts parts(tasks);
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (joined[i]) parts.join(graph[i]);
  return parts.groups();
}

Groups parts_around(Index fixed, Index tasks, const TaskGraph& graph,
                    const std::vector<bool>& joined, const std::function<double(Index)>& length) {
  Groups groups = connected_parts(tasks, graph, joined);
  if (std::ranges::none_of(groups,
                           [&](const auto& group) { return group.size() > 1 && group[1] < fixed; }))
    return groups;
  std::vector<Index> edges;
  for (Index i = 0; i < std::ssize(graph); ++i)
    if (joined[static_cast<std::size_t>(i)]) edges.push_back(i);
  std::ranges::stable_sort(edges, {}, length);
  Parts parts(tasks);
  for (const Index i : edges) {
    const Edge& edge = graph[static_cast<std::size_t>(i)];
    if (parts.first(edge.t) >= fixed || parts.first(edge.s) >= fixed) parts.join(edge);
  }
  return parts.groups();
}

Groups common_refinement(Index tasks, const Groups& a, const Groups& b) {
  const std::vector<Index> first = number_of_group(tasks, a);
  const std::vector<Index> second = number_of_group(tasks, b);
  std::vector<std::pair<Index, Index>> key;
  for (std::size_t t = 0; t < first.size(); ++t) key.emplace_back(first[t], second[t]);
  return groups_of(key);
}

Groups equal_rows(const Matrix& theta) {
  Groups groups;
  std::map<std::vector<double>, std::size_t> seen;
  for (Index t = 0; t < theta.rows(); ++t) {
    const auto row = theta.row(t);
    const auto [place, is_new] =
        seen.emplace(std::vector<double>(row.data(), row.data() + row.size()), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(t);
  }
  return groups;
}

double pairwise_distance(const TaskGraph& graph, ConstMatrixRef theta) {
  double sum = 0;
  for (const Edge& edge : graph)
    sum += edge.weight * (theta.row(edge.t) - theta.row(edge.s)).norm();
  return sum;
}

Matrix mean_of_groups(const Matrix& theta, const Groups& groups, Index fixed) {
  Matrix merged = theta;
  for (const std::vector<Index>& members : groups) {
    if (members.size() < 2) continue;
    Vector mean = Vector::Zero(theta.cols());
    if (members.front() < fixed) {
      mean = theta.row(members.front());
    } else {
      for (const Index u : members) mean += theta.row(u);
      mean /= static_cast<double>(members.size());
    }
    for (const Index u : members) merged.row(u) = mean;
  }
  return merged;
}

}  // namespace coterie
