// New tasks against a fitted model, without training it again. docs/maths.md (53)-(56).
//
// The kernel weights of the model's tasks stay, to the last bit, and draw the new ones: anchored_fit.hpp states the problem. Lambda,
// C, norm, kernels, scaling, divisors and class weights are those of the model; nothing of it is learnt anew.
// Calibrations stay with its tasks too; the new ones have none until they are learnt (front/extend.hpp).
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "coterie/model/model.hpp"
#include "coterie/mtmkl/fit.hpp"

namespace coterie {

struct ExtendSettings {
  std::optional<double> lambda = {};  // else the model's
  std::optional<double> C = {};       // of the new tasks, else the model's
  double tolerance = 1e-4;            // relative gap
  Index max_steps = 100;
  // Edges (t, s) with positive weights that lead to new tasks s, numbered behind those of the model; else all of weight 1.
  std::optional<TaskGraph> links = {};
};

// Throws InputError unless the tasks of `data`, cast as those of the model were, can be added to it: names that are new, labels that the
// model knows, features in its order, no precomputed kernels.
void check_extension(const Model& model, const Dataset& data);

// The model with the tasks of `data` (features not scaled) behind its own; a new task that has the weights of an older one belongs to
// its group. The proof is in the last of the model's extensions. `memory`: bytes for kernel values; it changes no bit. The front door to it
// is extend (front/extend.hpp).
Model fit_extension(const Model& model, Dataset data, const ExtendSettings& settings = {},
                    int threads = 0, const ProgressCallback& progress = {},
                    double memory = std::numeric_limits<double>::infinity());

}  // namespace coterie
