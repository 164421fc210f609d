// Probabilities for a fitted model. They stand beside the fit: no label, weight or proof depends on them.
#pragma once

#include <vector>

#include "coterie/model/model.hpp"
#include "coterie/stats/calibration.hpp"

namespace coterie {

// Fits every task's calibration to decision values of its training samples, [task], in their order, by models that were not trained on
// them (cross-validation), and their labels y. Kind `none` takes the calibration away. Throws InputError when the lists are not those
// of the model's tasks.
void calibrate(Model& model, const std::vector<Vector>& scores, const std::vector<Vector>& y,
               Calibration::Kind kind);

}  // namespace coterie
