#include "coterie/bound/bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "coterie/bound/complexity.hpp"
#include "coterie/bound/fitted_class.hpp"
#include "coterie/bound/guarantee.hpp"
#include "coterie/bound/strata.hpp"
#include "coterie/bound/supremum.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/math/parallel.hpp"

namespace coterie {

namespace {

constexpr double kRounding = 1e-9;  // of the weights of a model
constexpr double infinite = std::numeric_limits<double>::infinity();

void require_same_data(const Model& model, const Dataset& data) {
  const std::string mark = fingerprint(data);
  if (mark == model.fingerprint) return;
  for (const Extension& added : model.extensions)
    if (mark == added.fingerprint)
      throw InputError(
          "this is the data of tasks that were added to the model. The bound is about the tasks "
          "that were trained first: give their data.");
  throw InputError(
      fmt::format("the data is not what the model was trained on: its fingerprint is {}, that of "
                  "the training data {}. Margins and complexity are those of the training samples.",
                  mark, model.fingerprint));
}

// Of some tasks the weights are spread by (s - 1)/(T - 1) of what all are, at most, (17).
double within(double gamma, const std::vector<Index>& some, Index T) {
  return T > 1 ? gamma * static_cast<double>(some.size() - 1) / static_cast<double>(T - 1) : 0;
}

// All that draws are evaluated for.
struct Study {
  WeightSet D;
  std::vector<TaskSums> sums;
  std::vector<std::vector<Index>> rounds;
  double gamma = 0;  // of the model
  Stratum paid;      // of gamma
  SupremumSettings how;

