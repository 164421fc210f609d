#include "coterie/model/verify_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "coterie/math/spectrum.hpp"

namespace coterie {

namespace {

// The scale of a kernel on one task, docs/maths.md (13), (14), from its definition.
double scale_on_task(const ExactKernels& exact, std::size_t m, const Task& task,
                     const Normalisation& normalisation, bool tail) {
  const Index n = task.size();
  Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic> K(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j)
      K(i, j) = K(j, i) = exact.value(static_cast<Index>(m), task.rows[static_cast<std::size_t>(i)],
                                      task.rows[static_cast<std::size_t>(j)]);
  const long double count = static_cast<long double>(n);
  if (!tail) return static_cast<double>(K.trace() / count - K.sum() / (count * count));
  const Eigen::Matrix<long double, Eigen::Dynamic, 1> means = K.rowwise().sum() / count;
  const long double mean = means.sum() / count;
  Eigen::MatrixXd centred(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      centred(i, j) = static_cast<double>(K(i, j) - means[i] - means[j] + mean);
  const Vector spectrum = eigenvalues(centred);
  double sum = 0;  // eigenvalues come in increasing order
  for (Index i = 0; i + normalisation.h < n; ++i) sum += std::max(0.0, spectrum[i]);
  return sum / static_cast<double>(n);
}

// How far a precomputed matrix is from positive semidefinite on a task: the size of its least eigenvalue where that is negative.
double indefiniteness(const Kernel& kernel, const ExactKernels& exact, Index m, const Task& task,
                      const PrecomputedMatrices& precomputed, Verification& check) {
  const Matrix& P = precomputed.at(kernel.file);
  const Index n = task.size();
  Eigen::MatrixXd K(n, n);
  double asymmetry = 0;
  double largest = 0;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      const Index a = task.rows[static_cast<std::size_t>(i)];
      const Index b = task.rows[static_cast<std::size_t>(j)];
      asymmetry = std::max(asymmetry, std::abs(P(a, b) - P(b, a)));
      largest = std::max(largest, std::abs(P(a, b)));
      K(i, j) = static_cast<double>(exact.value(m, a, b));
    }
  if (!(asymmetry <= 1e-8 * largest))
    check.findings.push_back(fmt::format("the matrix of kernel {} is not symmetric on task '{}'",
                                         to_string(kernel), task.name));
  if (!K.allFinite()) {
    check.findings.push_back(fmt::format(
        "the matrix of kernel {} cannot be normalised on task '{}'", to_string(kernel), task.name));
    return 0;
  }
  const Vector spectrum = eigenvalues(K);
  const double least = spectrum.minCoeff();
  if (least < -1e-8 * spectrum.maxCoeff())
    check.findings.push_back(
        fmt::format("the matrix of kernel {} is not positive semidefinite on task '{}': its least "
                    "eigenvalue is {:.3g}",
                    to_string(kernel), task.name, least));
  return negative_part(spectrum);
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

long double p_norm(const std::vector<long double>& values, long double p) {
  long double largest = 0;
  for (const long double v : values) largest = std::max(largest, std::abs(v));
  if (largest == 0 || std::isinf(p)) return largest;
  long double sum = 0;
  for (const long double v : values) sum += std::pow(std::abs(v) / largest, p);
  return largest * std::pow(sum, 1 / p);
}

double within_margin(double violation, double size) {
  return violation <= kMargin * size ? violation : 0;
}

double excess_of_weights(const TaskModel& task, double p) {
  std::vector<long double> theta;
  long double sum = 0;
  for (const double x : task.theta()) {
    theta.push_back(x);
    sum += x;
  }
  if (p == 1) return static_cast<double>(std::abs(sum - 1));
  return static_cast<double>(std::max(0.0L, p_norm(theta, static_cast<long double>(p)) - 1));
}

Least smallest_over_weights(const std::vector<long double>& c, const std::vector<double>& error,
                            double p) {
  const auto least = [&](double shift) {
    std::vector<long double> negative;
    long double smallest = std::numeric_limits<long double>::infinity();
    for (std::size_t m = 0; m < c.size(); ++m) {
      const long double v = c[m] + shift * error[m];
      smallest = std::min(smallest, v);
      negative.push_back(std::max(0.0L, -v));
    }
    const long double q =
        std::isinf(p) ? 1 : static_cast<long double>(p) / (static_cast<long double>(p) - 1);
    return p == 1 ? smallest : -p_norm(negative, q);
  };
  const long double value = least(0);
  const long double apart = std::max(value - least(-1), least(1) - value);
  return {value,
          static_cast<double>(apart) + 64 * long_roundoff * static_cast<double>(std::abs(value))};
}

void check_fit_to_model(const Model& model, Index first, Index count, const Dataset& data,
                        const PrecomputedMatrices& precomputed) {
  if (std::ssize(data.tasks) != count)
    throw InputError(
        fmt::format("The data has {} tasks, the model {}; verify needs the training data.",
                    data.tasks.size(), count));
  if (data.casting != model.casting)
    throw InputError(
        fmt::format("The data is cast {}, the model {}; verify needs the training data.",
                    to_string(data.casting), to_string(model.casting)));
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
    // A single task "all" of older files may have no part.
    if (task.part != fitted.part && !(fitted.part.empty() && fitted.name == "all"))
      throw InputError(
          fmt::format("Task '{}' of the data belongs to '{}', of the model to '{}'; verify needs "
                      "the training data.",
                      task.name, task.part, fitted.part));
    if (task.negative != fitted.negative || task.positive != fitted.positive)
      throw InputError(
          fmt::format("Task '{}' of the data has the labels '{}' and '{}', of the model '{}' and "
                      "'{}'; verify needs the training data.",
                      task.name, task.negative, task.positive, fitted.negative, fitted.positive));
  }
  for (const Kernel& kernel : model.kernels) {
    if (!kernel.is_precomputed()) continue;
    const auto found = precomputed.find(kernel.file);
    if (found == precomputed.end() || found->second.rows() != data.X.rows() ||
        found->second.cols() != data.X.rows())
      throw InputError(fmt::format("The kernel {} needs its matrix of {} x {} values.",
                                   to_string(kernel), data.X.rows(), data.X.rows()));
  }
}

void check_divisors(const Model& model, const Dataset& data, const ExactKernels& exact,
                    std::vector<std::string>& findings) {
  const Normalisation normalisation = model.settings.normalise;
  using Kind = Normalisation::Kind;
  const double T = static_cast<double>(data.tasks.size());
  for (std::size_t m = 0; m < model.kernels.size(); ++m) {
    double expected = 1;
    double rounding = 0;  // a variance is a small difference of large sums in the Gram matrices
    if (normalisation.kind == Kind::variance || normalisation.kind == Kind::tail) {
      double variance = 0;
      double tail = 0;
      double diagonal = 0;
      double samples = 0;
      for (const Task& task : data.tasks) {
        variance += scale_on_task(exact, m, task, normalisation, false) / T;
        if (normalisation.kind == Kind::tail)
          tail += scale_on_task(exact, m, task, normalisation, true) / T;
        for (const Index i : task.rows)
          diagonal =
              std::max(diagonal, static_cast<double>(exact.value(static_cast<Index>(m), i, i)));
        samples = std::max(samples, static_cast<double>(task.size()));
      }
      expected = normalisation.kind == Kind::variance ? variance : std::max(tail, 1e-3 * variance);
      rounding =
          (exact.roundings(static_cast<Index>(m)) * 100 + samples) * unit_roundoff * diagonal;
    }
    const double stated = model.divisors[static_cast<Index>(m)];
    if (!(std::abs(stated - expected) <= (rounding > 0 ? kMargin * expected + rounding : 0)))
      findings.push_back(fmt::format("the divisor of kernel {} is {:.10g}, not {:.10g} as stated",
                                     to_string(model.kernels[m]), expected, stated));
  }
}

void note_infeasible(Verification& check, double amount, double allowed, const std::string& what) {
  check.infeasibility = std::max(check.infeasibility, amount);
  if (!(amount <= allowed)) check.findings.push_back(fmt::format("{} (by {:.3g})", what, amount));
}

namespace {

// C_i of a sample.
class Costs {
 public:
  Costs(const Model& model, const TaskModel& task, const Task& samples, const Vector& weight)
      : C_(task.C),
        balanced_(model.settings.class_weight == ClassWeight::balanced),
        y_(samples.y),
        rows_(samples.rows),
        weight_(weight) {
    for (const double y : y_) positive_ += y > 0 ? 1 : 0;
  }
  double operator()(Index i) const {
    const double n = static_cast<double>(y_.size());
    const double cost = balanced_ ? C_ * (n / (2 * (y_[i] > 0 ? positive_ : n - positive_))) : C_;
    return weight_.size() > 0 ? cost * weight_[rows_[static_cast<std::size_t>(i)]] : cost;
  }

