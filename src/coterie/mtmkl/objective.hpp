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

// The gradient of J_t at the optimal alpha of task t.
Vector gradient(const MtmklProblem& problem, Index t, ConstVectorRef alpha);

}  // namespace coterie
