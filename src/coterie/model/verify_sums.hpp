// What the checks of all methods' proofs have in common: sums over raw data by plain loops, and how they compare with what a model states.
// Checks of the scaling are in verify_scaling.cpp, those of settings, kernels and groups in verify_settings.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coterie/kernel/exact_kernels.hpp"
#include "coterie/model/verify.hpp"

namespace coterie {

// Throws InputError unless the tasks of the data are those of the model from number `first` on, `count` of them.
void check_fit_to_model(const Model& model, Index first, Index count, const Dataset& data,
                        const PrecomputedMatrices& precomputed);

// What the settings say the divisors must be, docs/maths.md (12)-(14).
void check_divisors(const Model& model, const Dataset& data, const ExactKernels& exact,
                    std::vector<std::string>& findings);

// What the settings say the scaling must be, from the rows that some task uses.
void check_scaling(const Model& model, const Dataset& data, std::vector<std::string>& findings);

// X scaled as the model says.
Matrix scaled(const Model& model, Matrix X);

// How far a number leaves its set, and what it is when that is too far.
void note_infeasible(Verification& check, double amount, double allowed, const std::string& what);

double p_norm(const std::vector<double>& values, double p);
long double p_norm(const std::vector<long double>& values, long double p);

// Of one task: primal value of the SVM at (theta, w, bias), sum of alpha, and S^m(alpha), with bounds of their errors, (46). Notes where
// theta and alpha leave their sets, and support vectors that are not those of the data. X is scaled; its row 0 is row `first_row` of all
// training rows.
struct TaskValues {
  long double primal = 0, alpha_sum = 0;
  std::vector<long double> S;
  double primal_error = 0, alpha_error = 0;
  std::vector<double> S_error;
};
struct CheckedKernels {  // of the samples that are checked
  const Matrix& X;
  const ExactKernels& exact;
  const PrecomputedMatrices& precomputed;
  const Vector& weight;  // of Dataset
  const SampleParts* parts = nullptr;

  double roundings(Index m) const { return exact.roundings(m) + (parts ? 1 : 0); }
  double between(Index i, Index j) const {
    return !parts || parts->part[static_cast<std::size_t>(i)] ==
                         parts->part[static_cast<std::size_t>(j)]
               ? 1
               : parts->across;
  }
};
TaskValues recompute_task(const Model& model, const TaskModel& task, const Task& samples,
                          const CheckedKernels& kernels, Index first_row, Verification& check,
                          const std::function<void()>& one_done);

// What a violation costs to repair: nothing beyond the margin, where it is a finding instead.
double within_margin(double violation, double size);

// How far the weights of a task leave D: |sum - 1| for p = 1, what the norm exceeds 1 by for others.
double excess_of_weights(const TaskModel& task, double p);

// min over D of c'theta, with the least and the largest value that it may have when every c_m may be off by its error.
struct Least {
  long double value = 0;
  double error = 0;
};
Least smallest_over_weights(const std::vector<long double>& c, const std::vector<double>& error,
                            double p);

// The settings against the kernels, C, lambda and its share of lambda_max, and the groups; what cannot be checked is listed as taken.
void check_settings(const Model& model, const Dataset& data, Verification& check);
// Those of the settings; without the training data, "@each" is believed which columns it left out.
void check_kernels(const Model& model, const Dataset* data, Verification& check);
// Groups are the tied tasks of equal weights; `graph` has the edges that count.
void check_groups(const Model& model, const TaskGraph& graph, double lambda, Verification& check);
// Only that the weights of a group are equal.
void check_groups(const Model& model, Verification& check);

// Stated numbers come from a fit in doubles, ours from long double: an error of ours times 2^11 would be one of theirs. What the fit went
// through adds to that; 2^7 times ours was the most on 20,000 random problems. So whatever bound a model states, a number that differs by
// more than this much of our own error is wrong.
inline constexpr double kDoubles = 0x1p16;

// How far a stated number may be from ours, by the error that its model admits and by our own.
double compared_within(const Certificate& stated, double stated_error, double own_error);

// The objectives that a model states for its tasks. A model claims them to within the bound of the whole, which one task of large numbers
// may have made coarse for all: so each is held against that, and their sum against what the whole is held against.
class StatedObjectives {
 public:
  void add(const TaskModel& task, long double value, double error, const Certificate& stated,
           Verification& check);
  void finish(const Certificate& stated, Verification& check) const;

 private:
  long double apart_ = 0;
  double error_ = 0;
};

// The values and the gap, with `error` their absolute bound, and what the model says of them. Without a dual value, `dual` is what a step
// may still reach.
void compare(const Certificate& stated, double tolerance, long double primal, long double dual,
             double error, Verification& check, bool has_dual = true);

// Every support vector has a task, whose check compares it with the data.
void check_support(const Model& model, Verification& check);

// What no data can tell: calibrations of the tasks, names of columns.
void list_taken(const Model& model, const std::vector<TaskModel>& tasks, Verification& check);

// Reports every sample that is done.
std::function<void()> counting(const Dataset& data, const VerifyProgress& progress);

}  // namespace coterie
