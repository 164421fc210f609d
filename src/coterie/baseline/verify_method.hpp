// The separate check of the proof of any method's model: plain loops over raw data, sharing no code with the solvers.
#pragma once

#include "coterie/mtmkl/verify.hpp"

namespace coterie {

// As verify() of mtmkl/verify.hpp, which it calls for models of the main method, STL, MTL and, the pool being their one task, pooled ones.
// Of `uniform`, `tang` and `pareto` it recomputes objective, feasible set and dual value from their definition, docs/methods.md (21)-(23).
Verification verify_method(const Model& model, const Dataset& data,
                           const PrecomputedMatrices& precomputed = {},
                           const VerifyProgress& progress = {});

}  // namespace coterie
