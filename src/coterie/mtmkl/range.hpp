// Problems whose numbers can be computed in double precision.
//
// Solver and certificate form sums such as alpha'K alpha <= (C n)^2 k, k the largest value of a kernel, and products of up to three of
// them; penalties are lambda w |theta_t - theta_s|. All of that stays within the numbers when
//
//   smallest <= C,  C n,  C^2 k,  (C n)^2 k,  w,  lambda w  <= largest,       smallest = 1e-80,  largest = 1e80
//
// for every task, every kernel that is not 0, and every pair of tasks that are drawn together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coterie/data/dataset.hpp"
#include "coterie/kernel/gram.hpp"
#include "coterie/mtmkl/problem.hpp"

namespace coterie {

inline constexpr double kSmallestNumber = 1e-80;
inline constexpr double kLargestNumber = 1e80;

using TaskName = std::function<std::string(Index)>;  // of a task by its number, for messages

// These throw InputError that names the task, the kernel or the pair, and says what to change. C is per sample.
void check_costs(const std::vector<Vector>& C, const std::vector<Task>& tasks);  // without kernels
void check_costs(const std::vector<TaskGrams>& grams, const std::vector<Vector>& C,
                 const std::vector<Kernel>& kernels, const std::vector<Task>& tasks);
// Nothing is to be drawn together when lambda is 0; when it is infinite, the weights count alone.
void check_penalty(const TaskGraph& graph, double lambda, const TaskName& name);

// For methods that learn weights of features: their squares take the place of kernel values.
void check_features(const Dataset& scaled);

TaskName names_in(const std::vector<Task>& tasks);  // for as long as these live

}  // namespace coterie