  Index T() const { return std::ssize(sums); }
  std::vector<TaskSums> sums_of_tasks(const std::vector<Index>& some) const {
    std::vector<TaskSums> out;
    for (const Index t : some) out.push_back(sums[static_cast<std::size_t>(t)]);
    return out;
  }
  double reach() const {
    double sum = 0;
    for (const TaskSums& task : sums) sum += task.reach;
    return sum;
  }
};

Study make_study(const FittedClass& fitted, const Dataset& data,
                 const std::vector<TaskGrams>& grams, double tolerance, int threads) {
  const Index T = std::ssize(grams);
  const double pairs = 0.5 * static_cast<double>(T * (T - 1));
  std::vector<TaskSums> sums(grams.size());
  parallel_for(T, threads, [&](Index t) {
    sums[static_cast<std::size_t>(t)] = sums_of(grams[static_cast<std::size_t>(t)], fitted.D);
  });
  const double top = pairs * diameter(fitted.D, fitted.theta.cols());
  return {.D = fitted.D,
          .sums = std::move(sums),
          .rounds = rounds_of(data),
          .gamma = fitted.gamma,
          .paid = spread_stratum(fitted.gamma * (1 + kRounding), top),
          .how = {.tolerance = tolerance}};
}

// What one draw gives: W and its bounds, for the class of the model, its extremes, and the class that is paid for.
enum Column {
  upper,
  lower,
  common_upper,
  common_lower,
  apart,
  data_own,
  data_common,
  paid,
  data_paid
};
constexpr Index columns = 9;

// U: the forms of all tasks, T x M.
Eigen::RowVectorXd evaluate_draw(const Study& study, const Matrix& U) {
  Eigen::RowVectorXd out = Eigen::RowVectorXd::Zero(columns);
  const Vector b = task_scales(study.sums);
  const Supremum own = largest_sum(U, study.D, study.gamma, study.how);
  const Supremum common = largest_sum(U, study.D, 0, study.how);
  out[upper] = own.upper;
  out[lower] = own.lower;
  out[common_upper] = common.upper;
  out[common_lower] = common.lower;
  out[apart] = data_form(U, b, study.D, infinite);
  out[data_own] = data_form(U, b, study.D, study.gamma);
  out[data_common] = data_form(U, b, study.D, 0);
  for (const std::vector<Index>& round : study.rounds) {
    const Matrix part = U(round, Eigen::all);
    const Vector scales = b(round);
    const double gamma = within(study.gamma, round, study.T());
    const double wider = within(study.paid.value, round, study.T());
    const Supremum found =
        study.rounds.size() == 1 ? own : largest_sum(part, study.D, gamma, study.how);
    out[paid] += std::min(found.upper + found.slope * (wider - gamma),
                          data_form(part, scales, study.D, infinite));
    out[data_paid] += data_form(part, scales, study.D, wider);
  }
  return out;
}

// Draws x columns. Blocks of forms count in the progress, then draws.
Matrix evaluate_draws(const Study& study, const std::vector<TaskGrams>& grams,
                      const BoundSettings& settings, int threads, const DrawProgress& progress) {
  const Index draws = settings.samples;
  Index done = 0, all = 0;
  const std::vector<Matrix> forms =
      draw_forms(grams, draws, static_cast<std::uint64_t>(settings.seed), threads,
                 [&](Index block, Index blocks) {
                   done = block;
                   all = blocks + draws;
                   return !progress || progress(done, all);
                 });
  Matrix values(draws, columns);
  std::mutex mutex;
  parallel_for(draws, threads, [&](Index draw) {
    Matrix U(study.T(), forms.front().cols());
    for (Index t = 0; t < U.rows(); ++t) U.row(t) = forms[static_cast<std::size_t>(t)].row(draw);
    values.row(draw) = evaluate_draw(study, U);
    const std::lock_guard lock(mutex);
    if (progress && !progress(++done, all)) throw Stopped{};
  });
  return values;
}

Estimate estimate(const Matrix& values, Column column, double unit) {
  const Index S = values.rows();
  const double mean = values.col(column).mean();
  const double square = (values.col(column).array() - mean).square().sum();
  return {unit * mean,
          unit * std::sqrt(square / static_cast<double>(S - 1) / static_cast<double>(S))};
}

double mean_gap(const Matrix& values, Column high, Column low) {
  double sum = 0;
  for (Index k = 0; k < values.rows(); ++k)
    if (values(k, high) > 0) sum += (values(k, high) - values(k, low)) / values(k, high);
  return sum / static_cast<double>(values.rows());
}

// Complexities of the class of the model and of its extremes.
void set_complexities(Bound& out, const Study& study, const Matrix& values, double unit) {
  const auto closed = [&](double gamma) { return unit * closed_form(study.sums, study.D, gamma); };
  out.complexity = {closed(study.gamma), estimate(values, data_own, unit),
                    estimate(values, upper, unit), mean_gap(values, upper, lower)};
  out.common = {closed(0), estimate(values, data_common, unit),
                estimate(values, common_upper, unit), mean_gap(values, common_upper, common_lower)};
  const Estimate separate = estimate(values, apart, unit);
  out.separate = {closed(infinite), separate, separate, 0};
}

// The bounds, each by the better of two classes: that of the stratum of gamma, and separate kernels.
void set_guarantees(Bound& out, const GuaranteeProblem& problem, const Study& study,
                    const Matrix& values, double delta) {
  const double N = static_cast<double>(out.samples), S = static_cast<double>(values.rows());
  const double share = study.paid.share, apart_share = unlimited_spread().share;
  double closed = 0;
  for (const std::vector<Index>& round : study.rounds)
    closed += closed_form(study.sums_of_tasks(round), study.D,
                          within(study.paid.value, round, study.T()));
  const double closed_apart = closed_form(study.sums, study.D, infinite);
  const double drawn = std::sqrt(2 * study.reach() / S) / N;  // (16)
  const auto mean = [&](Column column) { return estimate(values, column, 1 / N); };
  const auto careful = [&](Column column) {
    return mean(column).value + 3 * mean(column).standard_error;
  };
  out.by_published = published_guarantee(problem, out.published, delta);
  out.by_closed =
      best_guarantee(problem, {{closed / N, 0, share}, {closed_apart / N, 0, apart_share}}, delta);
  out.by_data = best_guarantee(
      problem, {{careful(data_paid), 0, share}, {careful(apart), 0, apart_share}}, delta);
  out.by_monte_carlo = best_guarantee(
      problem, {{mean(paid).value, drawn, share}, {mean(apart).value, drawn, apart_share}}, delta);
}

std::vector<std::string> notes_on(const Bound& found, const Model& model, const Study& study) {
  std::vector<std::string> notes;
  if (found.published < found.complexity.monte_carlo.value)
    notes.emplace_back(
        "the published complexity is below the Monte-Carlo one: the printed theorem does not hold "
        "here");
  if (found.rounds > 1)
    notes.push_back(
        fmt::format("tasks share rows: the bounds look at {} rounds of tasks that share none, and "
                    "count a row once, however many tasks it is in",
                    found.rounds));
  if (study.D.p() == 1 && study.reach() > (1 + 1e-6) * static_cast<double>(found.samples))
    notes.emplace_back(
        "some k(x,x) is above 1, which the published formula does not allow; the others count the "
        "kernels as they are");
  if (model.scaling.changes() || model.settings.normalise.divides())
    notes.emplace_back(
        "the theorem takes kernels as given before the data; what the scaling of features and the "
        "divisors of kernels learnt from it is not in the bounds");
  return notes;
}

}  // namespace

std::string text_of(const Margin& margin) { return margin.value ? text_of(*margin.value) : "best"; }

bool read_text(std::string_view text, Margin& margin) {
  if (text == "best") {
    margin.value.reset();
    return true;
  }
  double value = 0;
  if (!read_text(text, value) || !(value > 0) || std::isinf(value)) return false;
  margin.value = value;
  return true;
}

void validate(const BoundSettings& settings) {
  const auto holds = [&](std::string_view name) {
    const auto within_one = [](double x) { return x > 0 && x < 1; };
    if (name == "delta") return within_one(settings.delta);
    if (name == "margin")
      return !settings.margin.value ||
             (*settings.margin.value > 0 && std::isfinite(*settings.margin.value));
    if (name == "samples") return settings.samples >= 2 && settings.samples <= 10'000'000;
    if (name == "seed") return settings.seed >= 0;
    return within_one(settings.tolerance);
  };
  visit_fields(settings, [&](const char* name, const auto& value, const char*, const char* rule) {
    if (!holds(name)) throw SettingError(member_name(name), text_of(value), rule);
  });
}

Bound bound_of(const Model& given, const Dataset& data, const BoundSettings& settings,
               const PrecomputedMatrices& precomputed, int threads, const DrawProgress& progress) {
  validate(settings);
  require_same_data(given, data);
  const Model model = given.extensions.empty() ? given : base_of(given);
  require_kernel_weights(model);
  const std::vector<TaskGrams> grams = grams_on(model, data, precomputed, threads);
  const FittedClass fitted = fitted_class(model, data, grams, threads);
  const Study study = make_study(fitted, data, grams, settings.tolerance, threads);
  const Matrix values = evaluate_draws(study, grams, settings, threads, progress);
  Bound out;
  out.samples = fitted.margins.size();
  out.rows = std::ssize(rows_used(data));
  out.tasks = study.T();
  out.kernels = std::ssize(model.kernels);
  out.rounds = std::ssize(study.rounds);
  out.R = fitted.R;
  out.gamma = fitted.gamma;
  out.largest_bias = fitted.largest_bias;
  out.norms = fitted.norms;
  const double N = static_cast<double>(out.samples);
  out.training_error = static_cast<double>((fitted.margins.array() <= 0).count()) / N;
  double signs = 0;
  for (const TaskSums& task : study.sums) signs += expected_sign_sum(task.n);
  out.bias_complexity = out.largest_bias * signs / N;
  out.published = published_complexity(out.R, out.gamma, out.kernels, N);
  set_complexities(out, study, values, std::sqrt(out.R) / N);
  const double row_weight = std::sqrt(squared_uses(data)) / N;
  set_guarantees(out,
                 {fitted.margins, out.R, out.largest_bias, signs / N, row_weight, settings.margin},
                 study, values, settings.delta);
  out.notes = notes_on(out, model, study);
  if (!given.extensions.empty())
    out.notes.emplace_back("tasks that were added to the model are left out");
  return out;
}

}  // namespace coterie
