#include "coterie/mtmkl/parts.hpp"

#include <cmath>
#include <utility>

namespace coterie {

std::vector<Part> split_into_parts(const MtmklProblem& problem) {
  std::vector<bool> joined;
  for (const Edge& edge : problem.graph) joined.push_back(problem.lambda > 0 && edge.weight > 0);
  const Groups groups = connected_parts(problem.T(), problem.graph, joined);
  std::vector<Part> parts;
  std::vector<std::pair<std::size_t, Index>> place(
      static_cast<std::size_t>(problem.T()));  // part, position within it
  const bool common = std::isinf(problem.lambda);
  for (const std::vector<Index>& tasks : groups) {
    Part part;
    part.tasks = tasks;
    part.units = common ? 1 : std::ssize(tasks);
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      part.unit.push_back(common ? 0 : static_cast<Index>(k));
      place[static_cast<std::size_t>(tasks[k])] = {parts.size(), static_cast<Index>(k)};
    }
    parts.push_back(std::move(part));
  }
  if (common) return parts;
  for (std::size_t i = 0; i < problem.graph.size(); ++i) {
    if (!joined[i]) continue;
    const Edge& edge = problem.graph[i];
    const auto [p, t] = place[static_cast<std::size_t>(edge.t)];
    parts[p].edges.push_back(static_cast<Index>(i));
    parts[p].graph.push_back({t, place[static_cast<std::size_t>(edge.s)].second, edge.weight});
  }
  return parts;
}

}  // namespace coterie
