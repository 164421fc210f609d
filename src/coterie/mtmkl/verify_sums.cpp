#include "coterie/mtmkl/verify_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/math/spectrum.hpp"

namespace coterie {

namespace {

// K^m(x_i, x_j) from its definition; precomputed kernels are read off and divided by the norms unless raw.
double base_kernel(const Kernel& kernel, const Matrix& X, Index i, Index j,
                   const PrecomputedMatrices& precomputed) {
  if (kernel.kind != Kernel::Kind::precomputed) return kernel_value(kernel, X.row(i), X.row(j));
  const Matrix& K = precomputed.at(kernel.file);
  return kernel.raw ? K(i, j) : K(i, j) / std::sqrt(K(i, i) * K(j, j));
}

// The scale of a kernel on one task, docs/maths.md (26), (27), from its definition.
double scale_on_task(const Kernel& kernel, const Matrix& X, const Task& task,
                     const Normalisation& normalisation, bool tail,
                     const PrecomputedMatrices& precomputed) {
  const Index n = task.size();
  Eigen::MatrixXd K(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j)
      K(i, j) = K(j, i) = base_kernel(kernel, X, task.rows[static_cast<std::size_t>(i)],
                                      task.rows[static_cast<std::size_t>(j)], precomputed);
  if (!tail) return K.trace() / static_cast<double>(n) - K.sum() / static_cast<double>(n * n);
  const Eigen::MatrixXd centre =
      Eigen::MatrixXd::Identity(n, n) - Eigen::MatrixXd::Constant(n, n, 1 / static_cast<double>(n));
  const Vector spectrum = eigenvalues(centre * K * centre);
  double sum = 0;  // eigenvalues come in increasing order
  for (Index i = 0; i + normalisation.h < n; ++i) sum += spectrum[i];
  return sum / static_cast<double>(n);
}

}  // namespace

double p_norm(const std::vector<double>& values, double p) {
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::abs(v));
  if (largest == 0 || std::isinf(p)) return largest;
  double sum = 0;
  for (const double v : values) sum += std::pow(std::abs(v) / largest, p);
  return largest * std::pow(sum, 1 / p);
}

void check_fit_to_model(const Model& model, Index first, Index count, const Dataset& data,
                        const PrecomputedMatrices& precomputed) {
  if (std::ssize(data.tasks) != count)
    throw InputError(
        fmt::format("The data has {} tasks, the model {}; verify needs the training data.",
                    data.tasks.size(), count));
  if (data.features != model.features)
    throw InputError(
        "The features of the data are not those of the model; verify needs the training data.");
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const Task& task = data.tasks[t];
    const TaskModel& fitted = model.tasks[static_cast<std::size_t>(first) + t];
    if (task.name != fitted.name || task.size() != fitted.n)
      throw InputError(
          fmt::format("Task {} of the data is '{}' with {} samples, of the model '{}' with {}; "
                      "verify needs the training data.",
                      t + 1, task.name, task.size(), fitted.name, fitted.n));
    if (task.negative != fitted.negative || task.positive != fitted.positive)
      throw InputError(
          fmt::format("Task '{}' of the data has the labels '{}' and '{}', of the model '{}' and "
                      "'{}'; verify needs the training data.",
                      task.name, task.negative, task.positive, fitted.negative, fitted.positive));
  }
  for (const Kernel& kernel : model.kernels) {
    if (kernel.kind != Kernel::Kind::precomputed) continue;
    const auto found = precomputed.find(kernel.file);
    if (found == precomputed.end() || found->second.rows() != data.X.rows() ||
        found->second.cols() != data.X.rows())
      throw InputError(fmt::format("The kernel {} needs its matrix of {} x {} values.",
                                   to_string(kernel), data.X.rows(), data.X.rows()));
  }
}

void check_divisors(const Model& model, const Dataset& data, const Matrix& X,
                    const PrecomputedMatrices& precomputed, std::vector<std::string>& findings) {
  const Normalisation normalisation = parse_normalisation(model.settings.normalise);
  using Kind = Normalisation::Kind;
  for (std::size_t m = 0; m < model.kernels.size(); ++m) {
    double expected = 1;
    if (normalisation.kind == Kind::variance || normalisation.kind == Kind::tail) {
      double variance = 0;
      double tail = 0;
      for (const Task& task : data.tasks) {
        variance += scale_on_task(model.kernels[m], X, task, normalisation, false, precomputed) /
                    static_cast<double>(data.tasks.size());
        if (normalisation.kind == Kind::tail)
          tail += scale_on_task(model.kernels[m], X, task, normalisation, true, precomputed) /
                  static_cast<double>(data.tasks.size());
      }
      expected = normalisation.kind == Kind::variance ? variance : std::max(tail, 1e-3 * variance);
    }
    const double stated = model.divisors[static_cast<Index>(m)];
    if (!(std::abs(stated - expected) <= 1e-6 * expected))
      findings.push_back(fmt::format("the divisor of kernel {} is {:.10g}, not {:.10g} as stated",
                                     to_string(model.kernels[m]), expected, stated));
  }
}

