#include "coterie/front/bound.hpp"

#include "coterie/math/parallel.hpp"

namespace coterie {

std::optional<Bound> bound(const Model& model, const Dataset& data, const BoundSettings& settings,
                           const Run& run, const PrecomputedMatrices& precomputed) {
  if (run.phase) run.phase(Work::preparing);
  try {
    return bound_of(model, data, settings, precomputed, run.threads, run.share);
  } catch (const Stopped&) {
    return {};
  }
}

}  // namespace coterie
