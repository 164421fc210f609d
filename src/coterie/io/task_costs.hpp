// C of single tasks, from a file.
#pragma once

#include <map>
#include <string>

namespace coterie {

// CSV or TSV with the columns task and C; a task may occur once. By name of the task.
std::map<std::string, double> read_task_costs(const std::string& path);

}  // namespace coterie
