// The separate checks of methods that learn kernel weights: plain loops over raw data, sharing no code with the solvers.
#pragma once

#include "coterie/model/verify.hpp"

namespace coterie {

// The checks of methods that learn kernel weights, for the table of methods. Joint: the main method, STL and MTL; pooled: the pool is
// their one task; own parts: the same, and the tasks' functions are what its alphas give. Of the others objective, feasible set and dual value are recomputed from their definition, docs/methods.md (8)-(10).
Verification verify_joint(const Model&, const Dataset&, const PrecomputedMatrices&,
                          const VerifyProgress&);
Verification verify_pooled(const Model&, const Dataset&, const PrecomputedMatrices&,
                           const VerifyProgress&);
Verification verify_own_parts(const Model&, const Dataset&, const PrecomputedMatrices&,
                              const VerifyProgress&);
Verification verify_uniform(const Model&, const Dataset&, const PrecomputedMatrices&,
                            const VerifyProgress&);
Verification verify_tang(const Model&, const Dataset&, const PrecomputedMatrices&,
                         const VerifyProgress&);
Verification verify_pareto(const Model&, const Dataset&, const PrecomputedMatrices&,
                           const VerifyProgress&);

}  // namespace coterie
