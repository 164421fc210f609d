// Random linear problems for tests: tasks alike, features correlated so that one direction has most of the variance.
#pragma once

#include <utility>

#include "coterie/baseline/linear.hpp"
#include "coterie/math/random.hpp"

namespace coterie {

inline LinearProblem random_linear(std::uint64_t seed, Index T, Index n, Index d, Loss loss) {
  Random random(seed);
  LinearProblem problem;
  problem.loss = loss;
  Vector common(d);
  for (double& v : common) v = random.normal();
  for (Index t = 0; t < T; ++t) {
    Vector w = common;
    for (double& v : w) v += 0.5 * random.normal();
    Matrix X(n, d);
    Vector y(n);
    for (Index i = 0; i < n; ++i) {
      const double factor = 2 * random.normal();
      for (Index j = 0; j < d; ++j) X(i, j) = 0.5 + factor + random.normal();
      y[i] = i == 0 ? 1 : i == 1 ? -1 : X.row(i).dot(w) + random.normal() > 0 ? 1 : -1;
    }
    problem.X.push_back(std::move(X));
    problem.y.push_back(std::move(y));
    problem.c.push_back(Vector::Constant(n, 1 / static_cast<double>(n)));
  }
  return problem;
}

}  // namespace coterie
