// The theta step (23) where kernels are many and p = 1: nearly all of them have no weight, so it is solved on those that may have some.
//
//   B_t = sum of R'R + mu I,     R the roots of the Hessians of its tasks, free support vectors x M
//
// A kernel m outside the set has weight 0 in every task. It may stay there if no task gains by it,
//
//   r_t^m >= min over the set of r_t,     r = c + B theta + pull of the pair duals,
//
// and what it would gain, sum_t (min over the set - min over all), is what the gap (29) of the whole problem has beyond that of the set.
// Kernels that would gain join, until that is small. The matrices of the set are all that is made.
#pragma once

#include <vector>

#include "coterie/mtmkl/theta_step.hpp"

namespace coterie {

struct RootedModel {
  Matrix c;                                                // points x M
  std::vector<std::vector<const Eigen::MatrixXd*>> roots;  // [point]
  double mu = 0;
  const TaskGraph& graph;
  const Vector& kappa;
  const WeightSet& weights;
  Index fixed = 0;

  Vector times_B(Index point, const Vector& x) const;
  Matrix B(Index point, const std::vector<Index>& kernels) const;  // their rows and columns
};

ThetaResult solve_on_few_kernels(const RootedModel& model, ThetaState& state,
                                 const ThetaSettings& settings);

}  // namespace coterie
