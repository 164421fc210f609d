// Newton's method on the theta step with rounded kinks, docs/maths.md (30)-(36). With h_i(d) the norm, rounded within eps of zero,
//
//   minimise   sum_t [ c_t'theta_t + 1/2 theta_t' B_t theta_t ]  +  sum_i kappa_i h(theta_t - theta_s)        theta_t in D
//
//   h(d) = ||d||^2 / (2 eps)   for ||d|| <= eps,      ||d|| - eps/2   beyond                                              (30)
//
//   nu_i = kappa_i d / max(||d||, eps),      d = theta_t - theta_s                                                        (31)
//
// The gradient of h yields pair duals that lie in their balls, so that (29) judges every iterate. eps falls when the rounding costs more than Newton has
// left to do. The members of a group then stay where they are in units of eps, (33): their differences carry the pair duals inside the group.
// It stops when (29), at weights that are equal within every group, is at most gap_tolerance.
#pragma once

#include "coterie/mtmkl/theta_step.hpp"

namespace coterie {

struct SmoothedPath {
  Matrix theta;            // T x M, in D; nearly equal within a group
  double eps = 0;          // of (30)
  Matrix merged;           // theta with the mean of each group in the place of its members
  Matrix nu;               // edges x M, (31)
  Matrix r;                // T x M, gradient of the smoothed objective
  Groups groups;           // connected parts of the edges with ||d|| <= eps
  double gap = 0;          // (29) at merged and nu
  Index iterations = 0;    // Newton steps
  bool converged = false;  // gap <= settings.gap_tolerance
};

// From theta (rows in D) and eps down the path, until the gap is small enough or the method gets no further.
SmoothedPath follow_smoothed_path(const ThetaProblem& problem, const Matrix& theta, double eps,
                                  const ThetaSettings& settings);

// The gap (29) of the model at theta (rows in D) and pair duals in their balls.
double model_gap(const ThetaProblem& problem, const Matrix& theta, const Matrix& nu);

}  // namespace coterie
