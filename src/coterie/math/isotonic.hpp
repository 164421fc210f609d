// Pool adjacent violators.
#pragma once

#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// argmin_x sum_i weight_i (x_i - z_i)^2 with x_1 <= x_2 <= ..; `first` says where every block of equal values begins, increasing from 0.
struct Isotonic {
  Vector x;
  std::vector<Index> first;
};
Isotonic isotonic_regression(ConstVectorRef z, ConstVectorRef weight);

}  // namespace coterie
