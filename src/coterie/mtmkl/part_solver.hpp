// The functions of one part of the task graph that the outer loop is made of: objective, dual value, proof, theta step. Private to this
// room. Where an iterate was evaluated, the SVMs are at its weights.
#pragma once

#include <vector>

#include "coterie/mtmkl/evaluator.hpp"
#include "coterie/mtmkl/outer_loop.hpp"
#include "coterie/mtmkl/theta_step.hpp"

namespace coterie {

// The objective of a part at theta, with all that the next step needs.
struct Iterate {
  Matrix theta;  // units x M
  std::vector<TaskState> tasks;
  Groups groups;         // of units
  double primal = 0;     // with the ridges of (53), without the losses of samples left out
  double plain = 0;      // without ridges
  double penalty = 0;    // in both
  double left_out = 0;   // those losses, where they were counted
  bool counted = false;  // over all samples: plain + left_out is the objective of the whole problem
  Matrix g;              // units x M
};

struct PartProof : Proof {
  Vector objective;  // [task]
};

class PartSolver {
 public:
  PartSolver(const MtmklProblem& problem, const Part& part, const FitSettings& settings,
             Workspace& workspace, KeepGoing keep_going);

  Evaluator& svms() { return svms_; }
  const Vector& kappa() const { return kappa_; }  // per edge, lambda w_ts
  Index theta_iterations = 0;

  Iterate evaluate(Matrix theta, Groups groups, const std::vector<Vector>& start,
                   double svm_tolerance);
  Iterate resume(Matrix theta, const std::vector<Vector>& start, double svm_tolerance);
  void restore(const Iterate& x) { svms_.restore(x.theta); }

  // The losses of the samples left out; with them the primal value is that of the whole problem.
  void count_left_out(Iterate& x, TaskSvm::Outside who = TaskSvm::Outside::all);

  double dual(const Iterate& x, const Matrix& nu) const;  // (5)
  double svm_gap(const Iterate& x) const;     // the part of the gap that comes from inexact SVMs
  double ridge_cost(const Iterate& x) const;  // what ridges take off: sum_t ridge_t/2 ||alpha_t||^2
  double target(const Iterate& x) const { return settings_.gap_tolerance * x.plain; }

  // With bounds of the rounding; the losses outside must have been counted. `nu` lies within its balls.
  PartProof rounded_proof(const Iterate& x, const Matrix& nu) const;
  PartProof careful_proof(const Iterate& x, const Matrix& nu) const;

  // The curvatures of the model around x, [unit]: the Hessians and mu I.
  std::vector<Matrix> curvatures(Iterate& x, double mu);
  // Solves the model around x for new weights and pair duals.
  ThetaResult theta_step(const Iterate& x, const std::vector<Matrix>& B, ThetaState& state,
                         const ThetaSettings& limits);
  // How much the model falls from x to theta.
  double predicted_decrease(const Iterate& x, const std::vector<Matrix>& B,
                            const Matrix& theta) const;
  // Curvature that only keeps a model from being flat.
  double least_curvature(Iterate& x);

  // Ridges that may cost every task about this part of its objective.
  void set_ridges(const Iterate& x, double share);

  Groups singletons() const;
  Groups equal_weights(const Matrix& theta) const;  // tied tasks of equal weights, bit for bit

 private:
  PartProof joined(const std::vector<TaskProof>& tasks, const Iterate& x, const Matrix& nu) const;
  Iterate gather(Matrix theta, Groups groups, std::vector<TaskState> states) const;
  double penalty_at(const Matrix& theta) const;

  const MtmklProblem& problem_;
  const Part& part_;
  const FitSettings& settings_;
  double penalty_;
  Vector kappa_;
  Matrix none_;
  Evaluator svms_;
};

}  // namespace coterie
