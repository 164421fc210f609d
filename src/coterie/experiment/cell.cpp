#include "coterie/experiment/cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "coterie/data/names.hpp"
#include "coterie/data/validation.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/stats/scores.hpp"

namespace coterie {

namespace {

// Throws InputError for a pair that names no class.
std::set<std::string> classes_of_pairs(const Samples& samples, const DatasetPlan& plan) {
  std::set<std::string> used;
  for (const auto& [a, b] : plan.pairs)
    for (const std::string& name : {a, b}) {
      if (std::ranges::find(samples.labels, name) == samples.labels.end())
        throw InputError(fmt::format("'pairs' has the class '{}'; the classes are {}.", name,
                                     list_names(samples.labels, 30)));
      used.insert(name);
    }
  return used;
}

// The settings that were open, and the point of the grid.
std::string text_of_choice(const MethodPlan& method, const Selection& best) {
  std::vector<std::string> parts;
  visit_fields(best.settings, [&](const char* name, const auto& value, const char*, const char*) {
    if (std::ranges::find(method.open, name) != method.open.end())
      parts.push_back(fmt::format("{}={}", member_name(name), text_of(value)));
  });
  for (const std::string& column : best.grid.columns)
    parts.push_back(fmt::format("{}={}", column, value_at(best.grid, best.chosen, column)));
  return fmt::format("{}", fmt::join(parts, " "));
}

Matrix features_of(const Validated& joined, std::size_t t) {
  const std::vector<Index>& places = joined.split.rest[t];
  Matrix X(std::ssize(places), joined.data.X.cols());
  for (std::size_t i = 0; i < places.size(); ++i)
    X.row(static_cast<Index>(i)) =
        joined.data.X.row(joined.data.tasks[t].rows[static_cast<std::size_t>(places[i])]);
  return X;
}

// Scores of a model at rows of a table, [task].
std::vector<double> test_scores(const Model& model, const Dataset& train, const Samples& test,
                                const Samples& validation, Score score) {
  const Validated joined = with_validation(train, test);
  const auto decisions = [&](const Validated& rows, Index t) {
    return decision_values(model, t, features_of(rows, static_cast<std::size_t>(t)));
  };
  if (score != Score::log_loss) {
    const Vector values = judge_held_out(joined.data, joined.split, score,
                                         [&](Index t) { return decisions(joined, t); });
    return {values.begin(), values.end()};
  }
  // Probabilities: sigmoids that the validation rows give.
  const Validated judged = with_validation(train, validation);
  std::vector<double> out;
  for (std::size_t t = 0; t < train.tasks.size(); ++t) {
    const auto labels = [t](const Validated& rows) -> Vector {
      return rows.data.tasks[t].y(rows.split.rest[t]);
    };
    const Calibration sigmoid = fit_platt(decisions(judged, static_cast<Index>(t)), labels(judged));
    out.push_back(
        log_loss(probabilities(sigmoid, decisions(joined, static_cast<Index>(t))), labels(joined)));
  }
  return out;
}

double mean_of(const std::vector<double>& values) {
  return mean_score(Eigen::Map<const Matrix>(values.data(), 1, std::ssize(values)));
}

}  // namespace

Samples planned_samples(Samples samples, const DatasetPlan& plan, std::uint64_t seed) {
  if (!plan.pairs.empty()) {
    const std::set<std::string> used = classes_of_pairs(samples, plan);
    std::vector<Index> rows;
    for (std::size_t i = 0; i < samples.label.size(); ++i)
      if (used.contains(samples.labels[static_cast<std::size_t>(samples.label[i])]))
        rows.push_back(static_cast<Index>(i));
    samples = select_rows(samples, rows);
  }
  if (plan.per_class)
    samples = select_rows(samples, capped_rows(samples, *plan.per_class,
                                               seed_of(fmt::format("{}\n{}", seed, plan.name))));
  if (plan.divide != 1) samples.X /= plan.divide;
  return samples;
}

Dataset planned_tasks(Samples samples, const DatasetPlan& plan) {
  Dataset data = cast_into_tasks(std::move(samples), plan.casting);
  if (plan.pairs.empty()) return data;
  std::erase_if(data.tasks, [&](const Task& task) {
    return std::ranges::none_of(plan.pairs, [&](const auto& pair) {
      return std::minmax(pair.first, pair.second) == std::minmax(task.negative, task.positive);
    });
  });
  return data;
}

Parts planned_parts(const Samples& samples, const DatasetPlan& plan, std::uint64_t seed,
                    double share, Index repetition) {
  return part_rows(samples,
                   {share, plan.equal_classes,
                    seed_of(fmt::format("{}\n{}\n{}\n{}", seed, plan.name, share, repetition))});
}

std::optional<Choice> choose_and_train(const Samples& samples, const Parts& parts,
                                       const DatasetPlan& dataset, const MethodPlan& method,
                                       const Run& run) {
  const Dataset train = planned_tasks(select_rows(samples, parts.train), dataset);
  Choice out;
  std::optional<Selection> best;
  SelectSettings how;
  how.validation = select_rows(samples, parts.validation);
  how.score = dataset.score;
  how.coarse = method.coarse;
  for (const Settings& settings : method.settings) {
    how.settings = settings;
    if (!settings.scale) how.settings.scale = dataset.scale;
    Selection selection = choose(train, method.grid, how, run);
    if (selection.scores.stopped) return {};
    out.fits += selection.scores.fits;
    out.unconverged += selection.scores.unconverged;
    const double score = selection.of_chosen().score;
    const bool better =
        !best || (higher_is_better(how.score) ? score > out.validation : score < out.validation);
    if (!better) continue;  // of equal scores the first
    out.validation = score;
    best = std::move(selection);
  }
  out.text = text_of_choice(method, *best);
  out.trained = train_in_detail(train, best->settings, run);
  if (out.trained.fit.status() == Status::stopped) return {};
  return out;
}

std::optional<CellResult> run_cell(const Samples& samples, const Parts& parts,
                                   const DatasetPlan& dataset, const MethodPlan& method,
                                   const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  const std::optional<Choice> choice = choose_and_train(samples, parts, dataset, method, run);
  if (!choice) return {};
  const Dataset train = planned_tasks(select_rows(samples, parts.train), dataset);
  const Model& model = choice->trained.model;
  CellResult out;
  out.chosen = choice->text;
  out.validation = choice->validation;
  out.fits = choice->fits;
  out.unconverged = choice->unconverged;
  out.task_scores = test_scores(model, train, select_rows(samples, parts.test),
                                select_rows(samples, parts.validation), dataset.score);
  for (const Task& task : train.tasks) out.tasks.push_back(task.name);
  out.score = mean_of(out.task_scores);
  out.gap = model.certificate().gap;
  out.status = to_string(model.certificate().status);
  out.claim = to_string(model.certificate().claim);
  out.train = std::ssize(parts.train);
  out.validated = std::ssize(parts.validation);
  out.tested = std::ssize(parts.test);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace coterie
