// The separate check of linear models: losses, penalties, conjugates and the dual value by plain loops over raw data.
// docs/methods.md says what is recomputed for which claim. Models on mapped features are checked on the map of the raw data.
#pragma once

#include "coterie/model/verify.hpp"

namespace coterie {

Verification verify_cmtl(const Model&, const Dataset&, const PrecomputedMatrices&,
                         const VerifyProgress&);
Verification verify_whom(const Model&, const Dataset&, const PrecomputedMatrices&,
                         const VerifyProgress&);
Verification verify_flexclus(const Model&, const Dataset&, const PrecomputedMatrices&,
                             const VerifyProgress&);
Verification verify_coclus(const Model&, const Dataset&, const PrecomputedMatrices&,
                           const VerifyProgress&);
Verification verify_metag(const Model&, const Dataset&, const PrecomputedMatrices&,
                          const VerifyProgress&);

}  // namespace coterie
