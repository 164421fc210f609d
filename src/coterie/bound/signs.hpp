// Random signs and their quadratic forms, docs/bound.md (5):
//
//   u_t^m = sigma_t' K_t^m sigma_t,     sigma_t a vector of n_t independent signs
//
// Every kernel matrix is made in strips of rows, and a strip is multiplied with many sign vectors at a time through BLAS: no matrix is
// ever whole in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "coterie/kernel/task_grams.hpp"
#include "coterie/math/simplex.hpp"
#include "coterie/math/types.hpp"

namespace coterie {

// Draws x M: the forms of one task for every column of `signs` (n x draws, entries -1 or +1).
Matrix quadratic_forms(const TaskGrams& task, const Eigen::MatrixXd& signs);

// The forms of all tasks, draws x M each, from signs of a seed. Threads change no bit. `progress` counts blocks of draws of a task, one
// call at a time; false stops, and Stopped is thrown.
using DrawProgress = std::function<bool(Index done, Index all)>;
std::vector<Matrix> draw_forms(const std::vector<TaskGrams>& tasks, Index draws, std::uint64_t seed,
                               int threads, const DrawProgress& progress = {});

// What the closed forms need of the matrices of one task.
struct TaskSums {
  Index n = 0;
  Vector trace;            // tr K^m
  Vector square;           // tr K^m K^m: the sum of the squares of all entries
  Vector diagonal_square;  // the sum of the squares of the diagonal
  double reach = 0;        // sum_i max_{theta in D} K(theta)_ii
};
TaskSums sums_of(const TaskGrams& task, const WeightSet& D);

// E |sigma_1 + .. + sigma_n|, exactly: n binomial(n - 1, floor((n - 1) / 2)) / 2^(n - 1).
double expected_sign_sum(Index n);

}  // namespace coterie
