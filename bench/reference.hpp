// LIBSVM, to compare with, on a given kernel matrix.
#pragma once

#include "coterie/math/types.hpp"

namespace coterie::bench {

struct ReferenceRun {
  double seconds = 0;    // of svm_train alone
  double objective = 0;  // dual value, recomputed
};

// Precomputed kernel; cache large enough for the whole matrix.
ReferenceRun libsvm_on_matrix(ConstMatrixRef K, ConstVectorRef y, double C, double epsilon);

}  // namespace coterie::bench
