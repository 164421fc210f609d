// The largest sum of roots over the kernel weights of a class, docs/bound.md (6):
//
//   W = max  sum_t sqrt(theta_t'u_t)     theta_t in D,   sum_{t<s} ||theta_t - theta_s|| <= gamma
//
// This is what one draw of signs contributes to the Rademacher complexity. The problem is concave, and every answer has a certificate:
//
//   lower   the value at weights that are feasible
//   upper   for any a_t > 0 and any pair vectors nu with ||nu_ts|| <= mu,
//           mu gamma + sum_t [ 1/(4 a_t) + max_{x in D} (a_t u_t - g_t)'x ],    g_t = sum_{s>t} nu_ts - sum_{s<t} nu_st          (15)
//
// because sqrt(z) <= a z + 1/(4a) for every a > 0, and sum_t g_t'theta_t <= mu gamma. It is found by consensus ADMM: weights in D and
// differences in the ball of radius gamma are copies, and both have exact projections.
#pragma once

#include "coterie/math/simplex.hpp"
#include "coterie/math/types.hpp"

namespace coterie {

struct SupremumSettings {
  double tolerance = 1e-4;      // done when upper - lower <= tolerance * upper
  Index max_iterations = 3000;  // then the answer has the gap that was reached
};

struct Supremum {
  double lower = 0, upper = 0;
  double slope = 0;  // mu: for a larger gamma the same proof gives upper + slope (larger - gamma)
  Matrix theta;      // T x M, where `lower` is reached
  Index iterations = 0;
  double gap() const { return upper > 0 ? (upper - lower) / upper : 0; }
};

// U: T x M, entries >= 0. gamma >= 0: 0 is one common theta, infinity a theta for every task.
Supremum largest_sum(ConstMatrixRef U, const WeightSet& D, double gamma,
                     const SupremumSettings& settings = {});

// max_{x in D} c'x.
double support(const WeightSet& D, ConstVectorRef c);

// sum_{t<s} ||theta_t - theta_s||: the spread of weights, gamma of a model.
double spread(ConstMatrixRef theta);

}  // namespace coterie
