// Proximal Newton on kernel weights, whatever ties them together (coupling.hpp). docs/maths.md (1), (5), (20)-(23), (38), (40).
//
// SVMs at theta give value, gradient and Hessian of every J_t; the coupling minimises the model that these make; a line search on the
// objective guards the step. Each iterate carries its certificate,
//
//   primal(theta, w, b)  >=  optimum  >=  dual(alpha, nu),
//
// with a bound of its rounding error, and the loop stops when  primal - dual + error <= gap_tolerance * primal.
// Samples that do not matter are left out until the gap is small; then those with a loss join. The best certificate seen is returned.
// Private to the solvers: fit.hpp is what users call.
#pragma once

#include <vector>

#include "coterie/mtmkl/coupling.hpp"
#include "coterie/mtmkl/fit.hpp"

namespace coterie {

// The best that was found, with its certificate and what it took.
struct NewtonResult {
  Matrix theta;               // units x M
  Groups groups;              // of points, weights equal bit for bit
  std::vector<Vector> alpha;  // [task], all samples
  Vector bias, objective;     // [task]
  Matrix nu;                  // ties x M
  Proof proof;
  std::vector<TaskProof> parts;  // [task], what the proof is made of
  Index outer_steps = 0;
  Index svm_solves = 0, theta_iterations = 0;
  Index cycle = 0;        // of the published algorithm, (Fit)
  double coarseness = 0;  // of the gap, relative: what rounding left open where it was in the way
  Status status = Status::converged;
};

// Task k of the coupling is tasks[k] of the problem, whose lambda, graph and weights have no part in this. `start` has weights of all
// units, and of alpha and nu what is known. The workspace has room for all tasks of the problem.
NewtonResult minimise(const MtmklProblem& problem, const std::vector<Index>& tasks,
                      Coupling& coupling, const FitSettings& settings, const WarmStart& start,
                      Workspace& workspace, const ProgressCallback& progress, Progress report = {});

}  // namespace coterie
