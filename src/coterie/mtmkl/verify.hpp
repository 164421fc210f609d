// The separate check of a model's proof of optimality: plain loops over raw data and the definition of every kernel, sharing no
// code with the solver, the Gram matrices or BLAS. docs/maths.md (5). Scaling and divisors are recomputed too; the tasks' C and the
// task graph are part of the problem that the model states.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coterie/mtmkl/model.hpp"

namespace coterie {

struct Verification {
  double primal = 0, dual = 0, gap = 0;  // recomputed; gap relative to max(1, |primal|)
  double infeasibility =
      0;  // how far alpha, theta or nu leave their sets; 0 to rounding for a sound model
  double primal_difference = 0;  // relative difference to what the model states
  double dual_difference = 0;
  bool groups_exact = false;          // theta equal bit for bit within every group
  std::vector<std::string> findings;  // what is wrong, in words; empty for a sound model
};

// `data` is the raw training data, cast into tasks as in training. Throws InputError when it does not fit the model at all. Of an
// extended model this checks what was trained first.
using VerifyProgress = std::function<void(Index done, Index samples)>;
Verification verify(const Model& model, const Dataset& data,
                    const PrecomputedMatrices& precomputed = {},
                    const VerifyProgress& progress = {});

// The proof of one extension, from the data that it added. The weights of older tasks, the scaling and the divisors are numbers that its
// problem states.
Verification verify_extension(const Model& model, std::size_t number, const Dataset& data,
                              const VerifyProgress& progress = {});

}  // namespace coterie
