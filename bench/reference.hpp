// LIBSVM, to compare with. Seconds are those of svm_train alone: its input is built before the clock starts.
#pragma once

#include <vector>

#include "coterie/math/types.hpp"

namespace coterie::bench {

struct ReferenceRun {
  double seconds = 0;
  Vector beta;  // y_i alpha_i
  double bias = 0;
};

inline constexpr double libsvm_epsilon = 1e-3;  // its default stopping tolerance

// Precomputed kernel; cache large enough for the whole matrix.
ReferenceRun libsvm_on_matrix(ConstMatrixRef K, ConstVectorRef y, double C, double epsilon);

// LIBSVM as it comes: Gaussian kernel exp(-gamma |x - z|^2) with gamma = 1 / number of features, eps 1e-3, cache of 100 MB, from
// sparse rows without their zeros.
ReferenceRun libsvm_on_features(ConstMatrixRef X, const std::vector<Index>& rows, ConstVectorRef y,
                                double C);

}  // namespace coterie::bench
