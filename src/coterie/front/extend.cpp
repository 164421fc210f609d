#include "coterie/front/extend.hpp"

#include <limits>
#include <utility>

#include "coterie/data/split.hpp"
#include "coterie/model/predict.hpp"

namespace coterie {

namespace {

// Bytes that the run leaves for kernel values.
double memory_for_kernels(const Run& run, const Model& model, const Dataset& data,
                          const ExtendSettings& settings) {
  const double budget = memory_budget(run);
  const MemoryPlan plan = plan_extension(model, data, settings, run.threads, budget);
  if (run.kept) run.kept(plan.keeps_all());
  if (!plan.keeps_all() && run.note) run.note(room_text(plan, budget));
  return plan.kernels;
}

}  // namespace

Model extend(const Model& model, Dataset data, const ExtendSettings& settings, const Run& run) {
  const ProgressCallback progress = watched(run);
  const double memory = memory_for_kernels(run, model, data, settings);
  if (run.phase) run.phase(Work::fitting);
  return fit_extension(model, std::move(data), settings, run.threads, progress, memory);
}

std::optional<Model> calibrate_added(Model extended, const Model& model, const Dataset& data,
                                     const ExtendSettings& settings,
                                     const CalibrationSettings& calibration, const Run& run) {
  Run quiet = run;  // the fit has told it
  quiet.note = {};
  const double memory = 0.5 * memory_for_kernels(quiet, model, data, settings);
  if (run.phase) run.phase(Work::calibrating);
  const std::vector<Split> splits = fold_tasks(data, calibration.folds, calibration.seed);
  std::vector<Vector> scores;
  for (const Task& task : data.tasks)
    scores.emplace_back(Vector::Constant(task.size(), std::numeric_limits<double>::quiet_NaN()));
  Index done = 0;
  const auto go_on = [&] { return !run.share || run.share(done, std::ssize(splits)); };
  const Index old = std::ssize(model.tasks);
  for (const Split& split : splits) {
    const Model part = fit_extension(
        model, subset(data, split.train), settings, run.threads,
        [&](const Progress&) { return go_on(); }, memory);
    ++done;
    if (part.extensions.back().certificate.status == Status::stopped || !go_on()) return {};
    for (std::size_t t = 0; t < scores.size(); ++t) {
      std::vector<Index> rows;
      for (const Index i : split.rest[t])
        rows.push_back(data.tasks[t].rows[static_cast<std::size_t>(i)]);
      if (rows.empty()) continue;
      const Matrix X = data.X(rows, Eigen::all);
      scores[t](split.rest[t]) = decision_values(part, old + static_cast<Index>(t), X);
    }
  }
  for (std::size_t t = 0; t < scores.size(); ++t)
    extended.tasks[static_cast<std::size_t>(old) + t].calibration =
        fit_calibration(calibration.kind, scores[t], data.tasks[t].y);
  return extended;
}

}  // namespace coterie
