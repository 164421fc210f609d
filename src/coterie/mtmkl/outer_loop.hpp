// Proximal Newton on one connected part of the task graph. Private to this room: fit.hpp is what users call.
#pragma once

#include <vector>

#include "coterie/mtmkl/fit.hpp"
#include "coterie/mtmkl/proof.hpp"

namespace coterie {

// A connected part of the task graph. Its theta has one row per unit: a task each, or one for all when lambda is infinite.
struct Part {
  std::vector<Index> tasks;  // of the whole problem
  std::vector<Index> edges;  // of the whole problem
  std::vector<Index> unit;   // [task of the part]
  Index units = 0;
  TaskGraph graph;  // between units
};

std::vector<Part> split_into_parts(const MtmklProblem& problem);

// The best that was found for a part, with its proof and what it took.
struct PartResult {
  Matrix theta;               // units x M
  Groups groups;              // of units
  std::vector<Vector> alpha;  // [task of the part], all samples
  Vector bias, objective;     // [task of the part]
  Matrix nu;
  Proof proof;
  Index outer_steps = 0;
  Index svm_solves = 0, theta_iterations = 0;
  Index cycle = 0;        // of the published algorithm, (Fit)
  double coarseness = 0;  // of the gap, relative: what rounding left open where it was in the way
  Status status = Status::converged;
};

// `start` is that of the whole problem.
PartResult solve_part(const MtmklProblem& problem, const Part& part, const FitSettings& settings,
                      const ProgressCallback& progress, Progress report, const WarmStart& start,
                      Workspace& workspace);

}  // namespace coterie
