// Pairs of tasks with weights, from a file.
#pragma once

#include <string>
#include <vector>

#include "coterie/data/dataset.hpp"
#include "coterie/mtmkl/problem.hpp"

namespace coterie {

struct TaskLink {
  Index t = 0, s = 0;  // as in the file: task_a, task_b
  double weight = 1;   // >= 0
  bool operator==(const TaskLink&) const = default;
};

// CSV or TSV with the columns task_a, task_b and, optionally, weight (default 1). A pair may occur once, in either order.
std::vector<TaskLink> read_task_graph(const std::string& path,
                                      const std::vector<std::string>& task_names);
// As the solver takes it: without pairs of weight 0.
TaskGraph as_graph(const std::vector<TaskLink>& links);
// Over the tasks of the data.
TaskGraph read_task_graph(const std::string& path, const Dataset& data);

}  // namespace coterie
