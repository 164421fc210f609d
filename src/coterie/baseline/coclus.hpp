// CoClus: co-clustering of tasks and features, Xu, Huang, Chen and Chen (2015), docs/methods.md (15): W = P + Q,
//
//   minimise  F(P, Q, b) = losses(P + Q, b) + lambda1 sum_t ||p_t - mean p||^2 + lambda2 sum_{i>k} sigma_i(Q)^2
//                          + rho/2 (||P||^2 + ||Q||^2).
//
// P is drawn to its mean, Q to rank k. Convex only for k = 0 and for k >= min(T, d), where the term of lambda2 is gone. In between there
// is no lower bound of F, but two of its majorants. Let U (T x k) and V (d x k) be the first k singular vectors of Q on the side of tasks
// and on the side of features. For every Q'
//
//   sum_{i>k} sigma_i(Q')^2  <=  ||Q' - U U'Q'||^2     and     <=  ||Q' - Q'V V'||^2,      equal at Q' = Q,
//
// and F with either right side in place of the left one is convex and touches F at (P, Q, b). The gap of a fit says how far down the
// lower of the two can go from there: with pulls s and their Z as in linear.hpp,
//
//   dual(h) = - sum_t sum_i c_ti phi*(-s_ti) - ||Z - mean Z||^2 / (4 lambda1 + 2 rho) - ||mean Z||^2 / (2 rho)
//                                            - (||Z||^2 - h) / (4 lambda2 + 2 rho)    - h / (2 rho)
//   gap     = (F - dual(h)) / F,      h = max(||U'Z||^2, ||Z V||^2)
//
// where mean Z has the mean of the rows of Z in every row. It is 0 just where (P, Q, b) minimises both majorants: then no small step
// lowers F, nor does any step that keeps the k directions of Q on one side, large as it may be. Claim::stationary says so.
#pragma once

#include <vector>

#include "coterie/baseline/linear.hpp"

namespace coterie {

struct CoclusParameters {
  Index clusters = 2;  // k
  double lambda1 = 0.1, lambda2 = 0.1;
  double ridge = 1e-3;  // rho > 0: without it there need not be a minimiser
  Index seed = 1;       // of the k-means that reads the clusters
};

// `shared` of the result is P. Without a start, descents from the optima of the two convex ends, k = 0 and k = min(T, d), are
// compared; a start (W, b, shared) is the only one. F falls from one report to the next within a descent (`part` of the progress).
LinearFit fit_coclus(const LinearProblem& problem, const CoclusParameters& parameters,
                     const LinearSettings& settings, const LinearStart& start = {},
                     const ProgressCallback& progress = {});

// Tasks and features with the same label belong together (Dhillon 2001): k-means on the rows of U and V, each divided by the root of
// the sum of absolute values of its row or column of Q.
struct CoClusters {
  std::vector<Index> task, feature;
};
CoClusters co_clusters(const Matrix& Q, Index clusters, Index seed);

}  // namespace coterie
