// Whom: learning with whom to share, Kang, Grauman and Sha (2011), docs/methods.md (13): tasks of a group share a subspace of features,
//
//   minimise   losses(W, b) + lambda sum_g ||W_g||_*^2        over W, b and partitions of the tasks into at most G groups
//
// with W_g the rows of the tasks in g and ||.||_* the trace norm. For given groups the problem is convex, and the gap is a proof. For
// given W splitting a group never raises the penalty: the optimum falls with G, and with G >= T every task is alone, a ridge
// lambda ||w_t||^2 each. In between the groups are searched for; no proof says that there are no better ones (Claim::given_clusters).
#pragma once

#include "coterie/baseline/linear.hpp"

namespace coterie {

struct WhomParameters {
  double lambda = 0.1;  // gamma of the article
  Index clusters = 2;   // G
  Index restarts = 10;  // descents; the best is kept
  Index seed = 1;
};

// A descent alternates the convex problem in (W, b) with moves of single tasks that lower the penalty at this W, until neither
// changes anything. The first begins from start.clusters, if given; the next from k-means on the directions of the weights of single
// tasks, from single tasks merged step by step, and all others from random groups. The ends are tried further, the best first: a task
// at a time moves to another group, with W optimised anew, five trials per task in all. The objective never rises from one report to
// the next of the same descent (`part` of the progress).
LinearFit fit_whom(const LinearProblem& problem, const WhomParameters& parameters,
                   const LinearSettings& settings, const LinearStart& start = {},
                   const ProgressCallback& progress = {});

// sum_g ||W_g||_*^2
double squared_trace_norms(const Matrix& W, const Groups& groups);

}  // namespace coterie