 private:
  double C_;
  bool balanced_;
  const Vector& y_;
  const std::vector<Index>& rows_;
  const Vector& weight_;
  double positive_ = 0;
};

// How far the weights leave D, as far as that is repaired.
double check_weights(const TaskModel& task, double p, Verification& check) {
  note_infeasible(check, std::max(0.0, -task.theta().minCoeff()), 0,
                  fmt::format("a kernel weight of task '{}' is negative", task.name));
  const double outside = excess_of_weights(task, p);
  note_infeasible(check, outside, kMargin,
                  fmt::format("the kernel weights of task '{}' {}", task.name,
                              p == 1 ? "do not add up to 1" : "leave the unit ball"));
  return within_margin(outside, 1);
}

// Sums of alpha, and what y'alpha = 0 lacks, as far as that is repaired.
struct Alphas {
  long double sum = 0;
  double squares = 0, weighted = 0;  // of alpha^2, of C alpha
  double excess = 0;                 // of y'alpha over 0
  Index giver = -1;  // among the support vectors: the largest alpha of the side that is too heavy
};
Alphas check_alphas(const Model& model, const TaskModel& task, const Task& samples, const Matrix& X,
                    Index first_row, const Costs& cost, Verification& check) {
  const KernelExpansion& f = task.expansion();
  Alphas out;
  long double balance = 0;
  double box = 0;
  bool labels = true;
  bool rows = true;
  bool features = true;
  for (std::size_t k = 0; k < f.sample.size(); ++k) {
    const Index i = f.sample[k];
    const double alpha = f.alpha[static_cast<Index>(k)];
    box = std::max({box, -alpha / cost(i), alpha / cost(i) - 1 - 4 * unit_roundoff});
    labels = labels && f.y[static_cast<Index>(k)] == samples.y[i];
    const Index row = samples.rows[static_cast<std::size_t>(i)];
    if (model.training_row[static_cast<std::size_t>(f.support[k])] != first_row + row)
      rows = false;
    else if (!(X.row(row) == model.support_vectors.row(f.support[k])))
      features = false;
    balance += static_cast<long double>(alpha) * samples.y[i];
    out.sum += alpha;
    out.squares += alpha * alpha;
    out.weighted += cost(i) * alpha;
  }
  note_infeasible(check, box, 0, fmt::format("an alpha of task '{}' leaves its box", task.name));
  const auto note = [&](bool good, const char* what) {
    if (!good)
      check.findings.push_back(fmt::format("a support vector of task '{}' {}", task.name, what));
  };
  note(labels, "has another label in the data");
  note(rows, "is another row of the data");
  note(features, "differs from its row of the data");
  const double mass = static_cast<double>(out.sum);
  const double excess = static_cast<double>(std::abs(balance));
  if (mass > 0)
    note_infeasible(check, excess / mass, kMargin,
                    fmt::format("y'alpha of task '{}' is not 0", task.name));
  out.excess = within_margin(excess, mass);
  for (Index k = 0; k < f.alpha.size(); ++k)
    if ((samples.y[f.sample[static_cast<std::size_t>(k)]] > 0) == (balance > 0) &&
        (out.giver < 0 || f.alpha[k] > f.alpha[out.giver]))
      out.giver = k;
  return out;
}

// The largest value on the diagonal, per kernel and mixed, which bounds every other; the roundings of a value; and how far kernels are
// from positive semidefinite.
struct Sizes {
  std::vector<double> largest, indefinite;
  double mixed = 0, roundings = 0, mixed_indefinite = 0;
};
Sizes sizes_of(const Model& model, const TaskModel& task, const Task& samples,
               const CheckedKernels& kernels, Verification& check) {
  Sizes out;
  for (Index m = 0; m < std::ssize(model.kernels); ++m) {
    const Kernel& kernel = model.kernels[static_cast<std::size_t>(m)];
    double largest = 0;
    for (const Index row : samples.rows)
      largest = std::max(largest, static_cast<double>(std::abs(kernels.exact.value(m, row, row))));
    out.largest.push_back(largest / model.divisors[m] * (1 + 1e-12));
    out.mixed += out.largest.back() * task.theta()[m];
    if (task.theta()[m] > 0) out.roundings = std::max(out.roundings, kernels.roundings(m));
    const bool given = kernel.is_precomputed();
    out.indefinite.push_back(
        given ? indefiniteness(kernel, kernels.exact, m, samples, kernels.precomputed, check) /
                    model.divisors[m]
              : 0);
    out.mixed_indefinite += task.theta()[m] * out.indefinite.back();
  }
  return out;
}

// How far the bound of a fit, in doubles and with all that it went through, may be above ours: 3e7 at most on 30,000 random problems.
constexpr double kFarAbove = 0x1p30;

// The bound of the fit's rounding is its own affair: nothing is compared by it alone. One that no rounding explains is refused.
void judge_bound(const Certificate& stated, double tolerance, Verification& check) {
  if (stated.scale_floor != 0) return;
  const double most = std::max(kFarAbove * check.bound, tolerance);
  if (!(stated.bound <= most))
    check.findings.push_back(
        fmt::format("the stated bound {:.3g} is far above the {:.3g} of this check, which rounding "
                    "does not explain",
                    stated.bound, check.bound));
  check.taken.push_back(
      fmt::format("the stated bound {:.1e} of the rounding in the fit", stated.bound));
}

}  // namespace

TaskValues recompute_task(const Model& model, const TaskModel& task, const Task& samples,
                          const CheckedKernels& kernels, Index first_row, Verification& check,
                          const std::function<void()>& one_done) {
  const KernelExpansion& own = task.expansion();
  const std::size_t M = model.kernels.size();
  const Index n = samples.size();
  const Costs cost(model, task, samples, kernels.weight);
  const double outside = check_weights(task, model.settings.norm, check);
  const Alphas alphas = check_alphas(model, task, samples, kernels.X, first_row, cost, check);
  const Sizes sizes = sizes_of(model, task, samples, kernels, check);
  const double mass = static_cast<double>(alphas.sum);
  const double count = static_cast<double>(own.sample.size());
  // Of a decision value, as (43).
  const double E = long_roundoff *
                   ((count + sizes.roundings + static_cast<double>(M) + 12) * sizes.mixed * mass +
                    8 * (1 + std::abs(task.bias)));

  TaskValues values;
  values.S.assign(M, 0);
  long double hinge = 0;
  std::vector<long double> K(M), K_beta(M);
  std::vector<double> pulls(M, 0);  // |(K^m beta)_i| where y'alpha is repaired
  std::vector<Index> place(static_cast<std::size_t>(n), -1);  // among the support vectors
  for (std::size_t k = 0; k < own.sample.size(); ++k)
    place[static_cast<std::size_t>(own.sample[k])] = static_cast<Index>(k);
  for (Index i = 0; i < n; ++i) {
    one_done();
    const Index row = samples.rows[static_cast<std::size_t>(i)];
    std::fill(K_beta.begin(), K_beta.end(), 0.0L);
    for (std::size_t k = 0; k < own.sample.size(); ++k) {
      const Index j = own.sample[k];
      kernels.exact.values(row, samples.rows[static_cast<std::size_t>(j)], K.data());
      const long double beta = kernels.between(i, j) *
                               static_cast<long double>(own.alpha[static_cast<Index>(k)]) *
                               samples.y[j];
      for (std::size_t m = 0; m < M; ++m) K_beta[m] += beta * K[m];
    }
    const Index at = place[static_cast<std::size_t>(i)];
    const long double beta_i =
        at < 0 ? 0.0L : static_cast<long double>(own.alpha[at]) * samples.y[i];
    long double f = task.bias;
    for (std::size_t m = 0; m < M; ++m) {
      const long double value = K_beta[m] / model.divisors[static_cast<Index>(m)];
      f += own.theta[static_cast<Index>(m)] * value;
      values.S[m] += beta_i * value;
    }
    if (at >= 0 && at == alphas.giver)
      for (std::size_t m = 0; m < M; ++m)
        pulls[m] = static_cast<double>(std::abs(K_beta[m])) / model.divisors[static_cast<Index>(m)];
    const long double loss = 1 - samples.y[i] * f;
    if (loss > 0) hinge += cost(i) * loss;
    if (loss > -E) values.primal_error += cost(i) * E;
  }
  long double norm_squared = 0;
  for (std::size_t m = 0; m < M; ++m) {
    norm_squared += own.theta[static_cast<Index>(m)] * values.S[m];
    const double sum_error = long_roundoff *
                             (2 * count + kernels.roundings(static_cast<Index>(m)) + 8) *
                             sizes.largest[m] * mass;
    values.S_error.push_back(sum_error * mass +
                             alphas.excess * (2 * pulls[m] * (1 + 4 * unit_roundoff) +
                                              2 * sum_error + alphas.excess * sizes.largest[m]) +
                             sizes.indefinite[m] * alphas.squares);
  }
  values.primal = norm_squared / 2 + hinge;
  values.primal_error += 0.5 * mass * E +
                         (4 * outside + static_cast<double>(n + 8) * long_roundoff) *
                             static_cast<double>(values.primal) +
                         sizes.mixed_indefinite * (alphas.squares / 2 + alphas.weighted);
  values.alpha_sum = alphas.sum;
  values.alpha_error = alphas.excess + static_cast<double>(n) * long_roundoff * mass;
  return values;
}

double compared_within(const Certificate& stated, double stated_error, double own_error) {
  if (stated.scale_floor != 0) return stated_error + own_error;  // of versions that stated none
  return std::min(stated_error, kDoubles * own_error) + own_error;
}

void StatedObjectives::add(const TaskModel& task, long double value, double error,
                           const Certificate& stated, Verification& check) {
  const double own = error + 1e-12 * static_cast<double>(value);
  apart_ += task.objective - value;
  error_ += own;
  if (!(std::abs(static_cast<double>(task.objective - value)) <=
        stated.bound * stated.scale() + own))
    check.findings.push_back(
        fmt::format("the objective of task '{}' is {:.10g}, not {:.10g} as stated", task.name,
                    static_cast<double>(value), task.objective));
}

void StatedObjectives::finish(const Certificate& stated, Verification& check) const {
  const double apart = std::abs(static_cast<double>(apart_));
  if (!(apart <= compared_within(stated, stated.bound * stated.scale(), error_)))
    check.findings.push_back(
        fmt::format("the stated objectives of the tasks add up to {:.3g} more or less than they "
                    "are",
                    apart));
}

void compare(const Certificate& stated, double tolerance, long double primal, long double dual,
             double error, Verification& check, bool has_dual) {
  const double scale = std::max(stated.scale_floor, static_cast<double>(primal));
  check.primal = static_cast<double>(primal);
  check.dual = has_dual ? static_cast<double>(dual) : -std::numeric_limits<double>::infinity();
  check.gap = static_cast<double>((primal - dual) / scale);
  check.bound =
      (error + 4 * unit_roundoff * (std::abs(check.primal) + std::abs(static_cast<double>(dual)))) /
      scale;
  check.primal_difference = std::abs(check.primal - stated.primal) / scale;
  if (has_dual) check.dual_difference = std::abs(check.dual - stated.dual) / scale;
  const double allowed = compared_within(stated, stated.bound, check.bound);
  const std::string what = has_dual ? "the relative gap" : "what a step may still gain";
  const auto find = [&](bool wrong, const std::string& text) {
    if (wrong) check.findings.push_back(text);
  };
  find(!(check.primal_difference <= allowed),
       fmt::format("the objective is {:.10g}, not {:.10g} as stated", check.primal, stated.primal));
  find(has_dual && !(check.dual_difference <= allowed),
       fmt::format("the dual value is {:.10g}, not {:.10g} as stated", check.dual, stated.dual));
  find(!has_dual && stated.dual != check.dual,
       fmt::format("the dual value {:.10g} is stated, and there is none", stated.dual));
  find(!(std::abs(check.gap - stated.gap) <= 2 * allowed),
       fmt::format("{} is {:.3g}, not {:.3g} as stated", what, check.gap, stated.gap));
  find(has_dual && !(check.gap >= -check.bound),
       fmt::format("the dual value {:.10g} is above the objective {:.10g}", check.dual,
                   check.primal));
  if (stated.scale_floor > check.primal) {
    const double whole = static_cast<double>((primal - dual) / primal);
    find(!(whole <= tolerance),
         fmt::format("of the objective the gap is {:.3g}: the model is of a version that measured "
                     "small objectives against {}, which proves nothing here. Train it again",
                     whole, stated.scale_floor));
    check.taken.push_back(fmt::format(
        "that the gap is relative to {}, not to the smaller objective: the rule of older versions",
        stated.scale_floor));
  }
  judge_bound(stated, tolerance, check);
  if (stated.status != Status::converged) {
    check.taken.push_back(
        fmt::format("the status '{}', which says why the fit ended", to_string(stated.status)));
    return;
  }
  find(!(check.gap - check.bound <= tolerance),
       fmt::format("{} is {:.3g}, above the tolerance {:.3g}", what, check.gap, tolerance));
  find(
      check.gap - check.bound <= tolerance && !(check.bound <= 2 * tolerance),
      fmt::format("{}, {:.3g}, is known to within {:.3g} only, which is above the tolerance {:.3g}",
                  what, check.gap, check.bound, tolerance));
  find(stated.scale_floor == 0 &&
           !(stated.gap + stated.bound <= tolerance * (1 + 8 * unit_roundoff)),
       fmt::format("the stated gap {:.3g} and its bound {:.3g} are above the tolerance {:.3g}, "
                   "though the status is converged",
                   stated.gap, stated.bound, tolerance));
}

std::function<void()> counting(const Dataset& data, const VerifyProgress& progress) {
  if (!progress) return [] {};
  Index all = 0;
  for (const Task& task : data.tasks) all += task.size();
  return [&progress, all, done = Index{0}]() mutable { progress(done++, all); };
}

}  // namespace coterie
