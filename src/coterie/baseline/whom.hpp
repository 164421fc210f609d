// Whom: learning with whom to share, Kang, Grauman and Sha (2011): a squared trace norm per group of tasks, and the groups.
#pragma once

#include "coterie/baseline/linear.hpp"

namespace coterie {

struct WhomParameters {
  double lambda = 0.1;  // gamma of the article
  Index clusters = 2;   // G
  Index restarts = 10;  // of the search for groups
  Index seed = 1;
};

LinearFit fit_whom(const LinearProblem& problem, const WhomParameters& parameters,
                   const LinearSettings& settings, const LinearStart& start = {},
                   const ProgressCallback& progress = {});

}  // namespace coterie
