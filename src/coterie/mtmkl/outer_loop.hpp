// Proximal Newton on one connected part of the task graph. Private to this room: fit.hpp is what users call.
#pragma once

#include <vector>

#include "coterie/mtmkl/fit.hpp"

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

// The objective of a part at theta, with all that the next step needs.
struct Iterate {
  Matrix theta;  // units x M
  std::vector<TaskState> tasks;
  Groups groups;        // of units
  double primal = 0;    // without the losses of samples left out
  double left_out = 0;  // those losses; counted where a proof needs them
  Matrix g;             // units x M
};

// The last iterate of a part, with its proof and what it took.
struct PartResult {
  Iterate x;
  std::vector<Vector> alpha;  // [task of the part], all samples
  Matrix nu;
  double dual = 0;
  Index outer_steps = 0;
  Index svm_solves = 0, theta_iterations = 0;
  Index cycle = 0;  // of the published algorithm, (Fit)
  Status status = Status::converged;
};

// `floor` is the share of this part in the max(1, .) of the stopping rule; `start` is that of the whole problem.
PartResult solve_part(const MtmklProblem& problem, const Part& part, const FitSettings& settings,
                      double floor, const ProgressCallback& progress, Progress report,
                      const WarmStart& start, Workspace& workspace);

}  // namespace coterie
