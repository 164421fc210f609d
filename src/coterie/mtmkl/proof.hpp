// Certificates with the rounding of their numbers. docs/maths.md (5), (54), (41)-(46).
//
//   primal  >=  optimum  >=  dual,      both known to within `error`:   true gap  <=  primal - dual + error
//
// First from what the solver has at hand, in double, with bounds that cost next to nothing; where these are too coarse to decide, from the
// definition of the kernels in long double.
#pragma once

#include <algorithm>
#include <vector>

#include "coterie/mtmkl/objective.hpp"
#include "coterie/mtmkl/problem.hpp"

namespace coterie {

struct Proof {
  double primal = 0, dual = 0;
  double error = 0;  // bounds |gap - true gap|
  double gap() const { return primal - dual; }
  // The gap is surely at most that: and it is not so far below 0 that something must be wrong.
  bool shows(double target) const {
    return std::max(0.0, gap()) + error <= target && gap() >= -error;
  }
};

// What one task brings to it, each number with a bound of its error.
struct TaskProof {
  double primal = 0, primal_error = 0;    // of its SVM at (theta, w, b), over all samples
  double alpha_sum = 0, alpha_error = 0;  // 1'alpha; with what y'alpha = 0 lacks
  Vector g, g_error;                      // -1/2 S^m(alpha)
};

// From the SVM as it was solved, whose losses outside its set have been counted.
TaskProof rounded_proof(const TaskGrams& grams, const TaskSvm& svm, const TaskState& state,
                        ConstVectorRef theta);

// Anew, in long double; alpha over all samples.
TaskProof careful_proof(const TaskGrams& grams, ConstVectorRef y, ConstVectorRef C,
                        ConstVectorRef theta, ConstVectorRef alpha, double bias,
                        const KeepGoing& keep_going);

// How tasks are tied together. Points 0 .. A-1 of the graph are anchors with given weights, A + u has row u of theta.
struct Ties {
  const TaskGraph& graph;
  const Vector& kappa;    // per edge, lambda w_ts; no entries: no ties
  const Matrix& anchors;  // A x M; no rows: none
  const WeightSet& weights;
  bool fixed = false;  // theta has no choice
};

// The proof of all: task k has row unit[k] of theta.
Proof join_proofs(const std::vector<TaskProof>& tasks, const std::vector<Index>& unit,
                  const Matrix& theta, const Ties& ties, const Matrix& nu);

// Rows that are in D but for rounding, put there; equal rows stay equal.
void put_inside(Matrix& theta, const WeightSet& weights);
// nu_i surely within its ball of radius kappa_i, rounding included.
void pull_inside(Matrix& nu, const Vector& kappa);

}  // namespace coterie
