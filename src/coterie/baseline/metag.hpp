// MeTaG: multi-level task grouping of Han and Zhang (2015): a pairwise group lasso on the weight vectors of tasks.
#pragma once

#include "coterie/baseline/linear.hpp"

namespace coterie {

struct MetagParameters {
  double lambda = 0.01;  // of the first level
  double ridge = 1e-3;   // rho, on the sum of the levels
  Index levels = 1;      // H; more than one changes nothing at the optimum
  double ratio = 2;      // lambda of a level over that of the next
};

LinearFit fit_metag(const LinearProblem& problem, const MetagParameters& parameters,
                    const LinearSettings& settings, const LinearStart& start = {},
                    const ProgressCallback& progress = {});

}  // namespace coterie
