// From complexities to bounds on the pooled error, docs/bound.md (4), (16), (18).
#pragma once

#include <vector>

#include "coterie/bound/bound.hpp"

namespace coterie {

// One of the classes that hold the model. Its complexity is `unit` per sqrt(R); where that is a mean over draws, `drawn` times
// sqrt(log(1/delta')) bounds its error with probability 1 - delta', (16).
struct ClassCost {
  double unit = 0;
  double drawn = 0;
  double share = 1;  // of delta, for the spread of its weights
};

struct GuaranteeProblem {
  Vector margins;  // y f(x) of all samples
  double R = 0, largest_bias = 0;
  double bias_unit = 0;  // complexity of biases of size 1
  double row_weight =
      0;  // sqrt(sum of squared uses of rows) / N: 1 / sqrt(N) where no row is shared
  Margin margin = {};
};

// The smallest bound over the classes and the margins, and the interval that two such bounds give at delta / 2 each.
Guarantee best_guarantee(const GuaranteeProblem& problem, const std::vector<ClassCost>& classes,
                         double delta);

// As printed: log(1/delta), R and gamma as if they had been given, no bias.
Guarantee published_guarantee(const GuaranteeProblem& problem, double complexity, double delta);

// Means over the samples: min(1, max(0, 1 - m/rho)), at least the error; and min(1, max(0, -m/rho)), at most the error.
double margin_error(ConstVectorRef margins, double rho);
double sure_error(ConstVectorRef margins, double rho);

}  // namespace coterie
