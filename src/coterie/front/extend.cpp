#include "coterie/front/extend.hpp"

#include <limits>
#include <utility>

#include "coterie/data/split.hpp"
#include "coterie/model/predict.hpp"

namespace coterie {

namespace {

// The settings with what the run allows.
ExtendSettings within(const Run& run, const Model& model, const Dataset& data,
                      ExtendSettings settings, double share) {
  settings.threads = run.threads;
  const double budget = memory_budget(run);
  const MemoryPlan plan = plan_extension(model, data, settings, budget);
  if (run.kept) run.kept(plan.keeps_all());
  if (!plan.keeps_all() && run.note) run.note(room_text(plan, budget));
  settings.memory = share * plan.kernels;
  return settings;
}

}  // namespace

Model extend(const Model& model, Dataset data, const ExtendSettings& settings, const Run& run) {
  const ProgressCallback progress = watched(run);
  const ExtendSettings how = within(run, model, data, settings, 1);
  if (run.phase) run.phase(Work::fitting);
  return extend(model, std::move(data), how, progress);
}

std::optional<Model> calibrate_added(Model extended, const Model& model, const Dataset& data,
                                     const ExtendSettings& settings,
                                     const CalibrationSettings& calibration, const Run& run) {
  Run quiet = run;  // the fit has told it
  quiet.note = {};
  const ExtendSettings how = within(quiet, model, data, settings, 0.5);
  if (run.phase) run.phase(Work::calibrating);
  const std::vector<Split> splits = fold_tasks(data, calibration.folds, calibration.seed);
  std::vector<Vector> scores;
  for (const Task& task : data.tasks)
    scores.emplace_back(Vector::Constant(task.size(), std::numeric_limits<double>::quiet_NaN()));
  Index done = 0;
  const auto go_on = [&] { return !run.share || run.share(done, std::ssize(splits)); };
  const Index old = std::ssize(model.tasks);
  for (const Split& split : splits) {
    const Model part =
        extend(model, subset(data, split.train), how, [&](const Progress&) { return go_on(); });
    ++done;
    if (part.extensions.back().certificate.status == to_string(Status::stopped) || !go_on())
      return {};
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
