// Probabilities of a model, learnt from cross-validated decision values. The fit, and with it every predicted label, stays as it is.
#pragma once

#include <string>

#include "coterie/model/model.hpp"
#include "problem.hpp"
#include "progress.hpp"

namespace coterie::app {

struct CalibrationOptions {
  std::string method = "none";
  Index folds = 5;
  Index seed = 1;
  bool wanted() const { return method != "none"; }
};
void add_calibrate(CLI::App& command, CalibrationOptions& options);    // --calibrate alone
void add_calibration(CLI::App& command, CalibrationOptions& options);  // with --folds and --seed
void check_calibration(const CalibrationOptions& options);

// `data` is what the model was trained on, unscaled. False when it was stopped and the model stays without.
bool calibrate_model(Model& model, const Dataset& data, const Settings& settings,
                     const Extras& extras, const CalibrationOptions& options,
                     const ProblemOptions& problem, Monitor& monitor);

}  // namespace coterie::app
