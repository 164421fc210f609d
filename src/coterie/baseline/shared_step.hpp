// Quadratics of weights with a common part, docs/methods.md (7): a share tau of the budget is common to all units, the rest is own.
//
//   minimise   sum_u [ c_u'theta_u + 1/2 theta_u' B_u theta_u ],        theta_u = mu + lambda_u                              (7)
//              mu >= 0, sum mu = tau;    lambda_u >= 0, sum lambda_u = 1 - tau
//
// Method: primal-dual interior points with Mehrotra's corrector. The start is feasible on both sides and linear equations keep it so;
// only the products x z of variables with their slacks are left to fall. Given the step of mu each unit's is its own small
// system, so a step costs U M^3. At the end of two numbers whose product vanishes the smaller is put to 0. It stops when
//
//   gap = sum_u r_u'theta_u - tau min_m sum_u r_u^m - (1 - tau) sum_u min_m r_u^m  <=  gap_tolerance,    r_u = c_u + B_u theta_u.
#pragma once

#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

struct SharedQuadratic {
  Matrix c;               // U x M
  std::vector<Matrix> B;  // [u] M x M, positive semidefinite
  double share = 0;       // tau, from 0 to 1
};

struct SharedStep {
  Matrix theta;    // U x M
  double gap = 0;  // of the quadratic
  Index iterations = 0;
};

SharedStep solve_shared(const SharedQuadratic& problem, double gap_tolerance);

// tau min_m sum_u r_u^m + (1 - tau) sum_u min_m r_u^m: the smallest value of sum_u r_u'theta_u.
double smallest_shared(const Matrix& r, double share);

}  // namespace coterie
