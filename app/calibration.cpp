#include "calibration.hpp"

#include <fmt/format.h>

#include "coterie/model/calibrate.hpp"
#include "coterie/search/cross_validation.hpp"

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

bool calibrate_model(Model& model, const Dataset& data, const Settings& settings,
                     const Extras& extras, const CalibrationOptions& options,
                     const ProblemOptions& problem, Monitor& monitor) {
  if (interrupted() || monitor.timed_out()) return false;
  SearchData search{data, settings, extras, settings.C, Storage::on_demand, problem.threads};
  search.storage = storage_within(search, options.folds, 0.5 * memory_budget(problem));
  search.memory = 0.5 * plan_fit(problem, settings, extras, data, true).kernels;
  monitor.phase("calibrating");
  const std::vector<Vector> scores = cross_validated_scores(
      search, fold_tasks(data, options.folds, static_cast<std::uint64_t>(options.seed)),
      [&](Index done, Index folds) { return monitor.share(done, folds, "folds"); });
  if (scores.empty()) return false;
  std::vector<Vector> y;
  for (const Task& task : data.tasks) y.push_back(task.y);
  calibrate(model, scores, y, *calibration_kind_from(options.method));
  return true;
}

}  // namespace coterie::app
