// CMTL: clustered multi-task learning of Jacob, Bach and Vert (2008), its convex relaxation with the matrix of clusters eliminated.
#pragma once

#include "coterie/baseline/linear.hpp"

namespace coterie {

struct CmtlParameters {
  double lambda = 0.1;
  Index clusters = 2;  // r
  double mean = 1, between = 1,
         within =
             10;  // epsilon_M, epsilon_B, epsilon_W;  within >= between >= mean > 0 in the article
  bool centred = true;  // false: the form of MALSAR, with `clusters` directions of the whole of W
  Index seed = 1;       // of the k-means that reads the clusters
};

LinearFit fit_cmtl(const LinearProblem& problem, const CmtlParameters& parameters,
                   const LinearSettings& settings, const LinearStart& start = {},
                   const ProgressCallback& progress = {});

}  // namespace coterie
