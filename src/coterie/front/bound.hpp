// The front door: bound. What a fitted model is guaranteed on new data (bound/bound.hpp, docs/bound.md).
#pragma once

#include <optional>

#include "coterie/bound/bound.hpp"
#include "coterie/front/run.hpp"

namespace coterie {

// The corrected bound on the pooled error of a model, from the data that it was trained on, next to the published one. Of an extended
// model this is about the tasks that were trained first. run.share is told about blocks of signs and draws; nothing when it was stopped.
// Throws InputError for other data and for methods without kernel weights of single tasks.
std::optional<Bound> bound(const Model& model, const Dataset& data,
                           const BoundSettings& settings = {}, const Run& run = {},
                           const PrecomputedMatrices& precomputed = {});

}  // namespace coterie
