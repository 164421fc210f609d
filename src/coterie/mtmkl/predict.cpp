#include "coterie/mtmkl/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>

namespace coterie {

namespace {

// Values between the rows of X (scaled) and the support vectors of a task, for one kernel.
Matrix cross_values(const Model& model, const Kernel& kernel, const TaskModel& task,
                    ConstMatrixRef X, const PrecomputedMatrices& cross) {
  if (kernel.kind != Kernel::Kind::precomputed)
    return cross_gram(kernel, X, model.support_vectors(task.support, Eigen::all));
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
  for (const Index s : task.support)
    columns.push_back(model.training_row[static_cast<std::size_t>(s)]);
  return values(Eigen::all, columns);
}

}  // namespace

Vector decision_values(const Model& model, Index t, ConstMatrixRef X,
                       const PrecomputedMatrices& cross) {
  const TaskModel& task = model.tasks[static_cast<std::size_t>(t)];
  const Matrix scaled = apply_scaling(model.scaling, X);
  const Vector weights = task.alpha.cwiseProduct(task.y);
  Vector f = Vector::Constant(X.rows(), task.bias);
  if (task.support.empty()) return f;
  for (std::size_t m = 0; m < model.kernels.size(); ++m) {
    const double theta = task.theta[static_cast<Index>(m)];
    if (theta == 0) continue;
    f += theta / model.divisors[static_cast<Index>(m)] *
         (cross_values(model, model.kernels[m], task, scaled, cross) * weights);
  }
  return f;
}

std::vector<Index> vote(const Model& model, ConstMatrixRef scores) {
  assert(scores.cols() == std::ssize(model.tasks));
  const auto number_of = [&](const std::string& name) {
    return std::find(model.classes.begin(), model.classes.end(), name) - model.classes.begin();
  };
  const Index classes = std::ssize(model.classes);
  std::vector<Index> winner;
  for (Index i = 0; i < scores.rows(); ++i) {
    Vector votes = Vector::Zero(classes);
    // A class that no task of a one-vs-rest model stands for cannot win.
    Vector sums = Vector::Constant(classes, model.casting == Casting::one_vs_rest
                                                ? -std::numeric_limits<double>::infinity()
                                                : 0.0);
    for (std::size_t t = 0; t < model.tasks.size(); ++t) {
      const double f = scores(i, static_cast<Index>(t));
      const Index positive = number_of(model.tasks[t].positive);
      if (model.casting == Casting::one_vs_rest) {
        sums[positive] = f;
        continue;
      }
      const Index negative = number_of(model.tasks[t].negative);
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

}  // namespace coterie
