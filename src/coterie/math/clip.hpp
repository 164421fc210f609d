// The clip problem and the squared box norm, docs/methods.md (3), (4).
#pragma once

#include "coterie/math/types.hpp"

namespace coterie {

// A box with a budget: alpha <= l_i <= beta, sum l_i <= budget. beta may be infinite, alpha may be 0.
struct Box {
  double alpha = 0, beta = 1, budget = 1;
};

// argmin sum_i sigma_i^2 / l_i over the box, sigma >= 0 (0/0 = 0): l_i = clip(kappa sigma_i, alpha, beta).
Vector clip_weights(ConstVectorRef sigma, const Box& box);

// Theta(x) = min over the box of sum x_i^2 / l_i, and its conjugate  max <z, x> - Theta(x) = 1/4 max over the box of sum l_i z_i^2.
double box_norm_squared(ConstVectorRef x, const Box& box);
double box_norm_conjugate(ConstVectorRef z, const Box& box);

// argmin_v  1/2 ||v - x||^2 + (mu/2) Theta(v).
Vector prox_box_norm(ConstVectorRef x, double mu, const Box& box);

}  // namespace coterie
