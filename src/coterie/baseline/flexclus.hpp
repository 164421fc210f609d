// FlexClus: flexible task clusters of Zhong and Kwok (2012): W = U + V, and every feature has clusters of its own in U.
#pragma once

#include "coterie/baseline/linear.hpp"

namespace coterie {

struct FlexclusParameters {
  double lambda1 = 0.01;                // fusion of U, feature by feature
  double lambda2 = 0.1, lambda3 = 0.1;  // ridges of U and V
};

LinearFit fit_flexclus(const LinearProblem& problem, const FlexclusParameters& parameters,
                       const LinearSettings& settings, const LinearStart& start = {},
                       const ProgressCallback& progress = {});

}  // namespace coterie
