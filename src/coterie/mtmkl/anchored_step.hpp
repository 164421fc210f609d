// The theta step when some points are fixed: few new tasks u among many anchors a. docs/maths.md (41), (42).
//
//   minimise   sum_u [ c_u'x_u + 1/2 x_u' B_u x_u ]  +  sum_i kappa_i ||x_t - x_s||       x_u in D,
//
// edge i = (t, s), t an anchor or a new task, s a new task. Method: Newton steps along the central path. With the norm written as the
// smallest tau with ||d|| <= tau, a barrier -mu log(tau^2 - ||d||^2) and tau eliminated, an edge's dual comes in closed form and never
// leaves its ball:
//
//   nu_i = kappa_i^2 d / (mu + sigma),    sigma = sqrt(mu^2 + kappa_i^2 ||d||^2),    d = x_t - x_s               (41)
//
// Weights have -mu log x_m, and for p > 1 -mu log(1 - ||x||_p^p). All of this is self-concordant (the last for moderate p), so that steps
// of length 1 / (1 + decrement) are safe and Newton's method needs no tuning.
// At mu the gap is about mu (2 edges + U M). An edge with ||d||^2 < mu / kappa is then fused, a weight with x_m^2 < mu / scale is 0: of
// two numbers whose product is mu the one that vanishes is far smaller than the other. Rounded so, the point is kept if the gap
//
//   sum_u [ r_u'x_u - min_{y in D} r_u'y ] + sum_i [ kappa_i ||d_i|| - nu_i'd_i ],     r_u = c_u + B_u x_u + sum of +-nu_i      (42)
//
// of the rounded point is at most gap_tolerance: there it ends.
#pragma once

#include <vector>

#include "coterie/math/parallel.hpp"
#include "coterie/mtmkl/problem.hpp"

namespace coterie {

struct AnchoredProblem {
  const Matrix& c;               // U x M
  const std::vector<Matrix>& B;  // [u] M x M, positive semidefinite
  const Matrix& anchors;         // A x M, in D, all different
  const TaskGraph& graph;    // points 0 .. A-1 are the anchors, A + u is new task u; t < s, s >= A
  const Vector& kappa;       // per edge, > 0
  const WeightSet& weights;  // D
};

struct AnchoredStep {
  Matrix theta;               // U x M, in D
  Matrix nu;                  // edges x M, within their balls
  std::vector<Index> joined;  // [u] the first point that u is fused with, bit for bit; A + u: none
  double gap = 0;             // of the model
  Index newton_steps = 0;
};

// Throws Stopped when it may not keep going, which it asks before every Newton step.
AnchoredStep solve_anchored(const AnchoredProblem& problem, double gap_tolerance,
                            const KeepGoing& keep_going = {});

}  // namespace coterie
