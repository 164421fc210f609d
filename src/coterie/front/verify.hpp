// The front door: verify. The certificate of a model, recomputed by separate code from the data that it was made from.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "coterie/model/train.hpp"
#include "coterie/model/verify.hpp"

namespace coterie {

// What a model was made from besides its data, where it is at hand. What is not given is taken from the model, and listed as taken.
struct VerifyInputs {
  PrecomputedMatrices precomputed = {};  // behind precomputed:FILE kernels: always needed
  std::optional<std::map<std::string, double>> task_C = {};
  std::optional<TaskGraph> task_graph = {};  // the one of train, or the links of extend
};

// What was trained first, or an extension: each has data and a certificate of its own.
struct ModelPart {
  std::optional<std::size_t> extension = {};
  Certificate stated = {};
  std::string fingerprint = {};
  Index tasks = 0;  // of the model, up to the end of this part
};

// The part that was made from this data. Throws InputError when none was.
ModelPart part_of(const Model& model, const Dataset& data);

// `data` is raw, and cast into tasks as in training. Throws InputError when it is not what the model, or one of its extensions, was made from.
Verification verify(const Model& model, const Dataset& data, const VerifyInputs& inputs = {},
                    const VerifyProgress& progress = {});

}  // namespace coterie
