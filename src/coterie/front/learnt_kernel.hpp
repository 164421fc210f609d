// The front door: the kernel that was learnt, for use elsewhere.
#pragma once

#include "coterie/model/model.hpp"

namespace coterie {

// Values between rows of A and rows of B (features of the data, not scaled): sum_m weights^m / divisor_m k_m(a, b), with the weights of a task
// (TaskModel::theta) or a mean of several. Throws InputError for models without kernels, with precomputed ones, and with a first stage, whose
// scores of a row depend on the task that asks.
Matrix learnt_kernel(const Model& model, ConstVectorRef weights, ConstMatrixRef A, ConstMatrixRef B,
                     int threads = 0);

}  // namespace coterie
