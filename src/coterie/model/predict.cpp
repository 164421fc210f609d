#include "coterie/model/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "coterie/model/first_stage.hpp"
#include "coterie/stats/coupling.hpp"

namespace coterie {

namespace {

// Values between the rows of X (scaled) and the support vectors of a task, for one kernel.
Matrix cross_values(const Model& model, const Kernel& kernel, const TaskModel& task,
                    ConstMatrixRef X, const PrecomputedMatrices& cross) {
  const std::vector<Index>& support = task.expansion().support;
  if (!kernel.is_precomputed())
    return cross_gram(kernel, X, model.support_vectors(support, Eigen::all));
  const auto found = cross.find(kernel.file);
  if (found == cross.end())
    throw InputError(fmt::format(
        "The model uses the kernel {}; give its values between the new rows and the training rows.",
        to_string(kernel)));
  const Matrix& values = found->second;
  if (values.rows() != X.rows() || values.cols() != model.training_rows)
    throw InputError(fmt::format(
        "The matrix for kernel {} is {} x {}; it must have {} rows (new samples) and {} columns "
        "(training samples).",
        to_string(kernel), values.rows(), values.cols(), X.rows(), model.training_rows));
  std::vector<Index> columns;
  for (const Index s : support) columns.push_back(model.training_row[static_cast<std::size_t>(s)]);
  return values(Eigen::all, columns);
}

}  // namespace

Vector decision_values(const Model& model, Index t, ConstMatrixRef X,
                       const PrecomputedMatrices& cross) {
  if (!model.first_stage) return second_stage_values(model, t, X, cross);
  return second_stage_values(model, t, with_scores(*model.first_stage, t, X), cross);
}

Vector second_stage_values(const Model& model, Index t, ConstMatrixRef X,
                           const PrecomputedMatrices& cross) {
  const TaskModel& task = model.tasks[static_cast<std::size_t>(t)];
  const Matrix scaled = apply_scaling(model.scaling, X);
  Vector f = Vector::Constant(X.rows(), task.bias);
  if (const LinearWeights* const linear = std::get_if<LinearWeights>(&task.function)) {
    f += scaled * linear->w;
    return f;
  }
  const KernelExpansion& own = std::get<KernelExpansion>(task.function);
  if (own.support.empty()) return f;
  const Vector weights = own.alpha.cwiseProduct(own.y);
  for (std::size_t m = 0; m < model.kernels.size(); ++m) {
    const double theta = own.theta[static_cast<Index>(m)];
    if (theta == 0) continue;
    f += theta / model.divisors[static_cast<Index>(m)] *
         (cross_values(model, model.kernels[m], task, scaled, cross) * weights);
  }
  return f;
}

namespace {

// A task's classes, as indices into model.classes; "rest" is past their end.
struct ClassPair {
  Index negative = 0, positive = 0;
};

std::vector<ClassPair> class_pairs(const Model& model) {
  const auto number_of = [&](const std::string& name) {
    return std::find(model.classes.begin(), model.classes.end(), name) - model.classes.begin();
  };
  std::vector<ClassPair> pairs;
  for (const TaskModel& task : model.tasks)
    pairs.push_back({number_of(task.negative), number_of(task.positive)});
  return pairs;
}

}  // namespace

std::vector<Index> vote(const Model& model, ConstMatrixRef scores) {
  assert(scores.cols() == std::ssize(model.tasks));
  const std::vector<ClassPair> pairs = class_pairs(model);
  const Index classes = std::ssize(model.classes);
  std::vector<Index> winner;
  for (Index i = 0; i < scores.rows(); ++i) {
    Vector votes = Vector::Zero(classes);
    // A class that no task of a one-vs-rest model stands for cannot win.
    Vector sums = Vector::Constant(classes, model.casting == Casting::one_vs_rest
                                                ? -std::numeric_limits<double>::infinity()
                                                : 0.0);
    for (std::size_t t = 0; t < pairs.size(); ++t) {
      const double f = scores(i, static_cast<Index>(t));
      const auto [negative, positive] = pairs[t];
      if (model.casting == Casting::one_vs_rest) {
        sums[positive] = f;
        continue;
      }
      votes[f > 0 ? positive : negative] += 1;
      sums[positive] += f;
      sums[negative] -= f;
    }
    Index best = 0;
    for (Index c = 1; c < classes; ++c)
      if (votes[c] > votes[best] || (votes[c] == votes[best] && sums[c] > sums[best])) best = c;
    winner.push_back(best);
  }
  return winner;
}

Matrix label_probabilities(const Model& model, ConstMatrixRef scores) {
  assert(scores.cols() == std::ssize(model.tasks));
  Matrix p(scores.rows(), scores.cols());  // of every task's positive label
  for (std::size_t t = 0; t < model.tasks.size(); ++t)
    p.col(static_cast<Index>(t)) =
        probabilities(model.tasks[t].calibration, scores.col(static_cast<Index>(t)));
  if (model.casting == Casting::binary) {
    assert(p.cols() == 1);
    Matrix both(p.rows(), 2);
    both << 1 - p.array(), p;
    return both;
  }

  const std::vector<ClassPair> pairs = class_pairs(model);
  const Index classes = std::ssize(model.classes);
  Matrix out(p.rows(), classes);
  Matrix r = Matrix::Constant(classes, classes, std::numeric_limits<double>::quiet_NaN());
  Vector alone = Vector::Zero(classes);  // a class that no task stands for
  for (Index i = 0; i < p.rows(); ++i) {
    for (std::size_t t = 0; t < pairs.size(); ++t) {
      const double of_positive = p(i, static_cast<Index>(t));
      const auto [negative, positive] = pairs[t];
      if (model.casting == Casting::one_vs_rest) {
        alone[positive] = of_positive;
      } else {
        r(positive, negative) = of_positive;
        r(negative, positive) = 1 - of_positive;
      }
    }
    out.row(i) =
        model.casting == Casting::one_vs_rest ? normalise_probabilities(alone) : couple_pairs(r);
  }
  return out;
}

}  // namespace coterie
