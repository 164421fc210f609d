// The objective at given weights: one SVM per task, its value, gradient and curvature in theta. docs/maths.md (3), (20), (21), (22).
//
//   J_t(theta)  = max_alpha 1'alpha - 1/2 sum_m theta^m S_t^m(alpha),      S_t^m = alpha' Y K_t^m Y alpha
//   gradient      g^m = -1/2 S_t^m
//   Hessian       H^{mm'} = r_m' P r_m',   P = A^-1 - A^-1 1 1' A^-1 / (1' A^-1 1)
//
// over the free support vectors F: r_m = (K^m beta)_F, A = K(theta)_FF, beta = y alpha.
#pragma once

#include <vector>

#include "coterie/mtmkl/problem.hpp"
#include "coterie/svm/task_svm.hpp"

namespace coterie {

// One task at one theta. The SVM is that of the samples that matter (task_svm.hpp).
struct TaskState {
  SvmResult svm;
  double tau = 0;       // of its barrier
  double left_out = 0;  // losses of the samples that do not take part, where they were counted
  std::vector<Index> support;  // places in the set with alpha > 0
  Matrix K_beta;               // support x M, (K^m beta) there
  Vector g;                    // gradient of J_t, M
  Eigen::MatrixXd A;  // lower half of K(theta)_FF if F is small, until the curvature needs it
  // Of the optimum where its active set is stable; empty until asked for.
  bool has_curvature = false;
  Matrix H;                 // Hessian of J_t, M x M; with many kernels not, but its root:
  Eigen::MatrixXd root;     // free x M, H = root'root
  std::vector<Index> free;  // samples of the task whose alpha is between its bounds
  Matrix drift;             // free x M, d beta / d theta = -P r, (22)
};

// Solves the SVM at theta, warm-started from `start` (empty: cold), with a barrier if tau > 0, docs/maths.md (40): value,
// curvature and alpha are then those of the smoothed J_t, the gradient is exact for its alpha. Rows of the kernel are borrowed from the pool meanwhile. At most `kept` free
// support vectors have their kernel kept for the curvature; of more it is mixed again, to the same bits.
constexpr Index kKept = 256;
TaskState evaluate_task(TaskSvm& task, ConstVectorRef theta, ConstVectorRef start,
                        double svm_gap_tolerance, RowPool& pool, Index kept = kKept, double tau = 0,
                        const KeepGoing& keep_going = {});

// With more kernels the Hessian is kept as its root: free support vectors are fewer, and most weights stay 0.
constexpr Index kWholeHessian = 100;
Matrix hessian(const TaskState& state);  // M x M, whichever is kept; not without curvature
double trace_of_hessian(const TaskState& state);

// Sets H and drift of a state, whose theta must be the one that the task was evaluated at last.
void add_curvature(TaskSvm& task, TaskState& state, RowPool& pool);

// Where alpha is after a step in theta, to first order: a warm start, over the set of the task.
Vector predicted_alpha(const TaskSvm& task, const TaskState& state, ConstVectorRef step);

// The gradient of J_t at the optimal alpha of task t. Throws Stopped.
Vector gradient(const MtmklProblem& problem, Index t, ConstVectorRef alpha,
                const KeepGoing& keep_going = {});

}  // namespace coterie
