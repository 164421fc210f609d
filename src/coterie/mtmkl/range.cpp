#include "coterie/mtmkl/range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace coterie {
namespace {

bool is_small(double value) { return !(value >= kSmallestNumber); }
bool is_large(double value) { return !(value <= kLargestNumber); }

}  // namespace

TaskName names_in(const std::vector<Task>& tasks) {
  return [&tasks](Index t) { return tasks[static_cast<std::size_t>(t)].name; };
}

void check_costs(const std::vector<Vector>& C, const std::vector<Task>& tasks) {
  for (std::size_t t = 0; t < C.size(); ++t) {
    if (C[t].size() == 0) continue;
    const bool small = is_small(C[t].minCoeff());
    if (!small && !is_large(C[t].sum())) continue;
    throw InputError(fmt::format(
        "task '{}' has C = {:.4g} for {} rows, which is too {} to be computed with. Use a {} C.",
        tasks[t].name, C[t].maxCoeff(), C[t].size(), small ? "small" : "large",
        small ? "larger" : "smaller"));
  }
}

void check_costs(const std::vector<TaskGrams>& grams, const std::vector<Vector>& C,
                 const std::vector<Kernel>& kernels, const std::vector<Task>& tasks) {
  check_costs(C, tasks);
  for (std::size_t t = 0; t < grams.size(); ++t) {
    if (C[t].size() == 0) continue;
    const double one = C[t].minCoeff();
    const double all = C[t].sum();
    const Vector values = grams[t].largest_values();
    for (Index m = 0; m < values.size(); ++m) {
      if (values[m] == 0) continue;
      const bool small = is_small(one * one * values[m]);
      if (!small && !is_large(all * all * values[m])) continue;
      throw InputError(fmt::format(
          "task '{}': with C = {:.4g} and kernel '{}', whose values reach {:.4g}, the sums are too "
          "{} to be computed with. Use a {} C, or `scale` standard.",
          tasks[t].name, C[t].maxCoeff(), to_string(kernels[static_cast<std::size_t>(m)]),
          values[m], small ? "small" : "large", small ? "larger" : "smaller"));
    }
  }
}

void check_penalty(const TaskGraph& graph, double lambda, const TaskName& name) {
  if (lambda == 0) return;
  const double factor = std::isinf(lambda) ? 1 : lambda;
  for (const Edge& edge : graph) {
    for (const double value : {edge.weight, factor * edge.weight}) {
      if (!is_small(value) && !is_large(value)) continue;
      throw InputError(fmt::format(
          "tasks '{}' and '{}' are drawn together with lambda {} times weight {}, which is too {} "
          "to be computed with. Weights, and lambda times weight, must be from {} to {}. Change "
          "`lambda` or the file of weights; a lambda or weight of 0 draws nothing together.",
          name(edge.t), name(edge.s), lambda, edge.weight, is_small(value) ? "small" : "large",
          kSmallestNumber, kLargestNumber));
    }
  }
}

void check_features(const Dataset& scaled) {
  const double largest = std::sqrt(kLargestNumber);
  for (const Task& task : scaled.tasks)
    for (const Index i : task.rows)
      for (Index k = 0; k < scaled.X.cols(); ++k)
        if (!(std::abs(scaled.X(i, k)) <= largest))
          throw InputError(fmt::format(
              "row {}, feature '{}' is {:.4g}, too large to be computed with: the most is {}. Use "
              "`scale` standard.",
              i + 1, scaled.features[static_cast<std::size_t>(k)], scaled.X(i, k), largest));
}

}  // namespace coterie
