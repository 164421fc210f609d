// LIBSVM, to compare with: on a given kernel matrix, or from features with one Gaussian.
#pragma once

#include "coterie/math/types.hpp"

namespace coterie::bench {

struct ReferenceRun {
  double seconds = 0;    // of svm_train alone
  double objective = 0;  // dual value, recomputed
};

// Precomputed kernel; cache large enough for the whole matrix.
ReferenceRun libsvm_on_matrix(ConstMatrixRef K, ConstVectorRef y, double C, double epsilon);

// One Gaussian of width 1/sqrt(2 gamma) from features, LIBSVM's own kernel code and default cache and stopping rule.
double libsvm_on_features(ConstMatrixRef X, ConstVectorRef y, double C, double gamma);

}  // namespace coterie::bench
