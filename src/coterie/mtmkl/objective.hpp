// The objective at given weights: one SVM per task, its value, gradient and curvature in theta. docs/maths.md (3), (10), (11).
//
//   J_t(theta)  = max_alpha 1'alpha - 1/2 sum_m theta^m S_t^m(alpha),      S_t^m = alpha' Y K_t^m Y alpha
//   gradient      g^m = -1/2 S_t^m
//   Hessian       H^{mm'} = r_m' P r_m',   P = A^-1 - A^-1 1 1' A^-1 / (1' A^-1 1)
//
// over the free support vectors F: r_m = (K^m beta)_F, A = K(theta)_FF, beta = y alpha.
#pragma once

#include <vector>

#include "coterie/mtmkl/problem.hpp"
#include "coterie/svm/svm.hpp"

namespace coterie {

struct TaskState {
  SvmResult svm;
  Vector g;  // gradient of J_t, M
  Matrix H;  // Hessian of J_t where its active set is stable, M x M
};

// Solves task t's SVM at theta, warm-started from `start` (empty: cold).
TaskState evaluate_task(const MtmklProblem& problem, Index t, ConstVectorRef theta,
                        ConstVectorRef start, double svm_gap_tolerance);

// Where the SVM has more than one optimal alpha (a singular kernel matrix: J_t has a kink there), the proof of optimality may need a
// point between two of them. The segment from `from` to `to`, both alphas of task t, seen at the weights theta:
class Segment {
 public:
  Segment(const MtmklProblem& problem, Index t, ConstVectorRef theta, const TaskState& from, const TaskState& to);
  TaskState at(double s) const;  // alpha = (1 - s) from + s to, with its values and gradient; H of `from`

 private:
  const Vector& y_;
  const Vector& C_;
  const TaskState& from_;
  Vector alpha_, e_;     // at s = 0
  Vector d_alpha_, d_e_; // change to s = 1
  Vector g_, d_g_, dd_g_; // g(s) = g + s d_g + s^2 dd_g
};

// The gradient of J_t at the optimal alpha of task t.
Vector gradient(const MtmklProblem& problem, Index t, ConstVectorRef alpha);

}  // namespace coterie
