// CoClus: co-clustering of tasks and features, Xu, Huang, Chen and Chen (2015): W = P + Q, P near its mean, Q near rank k.
#pragma once

#include "coterie/baseline/linear.hpp"

namespace coterie {

struct CoclusParameters {
  Index clusters = 2;  // k
  double lambda1 = 0.1, lambda2 = 0.1;
  double ridge = 1e-3;  // rho: without it there need not be a minimiser
  Index seed = 1;       // of the k-means that reads the clusters
};

LinearFit fit_coclus(const LinearProblem& problem, const CoclusParameters& parameters,
                     const LinearSettings& settings, const LinearStart& start = {},
                     const ProgressCallback& progress = {});

}  // namespace coterie
