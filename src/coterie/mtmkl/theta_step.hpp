// The theta step of the outer loop, docs/maths.md (23)-(29): the model of the objective around the current weights,
//
//   minimise   sum_t [ c_t'theta_t + 1/2 theta_t' B_t theta_t ]  +  sum_i kappa_i ||theta_t - theta_s||      theta_t in D,
//
// edge i = (t, s). Newton's method on a smoothed objective (smoothed_newton.hpp) solves it nearly always. Where rounding
// stops that, consensus ADMM goes on: every edge keeps copies of its two ends, one more copy z_t lies in D. Because the
// two-point proximal map keeps the sum of its arguments, the scaled duals of an edge's two copies are opposite, and one vector per edge,
//
//   nu_i  <-  projection of  nu_i + rho/2 (theta_t - theta_s)  on the ball of radius kappa_i,
//
// carries the copies and their duals; the edge is fused exactly when nothing was cut off by the projection.
// H = 0, mu = 0 gives the linear theta problem of the paper.
//
// Tasks may be fixed: weights that stay as they are, all different, and draw the others, (53). A group has at most one of them, and its weights.
//
// Both stop when the gap of the model, (29), is at most gap_tolerance:
//
//   sum_t [ r_t'z_t - min_{x in D} r_t'x ] + sum_i [ kappa_i ||z_t - z_s|| - nu_i'(z_t - z_s) ],   r_t = c_t + B_t z_t + sum of +-nu_i
//
// where the first sum is over the tasks that are not fixed.
#pragma once

#include <functional>
#include <vector>

#include "coterie/mtmkl/problem.hpp"

namespace coterie {

struct ThetaProblem {
  const Matrix& c;               // T x M
  const std::vector<Matrix>& B;  // [task] M x M, positive semidefinite
  const TaskGraph& graph;        // t < s, s not fixed
  const Vector& kappa;           // per edge, lambda w_ts
  const WeightSet& weights;
  Index fixed = 0;  // the first tasks, whose weights stay as they are: of c and B they have no part
};

// What one theta step hands to the next.
struct ThetaState {
  Matrix theta;    // T x M, in D: where to start
  Matrix z;        // T x M, in D
  Matrix v;        // T x M, dual of z, not divided by rho
  Matrix nu;       // edges x M, pair duals of ADMM
  double rho = 0;  // 0: chosen from the problem
  double eps = 0;  // of (30); 0: not yet known
};

struct ThetaSettings {
  double gap_tolerance = 1e-8;  // absolute
  double enough = 0;            // a larger gap that will do where Newton's method gets no closer
  Index max_iterations = 20'000;
  Index idle_passes = 20'000;  // of ADMM, in which the gap must halve, once more as many as it took
  bool groups = true;  // false: nobody asks which tasks are fused if they are not equal at this gap
  std::function<bool()> keep_going = {};  // asked now and then; false: stop with what there is
};

struct ThetaResult {
  Matrix theta;          // T x M, in D, equal bit for bit within a group
  Matrix nu;             // edges x M, within their balls
  Groups groups;         // connected parts of fused edges
  double gap = 0;        // of the model, (29)
  Index iterations = 0;  // Newton steps and passes of ADMM
};

ThetaResult solve_theta(const ThetaProblem& problem, ThetaState& state,
                        const ThetaSettings& settings);

// What that does where rounding or a degenerate model stops Newton's method: ADMM from the best so far, and theta and v of the state.
ThetaResult improve_by_admm(const ThetaProblem& problem, ThetaState& state, ThetaResult best,
                            const ThetaSettings& settings);

}  // namespace coterie
