// The relative gap of a model, docs/maths.md (5), in 113 bits of precision and straight from its definition: what the bounds of the solver and of the checker
// are tested against.
#pragma once

#include "coterie/model/model.hpp"

namespace coterie {

double exact_gap(const Model& model, const Dataset& data);

}  // namespace coterie
