// New tasks u beside kernel weights a that stay as they are. docs/maths.md (53), (54).
//
//   minimise   sum_u J_u(theta_u)  +  lambda sum_i w_i ||theta_t - theta_s||        theta_u in D                           (53)
//
// edge i = (t, s), t an anchor or a new task, s a new task. As in the joint problem (fit.hpp), whatever produced the numbers,
//
//   primal(theta, w, b)  >=  optimum  >=  dual(alpha, nu),       ||nu_i|| <= lambda w_i,
//   dual(alpha, nu) = sum_u [ 1'alpha_u + min_{theta in D} (c_u - 1/2 S_u(alpha_u))'theta ] + sum over edges to anchors of nu_i'a,    (54)
//
// c_u the sum of nu_i over the edges where u comes first minus that where it comes last. Method: proximal Newton steps, each minimising
// the quadratic model of the J_u plus the penalty, (55) (newton.hpp, theta_step.hpp).
#pragma once

#include "coterie/mtmkl/newton.hpp"

namespace coterie {

struct AnchoredTasks {
  const std::vector<TaskGrams>& grams;  // [u]
  const std::vector<Vector>& y;         // [u]
  const std::vector<Vector>& C;         // [u]
  double lambda =
      0;  // infinite: every new task has an edge to an anchor, and all of a part to the same
  const Matrix& anchors;   // A x M, all different
  const TaskGraph& graph;  // points 0 .. A-1 are the anchors, A + u is new task u; weights > 0
  WeightSet weights;       // D
};

// The points of its groups are those of the graph; nu has no rows where lambda is 0 or infinite.
NewtonResult fit_to_anchors(const AnchoredTasks& problem, const FitSettings& settings,
                            const ProgressCallback& progress = {});

}  // namespace coterie
