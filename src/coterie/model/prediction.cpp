#include "coterie/model/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "coterie/data/names.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/model/first_stage.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/mtmkl/group_list.hpp"

namespace coterie {
namespace {

constexpr Index chunk_rows = 2048;  // scored at a time, to bound the memory of kernel values

std::vector<PartPredictions> parts_of(const Model& model) {
  std::vector<PartPredictions> parts;
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const TaskModel& task = model.tasks[t];
    const std::string& name = model.casting == Casting::binary ? task.name : task.part;
    auto part = std::ranges::find(parts, name, &PartPredictions::name);
    if (part == parts.end())
      part = parts.insert(parts.end(), PartPredictions{name, {}, {}, {}, {}, {}, {}, false});
    part->tasks.push_back(static_cast<Index>(t));
  }
  return parts;
}

// Where rows go that say nothing of a task: to what was trained on such rows, or to the only part. Past the end if there is neither.
Index nameless_part(const Model& model, const std::vector<PartPredictions>& parts) {
  const auto is_nameless = [&](const PartPredictions& part) {
    return model.tasks[static_cast<std::size_t>(part.tasks.front())].part.empty();
  };
  if (parts.size() == 1) return 0;
  if (std::ranges::count_if(parts, is_nameless) != 1) return std::ssize(parts);
  return std::ranges::find_if(parts, is_nameless) - parts.begin();
}

// The tasks that score rows of an unknown one.
std::vector<Index> tasks_of_new(const Model& model, const NewTask& new_task) {
  const auto fail = [&](const std::string& why) {
    throw InputError(fmt::format("`new_task` is '{}'; {}", text_of(new_task), why));
  };
  std::vector<Index> tasks;
  if (model.casting != Casting::binary)
    fail(fmt::format("it is for binary models, but this one is {}.", to_string(model.casting)));
  if (new_task.kind == NewTask::Kind::common) {
    for (std::size_t t = 0; t < model.tasks.size(); ++t) tasks.push_back(static_cast<Index>(t));
  } else if (new_task.kind == NewTask::Kind::group) {
    const Groups groups = listed(model.groups());
    if (new_task.number < 1 || new_task.number > std::ssize(groups))
      fail(fmt::format("the model has the groups 1 to {} (see: coterie inspect).", groups.size()));
    tasks = groups[static_cast<std::size_t>(new_task.number - 1)];
  } else {
    for (const std::vector<Index>& group : model.groups())
      for (const Index t : group)
        if (model.tasks[static_cast<std::size_t>(t)].name == new_task.name) tasks = group;
    std::vector<std::string> names;
    for (const TaskModel& task : model.tasks) names.push_back(task.name);
    if (tasks.empty())
      fail(fmt::format("the model does not know that task. It knows: {}.", list_names(names)));
  }
  const TaskModel& first = model.tasks[static_cast<std::size_t>(tasks.front())];
  for (const Index t : tasks) {
    const TaskModel& task = model.tasks[static_cast<std::size_t>(t)];
    if (task.negative != first.negative || task.positive != first.positive)
      fail(fmt::format(
          "but task '{}' has the labels {} and {}, task '{}' has {} and {}: their scores have no "
          "mean. Choose tasks with the same labels.",
          first.name, first.negative, first.positive, task.name, task.negative, task.positive));
  }
  return tasks;
}

void assign_rows(const Model& model, const Samples& samples, const std::string& source,
                 const NewTask& new_task, Predictions& out) {
  const bool is_refused = new_task.kind == NewTask::Kind::refused;
  std::vector<std::string> names;
  for (const PartPredictions& part : out.parts) names.push_back(part.name);
  const std::vector<std::string> known = names;
  const auto add_new = [&](const std::string& name) {
    names.push_back(name);
    out.parts.push_back({name, tasks_of_new(model, new_task), {}, {}, {}, {}, {}, true});
  };
  const Index nameless = nameless_part(model, out.parts);
  // Trained without a task column, a model does not look at one.
  const bool by_name =
      !samples.task.empty() && !(names.size() == 1 && model.tasks.front().part.empty());
  if (!by_name && nameless == std::ssize(names)) {
    if (is_refused)
      throw InputError(
          fmt::format("{}: there is no task column, but the model has {} tasks ({}). Add a column "
                      "'{}', or name it with `task`.",
                      source, names.size(), list_names(names),
                      model.columns.task.empty() ? "task" : model.columns.task));
    add_new("new");
  }
  for (Index i = 0; i < samples.X.rows(); ++i) {
    Index p = nameless;
    if (by_name) {
      const std::string& name =
          samples.tasks[static_cast<std::size_t>(samples.task[static_cast<std::size_t>(i)])];
      p = std::ranges::find(names, name) - names.begin();
      if (p == std::ssize(names)) {
        if (is_refused)
          throw InputError(fmt::format(
              "{}: row {} has task '{}', which the model does not know. It knows: {}. {} its rows "
              "by "
              "tasks like it with `new_task`.",
              source, i + 1, name, list_names(known),
              model.settings.method->is_main() ? "Add the task with: coterie extend, or score"
                                               : "Score"));
        add_new(name);
      }
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

// `all` rows may have the scores of the first stage already.
void score(const Model& model, const Matrix& all, const PrecomputedMatrices& cross,
           const Piece& piece, PartPredictions& part) {
  const std::vector<Index> rows(part.rows.begin() + piece.start,
                                part.rows.begin() + piece.start + piece.count);
  PrecomputedMatrices values;
  for (const auto& [name, matrix] : cross) values[name] = matrix(rows, Eigen::all);
  const Matrix X = all(rows, Eigen::all);
  const Index t = part.tasks[static_cast<std::size_t>(piece.column)];
  part.scores.col(piece.column).segment(piece.start, piece.count) =
      X.cols() == std::ssize(model.features) ? second_stage_values(model, t, X, values)
                                             : decision_values(model, t, X, values);
}

// Rows with the scores of the first stage, where those do not depend on the task that asks.
Matrix scored_once(const Model& model, const Matrix& X, int threads) {
  if (!model.first_stage || model.casting == Casting::binary) return X;
  Matrix out(X.rows(), std::ssize(model.features));
  parallel_for((X.rows() + chunk_rows - 1) / chunk_rows, threads, [&](Index c) {
    const Index start = c * chunk_rows;
    const Index count = std::min(chunk_rows, X.rows() - start);
    out.middleRows(start, count) = with_scores(*model.first_stage, -1, X.middleRows(start, count));
  });
  return out;
}

void check_cross(const Model& model, const Samples& samples, const PrecomputedMatrices& cross) {
  for (const auto& [name, matrix] : cross) {
    if (matrix.rows() == samples.X.rows() && matrix.cols() == model.training_rows) continue;
    throw InputError(
        fmt::format("`precomputed` {}: the matrix is {} x {}; it must have a row for each of the "
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
    static_cast<TaskId&>(voters.tasks.back()) = task;
    if (calibrated) voters.tasks.back().calibration = task.calibration;
  }
  for (const std::string& name : model.classes) {
    const auto has = [&](const TaskModel& task) {
      return task.positive == name ||
             (model.casting == Casting::one_vs_one && task.negative == name);
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
  for (const Index c : vote(voters, part.scores)) {
    const std::string& name = voters.classes[static_cast<std::size_t>(c)];
    part.label.push_back(name);
    part.printed.push_back(std::ranges::find(model.classes, name) - model.classes.begin());
  }
}

}  // namespace

std::string text_of(const NewTask& task) {
  switch (task.kind) {
    case NewTask::Kind::refused:
      break;
    case NewTask::Kind::group:
      return fmt::format("group:{}", task.number);
    case NewTask::Kind::task:
      return "task:" + task.name;
    case NewTask::Kind::common:
      return "common";
  }
  return "";
}

bool read_text(std::string_view text, NewTask& task) {
  constexpr std::string_view group = "group:", name = "task:";
  Index number = 0;
  if (text.empty())
    task = {};
  else if (text == "common")
    task = NewTask::common();
  else if (text.starts_with(name))
    task = NewTask::like(std::string(text.substr(name.size())));
  else if (text.starts_with(group) && read_text(text.substr(group.size()), number))
    task = NewTask::of_group(number);
  else
    return false;
  return true;
}

const std::string& Predictions::label(Index row) const {
  const auto& [part, position] = place[static_cast<std::size_t>(row)];
  return parts[static_cast<std::size_t>(part)].label[static_cast<std::size_t>(position)];
}

double Predictions::score(Index row) const {
  const auto& [number, position] = place[static_cast<std::size_t>(row)];
  const PartPredictions& part = parts[static_cast<std::size_t>(number)];
  return part.scores.cols() == 1 ? part.scores(position, 0)
                                 : std::numeric_limits<double>::quiet_NaN();
}

double Predictions::probability(Index row) const {
  const auto& [number, position] = place[static_cast<std::size_t>(row)];
  const PartPredictions& part = parts[static_cast<std::size_t>(number)];
  if (!has_probability(part)) return std::numeric_limits<double>::quiet_NaN();
  return part.probability(
      position, part.printed.empty() ? 1 : part.printed[static_cast<std::size_t>(position)]);
}

Predictions predict(const Model& model, const Samples& samples, const PredictSettings& settings) {
  const PrecomputedMatrices& cross = settings.precomputed;
  const NewTask& new_task = settings.new_task;
  const std::string& source = settings.source;
  check_cross(model, samples, cross);
  if (new_task.kind != NewTask::Kind::refused)
    tasks_of_new(model, new_task);  // a wrong one is said, needed or not
  Predictions out;
  out.parts = parts_of(model);
  assign_rows(model, samples, source, new_task, out);
  std::vector<Piece> pieces;
  for (std::size_t p = 0; p < out.parts.size(); ++p) {
    PartPredictions& part = out.parts[p];
    const Index rows = std::ssize(part.rows);
    part.scores.resize(rows, std::ssize(part.tasks));
    for (Index c = 0; c < part.scores.cols(); ++c)
      for (Index start = 0; start < rows; start += chunk_rows)
        pieces.push_back({p, c, start, std::min(chunk_rows, rows - start)});
  }
  const Matrix rows = scored_once(model, samples.X, settings.threads);
  std::atomic<Index> done = 0;
  if (settings.progress) settings.progress(0, std::ssize(pieces));
  parallel_for(std::ssize(pieces), settings.threads, [&](Index i) {
    const Piece& piece = pieces[static_cast<std::size_t>(i)];
    score(model, rows, cross, piece, out.parts[piece.part]);
    if (settings.progress) settings.progress(++done, std::ssize(pieces));
  });
  for (const PartPredictions& part : out.parts)
    for (Index i = 0; i < part.scores.rows(); ++i)
      if (!part.scores.row(i).allFinite())
        throw InputError(
            fmt::format("{}: the score of row {} is too large for a number. Look at its features; "
                        "they are far from those of the training rows.",
                        source, part.rows[static_cast<std::size_t>(i)] + 1));
  for (PartPredictions& part : out.parts) {
    const bool calibrated = std::ranges::all_of(part.tasks, [&](Index t) {
      return is_calibrated(model.tasks[static_cast<std::size_t>(t)]);
    });
    if (calibrated) part.probability = probabilities_of(model, part, true);
    if (part.averaged) part.scores = Matrix(part.scores.rowwise().mean());
    name_labels(model, part);
  }
  return out;
}

std::vector<std::string> labels_of(const Model& model, const PartPredictions& part) {
  if (model.casting != Casting::binary) return model.classes;
  const TaskModel& task = model.tasks[static_cast<std::size_t>(part.tasks.front())];
  return {task.negative, task.positive};
}

Matrix probabilities_of(const Model& model, const PartPredictions& part, bool calibrated) {
  if (model.casting == Casting::binary) {
    Vector positive = Vector::Zero(part.scores.rows());
    for (Index c = 0; c < part.scores.cols(); ++c) {
      const TaskModel& task =
          model.tasks[static_cast<std::size_t>(part.tasks[static_cast<std::size_t>(c)])];
      positive += probabilities(calibrated ? task.calibration : Calibration{}, part.scores.col(c));
    }
    Matrix both(positive.size(), 2);
    both.col(1) = positive / static_cast<double>(part.scores.cols());
    both.col(0) = 1 - both.col(1).array();
    return both;
  }
  const Model voters = voters_of(model, part, calibrated);
  const Matrix known = label_probabilities(voters, part.scores);
  Matrix all = Matrix::Zero(known.rows(), std::ssize(model.classes));
  for (Index c = 0; c < known.cols(); ++c) {
    const std::string& name = voters.classes[static_cast<std::size_t>(c)];
    all.col(std::ranges::find(model.classes, name) - model.classes.begin()) = known.col(c);
  }
  return all;
}

}  // namespace coterie
