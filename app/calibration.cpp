#include "calibration.hpp"

#include <fmt/format.h>

namespace coterie::app {

void add_calibrate(CLI::App& command, CalibrationOptions& options) {
  command
      .add_option(
          "--calibrate", options.method,
          "learn probabilities from cross-validated scores: 'platt' (a sigmoid), 'isotonic' "
          "(a monotone curve, for many samples), or 'none'; labels stay the same")
      ->type_name("TEXT")
      ->capture_default_str();
}

void add_calibration(CLI::App& command, CalibrationOptions& options) {
  add_calibrate(command, options);
  add_number(command, "--folds", options.folds, "parts of the cross-validation behind --calibrate",
             "a whole number >= 2", Index{2});
  add_seed(command, options.seed);
}

void check_calibration(const CalibrationOptions& options) {
  if (!calibration_kind_from(options.method))
    throw InputError(fmt::format("--calibrate is '{}'; it must be 'none', 'platt' or 'isotonic'.",
                                 options.method));
}

void require_calibration(const Model& model, const std::string& path, const std::string& option) {
  if (has_calibration(model)) return;
  throw InputError(
      fmt::format("{}: the model {} is not calibrated: it has scores, but no probabilities. Train "
                  "it with them: coterie train ... --calibrate platt",
                  option, path));
}

CalibrationSettings settings_of(const CalibrationOptions& options) {
  return {*calibration_kind_from(options.method), options.folds,
          static_cast<std::uint64_t>(options.seed)};
}

}  // namespace coterie::app
