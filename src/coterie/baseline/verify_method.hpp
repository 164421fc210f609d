// The separate check of the proof of any method's model: plain loops over raw data, sharing no code with the solvers.
#pragma once

#include "coterie/mtmkl/verify.hpp"

namespace coterie {

// As verify() of mtmkl/verify.hpp, which it calls for models of the main method, STL and MTL.
Verification verify_method(const Model& model, const Dataset& data,
                           const PrecomputedMatrices& precomputed = {},
                           const VerifyProgress& progress = {});

}  // namespace coterie
