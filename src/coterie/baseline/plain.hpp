// Plain references: equal weights of all kernels, and one model for all tasks together.
#pragma once

#include "coterie/data/dataset.hpp"
#include "coterie/mtmkl/fit.hpp"

namespace coterie {

// One SVM per task at theta = 1/M.
Fit fit_uniform(const MtmklProblem& problem, const FitSettings& settings,
                const ProgressCallback& progress = {}, const WarmStart& start = {},
                Workspace* workspace = nullptr);

// All samples of all tasks as one task, "all".
Dataset pool_tasks(const Dataset& data);

// The samples of every group of tasks in that pool, where a task has so many.
std::vector<std::vector<Index>> pooled_samples(const Groups& groups,
                                               const std::vector<Index>& sizes);

// The task of every sample of that pool.
std::vector<Index> tasks_of_samples(const std::vector<Index>& sizes);

}  // namespace coterie
