#include "coterie/model/calibrate.hpp"

#include <fmt/format.h>

namespace coterie {

void calibrate(Model& model, const std::vector<Vector>& scores, const std::vector<Vector>& y,
               Calibration::Kind kind) {
  if (scores.size() != model.tasks.size() || y.size() != model.tasks.size())
    throw InputError(fmt::format(
        "Calibration got scores of {} tasks and labels of {}, but the model has {} tasks.",
        scores.size(), y.size(), model.tasks.size()));
  std::vector<Calibration> fitted;
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const TaskModel& task = model.tasks[t];
    if (scores[t].size() != task.n || y[t].size() != task.n)
      throw InputError(fmt::format(
          "Calibration got {} scores and {} labels for task '{}', which has {} samples.",
          scores[t].size(), y[t].size(), task.name, task.n));
    fitted.push_back(fit_calibration(kind, scores[t], y[t]));
  }
  for (std::size_t t = 0; t < model.tasks.size(); ++t)
    model.tasks[t].calibration = std::move(fitted[t]);
}

}  // namespace coterie
