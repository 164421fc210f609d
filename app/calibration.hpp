// Probabilities of a model, learnt from cross-validated decision values. The fit, and with it every predicted label, stays as it is.
#pragma once

#include <string>

#include "coterie/front/train.hpp"
#include "options.hpp"

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

// Throws InputError that says how to get a calibrated model, unless some task of this one is. `option` needs it.
void require_calibration(const Model& model, const std::string& path, const std::string& option);

// What is said where it was stopped.
inline constexpr const char* without_probabilities =
    "stopped before probabilities were learnt; the model has none.";

CalibrationSettings settings_of(const CalibrationOptions& options);

}  // namespace coterie::app
