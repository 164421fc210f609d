// The figures of a plan: which weights two kernels get in every task, and which tasks share them. The paper has one, of letter.
#pragma once

#include <string>
#include <vector>

#include "coterie/experiment/experiment.hpp"

namespace coterie {

struct Figure {
  std::string name;    // "letter 10 % #1 weights"
  std::string file;    // "weights-letter-10", without an ending
  std::string chosen;  // "C=4 lambda=1"
  double score = 0;    // of the choice, on validation rows
  std::vector<std::string> kernels, tasks;
  Matrix theta;  // tasks x kernels
  Groups groups;
  double gap = 0;  // of the fit
};

// All figures of the plan, or those whose name has the run's `only`. Fewer when the run said stop.
std::vector<Figure> run_figures(const Plan& plan, const ExperimentRun& run);

}  // namespace coterie
