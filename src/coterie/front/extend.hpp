// The front door: extend. New tasks against a fitted model, whose own tasks stay as they are.
#pragma once

#include <optional>

#include "coterie/front/train.hpp"
#include "coterie/model/extend.hpp"

namespace coterie {

// The model with the tasks of `data` behind its own (model/extend.hpp). Notes when less than all kernel values are kept. Throws InputError
// for data that cannot be added, and when the memory budget is too small.
Model extend(const Model& model, Dataset data, const ExtendSettings& settings = {},
             const Run& run = {});

// `extended`, the model that extend made of `model` and `data`, with probabilities for its new tasks: from decision values of their
// samples by extensions that did not see them. Calibrations of older tasks stay. Nothing when it was stopped.
std::optional<Model> calibrate_added(Model extended, const Model& model, const Dataset& data,
                                     const ExtendSettings& settings,
                                     const CalibrationSettings& calibration = {},
                                     const Run& run = {});

}  // namespace coterie
