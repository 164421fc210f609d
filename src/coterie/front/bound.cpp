#include "coterie/front/bound.hpp"

#include "coterie/math/parallel.hpp"
#include "coterie/model/verify.hpp"

namespace coterie {

std::optional<Bound> bound(const Model& model, const Dataset& data, const BoundSettings& settings,
                           const Run& run, const PrecomputedMatrices& precomputed) {
  if (run.phase) run.phase(Work::preparing);
  // The fingerprint of the data does not know the matrices of precomputed kernels: the certificate does.
  if (!precomputed.empty() && !verify_training(model, data, precomputed).holds())
    throw InputError(
        "the certificate of the model does not hold with these precomputed matrices; give those "
        "that it was trained with.");
  try {
    return bound_of(model, data, settings, precomputed, run.threads, run.share);
  } catch (const Stopped&) {
    return {};
  }
}

}  // namespace coterie
