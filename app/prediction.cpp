#include "prediction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "coterie/data/names.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/mtmkl/predict.hpp"

namespace coterie::app {
namespace {

constexpr Index chunk_rows = 2048;  // scored at a time, to bound the memory of kernel values

// The value of the task column behind a task: "site" of "site:a|b", nothing for "a|b".
std::string part_name(const Model& model, const TaskModel& task) {
  if (model.casting == Casting::binary) return task.name;
  const std::string pair = model.casting == Casting::one_vs_one
                               ? task.negative + "|" + task.positive
                               : task.positive + "|rest";
  const std::size_t rest = task.name.size() - std::min(task.name.size(), pair.size());
  return rest == 0 ? "" : task.name.substr(0, rest - 1);
}

std::vector<PartPredictions> parts_of(const Model& model) {
  std::vector<PartPredictions> parts;
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const std::string name = part_name(model, model.tasks[t]);
    auto part = std::ranges::find(parts, name, &PartPredictions::name);
    if (part == parts.end())
      part = parts.insert(parts.end(), PartPredictions{name, {}, {}, {}, {}, {}});
    part->tasks.push_back(static_cast<Index>(t));
  }
  return parts;
}

bool without_task_column(const Model& model, const std::vector<PartPredictions>& parts) {
  return parts.size() == 1 &&
         (parts[0].name.empty() || (model.casting == Casting::binary && parts[0].name == "all"));
}

void assign_rows(const Model& model, const Samples& samples, const std::string& source,
                 Predictions& out) {
  std::vector<std::string> names;
  for (const PartPredictions& part : out.parts) names.push_back(part.name);
  const bool all_to_one =
      without_task_column(model, out.parts) || (out.parts.size() == 1 && samples.task.empty());
  if (!all_to_one && samples.task.empty())
    throw InputError(
        fmt::format("{}: there is no task column, but the model has {} tasks ({}). Add a column "
                    "'task', or name it with --task.",
                    source, names.size(), list_names(names)));
  for (Index i = 0; i < samples.X.rows(); ++i) {
    Index p = 0;
    if (!all_to_one) {
      const std::string& name =
          samples.tasks[static_cast<std::size_t>(samples.task[static_cast<std::size_t>(i)])];
      p = std::ranges::find(names, name) - names.begin();
      if (p == std::ssize(names))
        throw InputError(
            fmt::format("{}: row {} has task '{}', which the model does not know. It knows: {}.",
                        source, i + 1, name, list_names(names)));
    }
    PartPredictions& part = out.parts[static_cast<std::size_t>(p)];
    out.place.emplace_back(p, std::ssize(part.rows));
    part.rows.push_back(i);
  }
}

// A stretch of rows of one part, for one of its tasks.
struct Piece {
  std::size_t part = 0;
  Index column = 0, start = 0, count = 0;
};

void score(const Model& model, const Samples& samples, const PrecomputedMatrices& cross,
           const Piece& piece, PartPredictions& part) {
  const std::vector<Index> rows(part.rows.begin() + piece.start,
                                part.rows.begin() + piece.start + piece.count);
  PrecomputedMatrices values;
  for (const auto& [name, matrix] : cross) values[name] = matrix(rows, Eigen::all);
  const Matrix X = samples.X(rows, Eigen::all);
  part.scores.col(piece.column).segment(piece.start, piece.count) =
      decision_values(model, part.tasks[static_cast<std::size_t>(piece.column)], X, values);
}

void check_cross(const Model& model, const Samples& samples, const PrecomputedMatrices& cross) {
  for (const auto& [name, matrix] : cross) {
    if (matrix.rows() == samples.X.rows() && matrix.cols() == model.training_rows) continue;
    throw InputError(
        fmt::format("--precomputed {}: the matrix is {} x {}; it must have a row for each of the "
                    "{} new rows and a column for each of "
                    "the {} training rows.",
                    name, matrix.rows(), matrix.cols(), samples.X.rows(), model.training_rows));
  }
}

// This part's tasks and classes only, without what computed their scores.
Model voters_of(const Model& model, const PartPredictions& part, bool calibrated) {
  Model voters;
  voters.casting = model.casting;
  for (const Index t : part.tasks) {
    const TaskModel& task = model.tasks[static_cast<std::size_t>(t)];
    voters.tasks.push_back({});
    voters.tasks.back().negative = task.negative;
    voters.tasks.back().positive = task.positive;
    if (calibrated) voters.tasks.back().calibration = task.calibration;
  }
  for (const std::string& name : model.classes) {
    const auto has = [&](const TaskModel& task) {
      return task.negative == name || task.positive == name;
    };
    if (std::ranges::any_of(voters.tasks, has)) voters.classes.push_back(name);
  }
  return voters;
}

void name_labels(const Model& model, PartPredictions& part) {
  if (model.casting == Casting::binary) {
    const TaskModel& task = model.tasks[static_cast<std::size_t>(part.tasks.front())];
    for (const double f : part.scores.col(0))
      part.label.push_back(f > 0 ? task.positive : task.negative);
    return;
  }
  const Model voters = voters_of(model, part, false);
  for (const Index c : vote(voters, part.scores))
    part.label.push_back(voters.classes[static_cast<std::size_t>(c)]);
}

}  // namespace

Predictions predict_rows(const Model& model, const Samples& samples,
                         const PrecomputedMatrices& cross, int threads, const std::string& source) {
  check_cross(model, samples, cross);
  Predictions out;
  out.parts = parts_of(model);
  assign_rows(model, samples, source, out);
  std::vector<Piece> pieces;
  for (std::size_t p = 0; p < out.parts.size(); ++p) {
    PartPredictions& part = out.parts[p];
    const Index rows = std::ssize(part.rows);
    part.scores.resize(rows, std::ssize(part.tasks));
    for (Index c = 0; c < part.scores.cols(); ++c)
      for (Index start = 0; start < rows; start += chunk_rows)
        pieces.push_back({p, c, start, std::min(chunk_rows, rows - start)});
  }
  parallel_for(std::ssize(pieces), threads, [&](Index i) {
    const Piece& piece = pieces[static_cast<std::size_t>(i)];
    score(model, samples, cross, piece, out.parts[piece.part]);
  });
  for (PartPredictions& part : out.parts) {
    name_labels(model, part);
    if (is_calibrated(model)) part.probability = probabilities_of(model, part, true);
  }
  return out;
}

void require_calibration(const Model& model, const std::string& path, const std::string& option) {
  if (is_calibrated(model)) return;
  throw InputError(
      fmt::format("{}: the model {} is not calibrated: it has scores, but no probabilities. Train "
                  "it with them: coterie train ... --calibrate platt",
                  option, path));
}

std::vector<std::string> labels_of(const Model& model, const PartPredictions& part) {
  if (model.casting != Casting::binary) return model.classes;
  const TaskModel& task = model.tasks[static_cast<std::size_t>(part.tasks.front())];
  return {task.negative, task.positive};
}

Matrix probabilities_of(const Model& model, const PartPredictions& part, bool calibrated) {
  const Model voters = voters_of(model, part, calibrated);
  Matrix known = label_probabilities(voters, part.scores);
  if (model.casting == Casting::binary) return known;
  Matrix all = Matrix::Zero(known.rows(), std::ssize(model.classes));
  for (Index c = 0; c < known.cols(); ++c) {
    const std::string& name = voters.classes[static_cast<std::size_t>(c)];
    all.col(std::ranges::find(model.classes, name) - model.classes.begin()) = known.col(c);
  }
  return all;
}

}  // namespace coterie::app
