#include "coterie/data/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "coterie/data/names.hpp"

namespace coterie {

namespace {

void check_table(const Dataset& data, const Samples& rows) {
  if (rows.X.rows() == 0)
    throw InputError("`validation` has no rows; there is nothing to judge on.");
  if (rows.label.empty())
    throw InputError("`validation` has no labels; judging needs a label for every row.");
  if (rows.features != data.features)
    throw InputError(
        fmt::format("`validation` has the features {}; the data has {}. Give it the same, in the "
                    "same order.",
                    list_names(rows.features), list_names(data.features)));
}

// y of a row with this label in the task: 0 when it is of another pair of classes.
double side_of(const Task& task, Casting casting, const std::string& label) {
  if (label == task.positive) return 1;
  return label == task.negative || casting == Casting::one_vs_rest ? -1 : 0;
}

}  // namespace

Validated with_validation(const Dataset& data, const Samples& rows) {
  check_table(data, rows);
  std::map<std::string, std::vector<std::size_t>> tasks_of;  // by part
  for (std::size_t t = 0; t < data.tasks.size(); ++t) tasks_of[data.tasks[t].part].push_back(t);

  std::vector<std::vector<Index>> added(data.tasks.size());
  std::vector<std::vector<double>> sides(data.tasks.size());
  for (Index i = 0; i < rows.X.rows(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::string& label = rows.labels[static_cast<std::size_t>(rows.label[k])];
    const std::string part =
        rows.task.empty() ? "" : rows.tasks[static_cast<std::size_t>(rows.task[k])];
    const auto found = tasks_of.find(part);
    if (found == tasks_of.end())
      throw InputError(
          part.empty()
              ? std::string("`validation` has no tasks, and the data has.")
              : fmt::format("`validation` has the task '{}', which the data does not have.", part));
    bool known = false;
    for (const std::size_t t : found->second) {
      const double side = side_of(data.tasks[t], data.casting, label);
      known = known || label == data.tasks[t].positive || label == data.tasks[t].negative;
      if (side == 0) continue;
      added[t].push_back(data.X.rows() + i);
      sides[t].push_back(side);
    }
    if (!known)
      throw InputError(
          fmt::format("`validation` has the label '{}'{}, which the data does not have.", label,
                      part.empty() ? "" : fmt::format(" in the task '{}'", part)));
  }

  Validated out{data, {}};
  out.data.X.conservativeResize(data.X.rows() + rows.X.rows(), Eigen::NoChange);
  out.data.X.bottomRows(rows.X.rows()) = rows.X;
  if (data.weight.size() > 0) {
    out.data.weight.conservativeResize(out.data.X.rows());
    out.data.weight.tail(rows.X.rows()).setOnes();
  }
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    Task& task = out.data.tasks[t];
    const Index own = task.size();
    task.rows.insert(task.rows.end(), added[t].begin(), added[t].end());
    task.y.conservativeResize(task.size());
    task.y.tail(task.size() - own) = Eigen::Map<const Vector>(sides[t].data(), task.size() - own);
    std::vector<Index> places(static_cast<std::size_t>(task.size()));
    std::iota(places.begin(), places.end(), Index{0});
    out.split.train.emplace_back(places.begin(), places.begin() + own);
    out.split.rest.emplace_back(places.begin() + own, places.end());
  }
  return out;
}

}  // namespace coterie
