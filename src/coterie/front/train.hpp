// The front door: train and calibrate. From data and settings to a model with its certificate.
#pragma once

#include <optional>
#include <string>

#include "coterie/front/run.hpp"
#include "coterie/model/memory_plan.hpp"
#include "coterie/model/train.hpp"
#include "coterie/search/stability.hpp"

namespace coterie {

// Why the method has no meaning for the data, in a sentence; nothing where it has one. `train` says so and trains; `select` leaves the method out.
std::optional<std::string> why_not(const Method& method, const Dataset& data);

// A model whose certificate says how close it is to the optimum; where a fit was stopped or could not get closer, its status says so.
// Throws InputError for data and settings that cannot be used. Give large data away (std::move): it is scaled in place.
Model train(Dataset data, const Settings& settings = {}, const Run& run = {},
            const Extras& extras = {});

// The same, with what the solver had to say.
struct Trained {
  Model model;
  MethodFit fit;
};
Trained train_in_detail(Dataset data, const Settings& settings, const Run& run = {},
                        const Extras& extras = {});

// What a fit of the settings needs of memory. Throws InputError when it cannot fit into the budget. Notes when less than all kernel values
// are kept.
MemoryPlan plan_fit(const Dataset& data, const Settings& settings, const Run& run = {},
                    const Extras& extras = {});

// Of what a plan leaves for kernel values, what remains where so many more bytes are kept and fits run side by side on all threads, each
// with pair duals of its own. Throws InputError when nothing does.
double kernels_beside(const MemoryPlan& plan, double kept, const Run& run);

// The groups that the settings' method, one that searches for them, finds in bootstrap resamples of the data: search/stability.hpp has what
// follows from them.
Stability resample_groups(Dataset data, const Settings& settings, Index resamples,
                          std::uint64_t seed = 1, const Run& run = {}, const Extras& extras = {});
// Throws InputError unless the method is such a one.
void check_groups_are_searched(const Settings& settings);

// Says which kernels have no tail for their divisor, if there are any.
void note_bounded(const Grams& grams, const Settings& settings, const Run& run);

// Says which columns "@each" leaves out because they are constant, if there are any.
void note_constant(const Dataset& data, const Settings& settings, const Run& run);

// Probabilities, from decision values of samples by fits that did not see them. No label, weight or certificate depends on them.
struct CalibrationSettings {
  Calibration::Kind kind = Calibration::Kind::platt;
  Index folds = 5;
  std::uint64_t seed = 1;
};
// The model with calibrated tasks; `data` and `extras` are what it was trained on. Nothing when it was stopped.
std::optional<Model> calibrate(Model model, const Dataset& data,
                               const CalibrationSettings& settings = {}, const Run& run = {},
                               const Extras& extras = {});

}  // namespace coterie
