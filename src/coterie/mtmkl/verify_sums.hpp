// What the checks of all methods' proofs have in common: sums over raw data by plain loops, and how they compare with what a model states.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coterie/mtmkl/verify.hpp"

namespace coterie {

// Throws InputError unless the tasks of the data are those of the model from number `first` on, `count` of them.
void check_fit_to_model(const Model& model, Index first, Index count, const Dataset& data,
                        const PrecomputedMatrices& precomputed);

// What the settings say the divisors must be, docs/maths.md (25)-(27); X is scaled.
void check_divisors(const Model& model, const Dataset& data, const Matrix& X,
                    const PrecomputedMatrices& precomputed, std::vector<std::string>& findings);

// What the settings say the scaling must be, from the rows that some task uses.
void check_scaling(const Model& model, const Dataset& data, std::vector<std::string>& findings);

// X scaled as the model says.
Matrix scaled(const Model& model, Matrix X);

// How far a number leaves its set, and what it is when that is too far.
void note_infeasible(Verification& check, double amount, double allowed, const std::string& what);

double p_norm(const std::vector<double>& values, double p);

// Of one task: primal value of the SVM at (theta, w, bias), sum of alpha, and S^m(alpha). Notes where theta and alpha leave their sets, and
// support vectors that are not those of the data. X is scaled; its row 0 is row `first_row` of all training rows.
struct TaskValues {
  double primal = 0, alpha_sum = 0;
  std::vector<double> S;
};
TaskValues recompute_task(const Model& model, const TaskModel& task, const Task& samples,
                          const Matrix& X, Index first_row, const PrecomputedMatrices& precomputed,
                          Verification& check, const std::function<void()>& one_done);

// The gap, and what the model says of it. Differences are relative to the objective, or to `least_scale` where that is larger.
void compare(const Certificate& stated, double tolerance, Verification& check,
             double least_scale = 1);
void check_groups(const Model& model, Verification& check);

// Reports every sample that is done.
std::function<void()> counting(const Dataset& data, const VerifyProgress& progress);

}  // namespace coterie
