// A fit in words and in JSON.
#pragma once

#include <string>

#include "coterie/model/model.hpp"
#include "text.hpp"

namespace coterie::app {

// Every group with its tasks and its kernel weights; of linear methods the clusters.
std::string groups_text(const Model& model);

// Tasks with their size, support vectors, group, objective and bias.
std::string tasks_text(const Model& model);

// "lambda 0.42", with the share of lambda_max it was given as; of other methods their name and parameters.
std::string strength_text(const Model& model);

// What `train --json` promises, but for times and places.
Json json_fit(const Model& model);

// Groups are numbered as `listed` (mtmkl/group_list.hpp) orders them.
std::vector<Index> group_of_tasks(const Model& model);  // per task, counted from 1
Json json_groups(const Model& model);                   // lists of task names, in that order
std::vector<std::string> kernel_names(const Model& model);
std::vector<std::string> task_names(const Model& model, const std::vector<Index>& group);

}  // namespace coterie::app
