// Bounds of the Rademacher complexity of a class of kernel weights, docs/bound.md (3), (8)-(14). All but the published one bound
//
//   E W,   W = max sum_t sqrt(theta_t'u_t)   of (6), so that  sqrt(R) / N  times them is a complexity (7)
//
// Tasks may have any sizes and kernels any scale: traces are carried as they are.
#pragma once

#include <vector>

#include "coterie/bound/signs.hpp"
#include "coterie/math/simplex.hpp"
#include "coterie/math/types.hpp"

namespace coterie {

// (3), as printed: sqrt(sqrt(3) gamma R M / N). It is 0 at gamma = 0, where the complexity is not: kept to be compared with.
double published_complexity(double R, double gamma, Index M, double N);

// The weights b_t of the Cauchy-Schwarz inequality (8): roots of the largest trace of every task, roots of n_t for unit diagonals.
Vector task_scales(const std::vector<TaskSums>& tasks);

// E X^r for r = 0 .. order, X = sum_t weights_t g_t^2 with independent standard normal g_t.
Vector chi_square_moments(ConstVectorRef weights, Index order);

// (12): at least E max_{theta in D} theta'sum_t u_t, from the traces of all tasks, T x M.
double largest_form(ConstMatrixRef traces, const WeightSet& D);

// (10): E ||U P||_F^2 exactly, where row t of U is u_t / b_t and P centres over the tasks.
double expected_scatter(const std::vector<TaskSums>& tasks, ConstVectorRef b);

// (13): at least E W, from sums over the kernel matrices only. gamma may be infinite.
double closed_form(const std::vector<TaskSums>& tasks, const WeightSet& D, double gamma);

// (14): at least W for these forms (T x M) and scales; its mean over draws is the data-dependent bound.
double data_form(ConstMatrixRef U, ConstVectorRef b, const WeightSet& D, double gamma);

// How far any two points of D are apart at most: it bounds gamma by pairs times this.
double diameter(const WeightSet& D, Index M);

}  // namespace coterie
