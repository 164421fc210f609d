#include "coterie/model/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/data/names.hpp"

namespace coterie {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

Vector as_vector(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), std::ssize(values));
}

// The true label of every row of a part, as an index into labels_of(part).
std::vector<Index> true_labels(const Model& model, const Samples& samples,
                               const PartPredictions& part, const std::string& source) {
  const std::vector<std::string> known = labels_of(model, part);
  std::vector<Index> numbers;
  for (const Index row : part.rows) {
    const std::string& label =
        samples.labels[static_cast<std::size_t>(samples.label[static_cast<std::size_t>(row)])];
    const auto found = std::ranges::find(known, label);
    if (found == known.end())
      throw InputError(
          fmt::format("{}: row {} has label '{}', which the model does not know. It knows: {}.",
                      source, row + 1, label, list_names(known)));
    numbers.push_back(found - known.begin());
  }
  return numbers;
}

// +1, -1, or 0 when a row of this label is no sample of the task.
int sign_of(const Model& model, const TaskModel& task, const std::string& label) {
  if (label == task.positive) return 1;
  return model.casting == Casting::one_vs_rest || label == task.negative ? -1 : 0;
}

// Of decision values f and, unless there are none, probabilities p.
TaskScores score_task(const std::string& name, const Vector& f, const Vector& p, const Vector& y) {
  TaskScores out{name, f.size(), count_errors(f, y), {}};
  out.scores = {accuracy(f, y), balanced_accuracy(f, y), auc(f, y), undefined, undefined,
                undefined};
  if (p.size() == 0) return out;
  out.scores.log_loss = log_loss(p, y);
  out.scores.uncalibrated_log_loss = log_loss(probabilities({}, f), y);
  out.scores.brier_score = brier_score(p, y);
  return out;
}

// The scores of the c-th task of a part, on the rows whose label it is about.
TaskScores score_column(const Model& model, const PartPredictions& part, std::size_t c,
                        const std::vector<Index>& truth) {
  const TaskModel& task = model.tasks[static_cast<std::size_t>(part.tasks[c])];
  std::vector<int> sign;
  for (const std::string& label : labels_of(model, part))
    sign.push_back(sign_of(model, task, label));
  std::vector<double> f;
  std::vector<double> y;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const int side = sign[static_cast<std::size_t>(truth[i])];
    if (side == 0) continue;
    f.push_back(part.scores(static_cast<Index>(i), static_cast<Index>(c)));
    y.push_back(side);
  }
  const Vector scores = as_vector(f);
  const Vector p = is_calibrated(task) ? probabilities(task.calibration, scores) : Vector(0);
  return score_task(task.name, scores, p, as_vector(y));
}

// The scores of a task that the model does not know.
TaskScores score_averaged(const PartPredictions& part, const std::vector<Index>& truth) {
  Vector y(std::ssize(truth));
  for (std::size_t i = 0; i < truth.size(); ++i) y[static_cast<Index>(i)] = truth[i] == 1 ? 1 : -1;
  const Vector p = has_probability(part) ? Vector(part.probability.col(1)) : Vector(0);
  return score_task(part.name, part.scores.col(0), p, y);
}

Scores mean_scores(const std::vector<TaskScores>& tasks) {
  Scores mean;
  for (const ScoreField& field : score_fields) {
    double sum = 0;
    double count = 0;
    for (const TaskScores& task : tasks) {
      const double score = task.scores.*field.value;
      if (std::isnan(score)) continue;
      sum += score;
      ++count;
    }
    mean.*field.value = count > 0 ? sum / count : undefined;
  }
  return mean;
}

std::vector<std::string> all_labels(const Model& model) {
  if (model.casting != Casting::binary) return model.classes;
  std::vector<std::string> labels;
  for (const TaskModel& task : model.tasks)
    for (const std::string& label : {task.negative, task.positive})
      if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
  return labels;
}

void score_labels(const Model& model, const Samples& samples, const Predictions& predictions,
                  Evaluation& out) {
  const std::vector<std::string> labels = all_labels(model);
  const auto number_of = [&](const std::string& label) {
    return std::ranges::find(labels, label) - labels.begin();
  };
  out.confusion = Matrix::Zero(std::ssize(labels), std::ssize(labels));
  for (const PartPredictions& part : predictions.parts) {
    for (std::size_t i = 0; i < part.rows.size(); ++i) {
      const std::string& label = samples.labels[static_cast<std::size_t>(
          samples.label[static_cast<std::size_t>(part.rows[i])])];
      ++out.confusion(number_of(label), number_of(part.label[i]));
    }
  }
  const double right = out.confusion.trace();
  out.n = static_cast<Index>(out.confusion.sum());
  out.errors = out.n - static_cast<Index>(right);
  out.accuracy = out.n > 0 ? right / static_cast<double>(out.n) : undefined;
  out.balanced_accuracy = balanced_accuracy(out.confusion);
}

// Probabilities of one kind, pooled over the parts.
class PooledScores {
 public:
  void add(const Model& model, const Matrix& probability, const std::vector<Index>& truth) {
    const double n = static_cast<double>(truth.size());
    if (n == 0) return;
    loss_ += n * log_loss(probability, truth);
    rows_ += n;
    const Index first = model.casting == Casting::binary ? 1 : 0;  // of the positive label only
    for (Index i = 0; i < probability.rows(); ++i) {
      for (Index c = first; c < probability.cols(); ++c) {
        p_.push_back(probability(i, c));
        y_.push_back(truth[static_cast<std::size_t>(i)] == c ? 1 : -1);
      }
    }
  }
  double loss() const { return rows_ > 0 ? loss_ / rows_ : undefined; }
  std::vector<ReliabilityBin> reliability() const {
    return reliability_table(as_vector(p_), as_vector(y_));
  }

 private:
  double loss_ = 0, rows_ = 0;
  std::vector<double> p_, y_;
};

}  // namespace

Evaluation evaluate(const Model& model, const Samples& rows, const Predictions& predictions,
                    const std::string& source) {
  Evaluation out;
  out.tasks.resize(model.tasks.size());
  PooledScores calibrated;
  PooledScores uncalibrated;
  for (const PartPredictions& part : predictions.parts) {
    const std::vector<Index> truth = true_labels(model, rows, part, source);
    if (part.averaged) out.tasks.push_back(score_averaged(part, truth));
    for (std::size_t c = 0; !part.averaged && c < part.tasks.size(); ++c)
      out.tasks[static_cast<std::size_t>(part.tasks[c])] = score_column(model, part, c, truth);
    if (!has_probability(part)) continue;
    out.rows_with_probability += std::ssize(part.rows);
    calibrated.add(model, part.probability, truth);
    uncalibrated.add(model, probabilities_of(model, part, false), truth);
  }
  out.mean = mean_scores(out.tasks);
  score_labels(model, rows, predictions, out);
  out.log_loss = calibrated.loss();
  out.uncalibrated_log_loss = uncalibrated.loss();
  if (has_calibration(model)) out.reliability = calibrated.reliability();
  return out;
}

Evaluation evaluate(const Model& model, const Samples& rows, const PredictSettings& settings) {
  return evaluate(model, rows, predict(model, rows, settings), settings.source);
}

}  // namespace coterie