void check_scaling(const Model& model, const Dataset& data, std::vector<std::string>& findings) {
  if (to_string(model.scaling.kind) != model.settings.scale)
    findings.push_back(fmt::format("the features are scaled '{}', not '{}' as the settings say",
                                   to_string(model.scaling.kind), model.settings.scale));
  if (model.scaling.kind == Scaling::Kind::none) return;
  std::vector<bool> used(static_cast<std::size_t>(data.X.rows()), false);
  for (const Task& task : data.tasks)
    for (const Index row : task.rows) used[static_cast<std::size_t>(row)] = true;
  for (Index j = 0; j < data.X.cols(); ++j) {
    double count = 0;
    double sum = 0;
    double squares = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (Index i = 0; i < data.X.rows(); ++i) {
      if (!used[static_cast<std::size_t>(i)]) continue;
      count += 1;
      sum += data.X(i, j);
      low = std::min(low, data.X(i, j));
      high = std::max(high, data.X(i, j));
    }
    for (Index i = 0; i < data.X.rows(); ++i)
      if (used[static_cast<std::size_t>(i)]) squares += std::pow(data.X(i, j) - sum / count, 2);
    const bool standard = model.scaling.kind == Scaling::Kind::standard;
    const double shift = low == high ? low : standard ? sum / count : low;
    const double spread = low == high ? 1 : standard ? std::sqrt(squares / count) : high - low;
    const double size = std::max({std::abs(low), std::abs(high), spread});
    if (!(std::abs(model.scaling.shift[j] - shift) <= 1e-9 * size) ||
        !(std::abs(model.scaling.factor[j] * spread - 1) <= 1e-6))
      findings.push_back(fmt::format("the scaling of feature '{}' is not that of the data",
                                     model.features[static_cast<std::size_t>(j)]));
  }
}

void note_infeasible(Verification& check, double amount, double allowed, const std::string& what) {
  check.infeasibility = std::max(check.infeasibility, amount);
  if (!(amount <= allowed)) check.findings.push_back(fmt::format("{} (by {:.3g})", what, amount));
}

Matrix scaled(const Model& model, Matrix X) {
  if (model.scaling.kind != Scaling::Kind::none)
    for (Index i = 0; i < X.rows(); ++i)
      for (Index j = 0; j < X.cols(); ++j)
        X(i, j) = (X(i, j) - model.scaling.shift[j]) * model.scaling.factor[j];
  return X;
}

