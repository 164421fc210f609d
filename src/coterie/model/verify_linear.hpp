// The separate check of linear models: losses, penalties, conjugates and the dual value by plain loops over raw data.
#pragma once

#include "coterie/model/method.hpp"
#include "coterie/model/verify.hpp"

namespace coterie {

// docs/methods.md says what is recomputed for which claim. Models on mapped features are checked on the map of the raw data.
Verification verify_linear(const Model& model, const Dataset& data,
                           const PrecomputedMatrices& precomputed = {},
                           const VerifyProgress& progress = {});

}  // namespace coterie
