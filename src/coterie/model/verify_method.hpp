// The separate check of the certificate of any method's model: plain loops over raw data, sharing no code with the solvers.
#pragma once

#include "coterie/model/verify.hpp"

namespace coterie {

// As verify() of model/verify.hpp, by the method's own check.
Verification verify_method(const Model& model, const Dataset& data,
                           const PrecomputedMatrices& precomputed = {},
                           const VerifyProgress& progress = {});

// The checks of methods that learn kernel weights, for the table of methods. Joint: the main method, STL and MTL; pooled: the pool is
// their one task. Of the others objective, feasible set and dual value are recomputed from their definition, docs/methods.md (21)-(23).
Verification verify_joint(const Model&, const Dataset&, const PrecomputedMatrices&,
                          const VerifyProgress&);
Verification verify_pooled(const Model&, const Dataset&, const PrecomputedMatrices&,
                           const VerifyProgress&);
Verification verify_uniform(const Model&, const Dataset&, const PrecomputedMatrices&,
                            const VerifyProgress&);
Verification verify_tang(const Model&, const Dataset&, const PrecomputedMatrices&,
                         const VerifyProgress&);
Verification verify_pareto(const Model&, const Dataset&, const PrecomputedMatrices&,
                           const VerifyProgress&);

}  // namespace coterie