TaskValues recompute_task(const Model& model, const TaskModel& task, const Task& samples,
                          const Matrix& X, Index first_row, const PrecomputedMatrices& precomputed,
                          Verification& check, const std::function<void()>& one_done) {
  const std::size_t M = model.kernels.size();
  const double p = model.settings.norm;
  const auto infeasible = [&](double amount, double allowed, const std::string& what) {
    note_infeasible(check, amount, allowed, what);
  };
  TaskValues values;
  values.S.assign(M, 0);
  std::vector<double> theta(M);
  double theta_sum = 0;
  for (std::size_t m = 0; m < M; ++m) {
    theta[m] = task.theta[static_cast<Index>(m)];
    infeasible(std::max(0.0, -theta[m]), 1e-12,
               fmt::format("a kernel weight of task '{}' is negative", task.name));
    theta_sum += theta[m];
  }
  if (p == 1)
    infeasible(std::abs(theta_sum - 1), 1e-9,
               fmt::format("the kernel weights of task '{}' do not add up to 1", task.name));
  else
    infeasible(std::max(0.0, p_norm(theta, p) - 1), 1e-9,
               fmt::format("the kernel weights of task '{}' leave the unit ball", task.name));

  const Index n = samples.size();
  Index positive = 0;
  for (Index i = 0; i < n; ++i) positive += samples.y[i] > 0;
  double balance = 0;
  for (std::size_t k = 0; k < task.sample.size(); ++k) {
    const Index i = task.sample[k];
    const double alpha = task.alpha[static_cast<Index>(k)];
    double bound = task.C;
    if (model.settings.class_weight == "balanced")
      bound *= static_cast<double>(n) /
               (2 * static_cast<double>(samples.y[i] > 0 ? positive : n - positive));
    infeasible(std::max({0.0, -alpha, alpha - bound}) / bound, 1e-9,
               fmt::format("an alpha of task '{}' leaves its box", task.name));
    if (task.y[static_cast<Index>(k)] != samples.y[i])
      check.findings.push_back(
          fmt::format("a support vector of task '{}' has another label in the data", task.name));
    const Index row = samples.rows[static_cast<std::size_t>(i)];
    if (model.training_row[static_cast<std::size_t>(task.support[k])] != first_row + row)
      check.findings.push_back(
          fmt::format("a support vector of task '{}' is another row of the data", task.name));
    else if (!(X.row(row) == model.support_vectors.row(task.support[k])))
      check.findings.push_back(
          fmt::format("a support vector of task '{}' differs from its row of the data", task.name));
    balance += alpha * samples.y[i];
    values.alpha_sum += alpha;
  }
  infeasible(std::abs(balance) / (task.C * static_cast<double>(n)), 1e-9,
             fmt::format("y'alpha of task '{}' is not 0", task.name));

  double hinge = 0;
  double norm_squared = 0;
  std::vector<Index> place(static_cast<std::size_t>(n),
                           -1);  // of a sample among the support vectors
  for (std::size_t k = 0; k < task.sample.size(); ++k)
    place[static_cast<std::size_t>(task.sample[k])] = static_cast<Index>(k);
  for (Index i = 0; i < n; ++i) {
    one_done();
    const Index row = samples.rows[static_cast<std::size_t>(i)];
    double f = 0;
    const Index at = place[static_cast<std::size_t>(i)];
    const double beta_i = at < 0 ? 0 : task.alpha[at] * samples.y[i];
    for (std::size_t m = 0; m < M; ++m) {
      if (theta[m] == 0 && beta_i == 0) continue;
      double K_beta = 0;
      for (std::size_t k = 0; k < task.sample.size(); ++k) {
        const Index j = task.sample[k];
        const double value = base_kernel(model.kernels[m], X, row,
                                         samples.rows[static_cast<std::size_t>(j)], precomputed);
        K_beta += task.alpha[static_cast<Index>(k)] * samples.y[j] * value /
                  model.divisors[static_cast<Index>(m)];
      }
      f += theta[m] * K_beta;
      values.S[m] += beta_i * K_beta;
    }
    double bound = task.C;
    if (model.settings.class_weight == "balanced")
      bound *= static_cast<double>(n) /
               (2 * static_cast<double>(samples.y[i] > 0 ? positive : n - positive));
    hinge += bound * std::max(0.0, 1 - samples.y[i] * (f + task.bias));
  }
  for (std::size_t m = 0; m < M; ++m) norm_squared += theta[m] * values.S[m];
  values.primal = norm_squared / 2 + hinge;
  if (!(std::abs(values.primal - task.objective) <= 1e-7 * std::max(1.0, values.primal)))
    check.findings.push_back(
        fmt::format("the objective of task '{}' is {:.10g}, not {:.10g} as stated", task.name,
                    values.primal, task.objective));
  return values;
}

void compare(const Certificate& stated, double tolerance, Verification& check, double least_scale) {
  const double scale = std::max(least_scale, std::abs(check.primal));
  check.gap = (check.primal - check.dual) / scale;
  check.primal_difference = std::abs(check.primal - stated.primal) / scale;
  check.dual_difference = std::abs(check.dual - stated.dual) / scale;
  if (!(check.primal_difference <= 1e-7))
    check.findings.push_back(fmt::format("the objective is {:.10g}, not {:.10g} as stated",
                                         check.primal, stated.primal));
  if (!(check.dual_difference <= 1e-7))
    check.findings.push_back(
        fmt::format("the dual value is {:.10g}, not {:.10g} as stated", check.dual, stated.dual));
  if (!(std::abs(check.gap - stated.gap) <= 3e-7))
    check.findings.push_back(
        fmt::format("the relative gap is {:.3g}, not {:.3g} as stated", check.gap, stated.gap));
  if (check.gap < -1e-7)
    check.findings.push_back(fmt::format("the dual value {:.10g} is above the objective {:.10g}",
                                         check.dual, check.primal));
  if (stated.status == "converged" && !(check.gap <= tolerance * (1 + 1e-6) + 1e-9))
    check.findings.push_back(fmt::format("the relative gap is {:.3g}, above the tolerance {:.3g}",
                                         check.gap, tolerance));
}

void check_groups(const Model& model, Verification& check) {
  check.groups_exact = true;
  for (const std::vector<Index>& group : model.groups)
    for (const Index t : group)
      if (model.tasks[static_cast<std::size_t>(t)].theta !=
          model.tasks[static_cast<std::size_t>(group.front())].theta)
        check.groups_exact = false;
  if (!check.groups_exact)
    check.findings.emplace_back("the kernel weights of a group are not equal");
}

std::function<void()> counting(const Dataset& data, const VerifyProgress& progress) {
  if (!progress) return [] {};
  Index all = 0;
  for (const Task& task : data.tasks) all += task.size();
  return [&progress, all, done = Index{0}]() mutable { progress(done++, all); };
}

}  // namespace coterie
