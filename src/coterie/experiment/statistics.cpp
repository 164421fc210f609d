#include "coterie/experiment/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace coterie {

namespace {

using Names = std::vector<std::string>;

// Test scores of a method on a data set at a share, by repetition.
using ScoresByRepetition = std::map<Index, double>;

// A data set at a share.
struct Panel {
  std::string dataset;
  Score score = Score::accuracy;
  std::set<std::string> planned = {};  // methods with cells here
  std::map<std::string, ScoresByRepetition> methods = {};
  double test_train_ratio = 0;
};

bool has(const Names& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

// The panels of every share, in the order of the plan.
std::map<double, std::vector<Panel>> panels_of(const Experiment& experiment) {
  std::map<double, std::vector<Panel>> out;
  for (std::size_t i = 0; i < experiment.cells.size(); ++i) {
    const Cell& cell = experiment.cells[i];
    const DatasetPlan& dataset = experiment.plan.datasets[cell.dataset];
    const std::string& method = experiment.plan.methods[cell.method].name;
    std::vector<Panel>& panels = out[cell.share];
    if (panels.empty() || panels.back().dataset != dataset.name)
      panels.push_back({dataset.name, dataset.score});
    Panel& panel = panels.back();
    panel.planned.insert(method);
    const std::optional<CellResult>& result = experiment.results[i];
    if (!result || std::isnan(result->score)) continue;
    panel.methods[method][cell.repetition] = result->score;
    panel.test_train_ratio = static_cast<double>(result->tested) /
                             static_cast<double>(result->train + result->validated);
  }
  return out;
}

Names names_of(const Plan& plan) {
  Names out;
  for (const MethodPlan& method : plan.methods)
    if (!has(out, method.name)) out.push_back(method.name);
  return out;
}

std::vector<Index> common_repetitions(const Panel& panel, const Names& methods) {
  std::vector<Index> out;
  const auto first = panel.methods.find(methods.front());
  if (first == panel.methods.end()) return out;
  for (const auto& [repetition, score] : first->second)
    if (std::ranges::all_of(methods, [&, r = repetition](const std::string& method) {
          const auto of = panel.methods.find(method);
          return of != panel.methods.end() && of->second.contains(r);
        }))
      out.push_back(repetition);
  return out;
}

// Higher is better: methods x repetitions.
Matrix scores_of(const Panel& panel, const Names& methods, const std::vector<Index>& repetitions) {
  const double sign = higher_is_better(panel.score) ? 1 : -1;
  Matrix out(std::ssize(methods), std::ssize(repetitions));
  for (Index m = 0; m < out.rows(); ++m)
    for (Index r = 0; r < out.cols(); ++r)
      out(m, r) = sign * panel.methods.at(methods[static_cast<std::size_t>(m)])
                             .at(repetitions[static_cast<std::size_t>(r)]);
  return out;
}

// The methods that are run on every data set; of the others a note says on which they are.
Names ranked_methods(const Plan& plan, const std::vector<Panel>& panels, Names& notes) {
  Names out;
  for (const std::string& name : names_of(plan)) {
    Names on;
    for (const Panel& panel : panels)
      if (panel.planned.contains(name) && !has(on, panel.dataset)) on.push_back(panel.dataset);
    if (std::ranges::all_of(panels,
                            [&](const Panel& panel) { return panel.planned.contains(name); }))
      out.push_back(name);
    else if (!on.empty())
      notes.push_back(
          fmt::format("{} is not ranked: it is run on {} only.", name, fmt::join(on, ", ")));
  }
  return out;
}

std::string missing_note(const Panel& panel, const Names& methods) {
  Names missing;
  for (const std::string& method : methods)
    if (!panel.methods.contains(method)) missing.push_back(method);
  return missing.empty()
             ? fmt::format("{} is not ranked: no repetition is done by all methods yet.",
                           panel.dataset)
             : fmt::format("{} is not ranked: there are no results yet of {}.", panel.dataset,
                           fmt::join(missing, ", "));
}

// What can be compared in this block is.
void compare(StudyBlock& block, double alpha) {
  const Names& methods = block.results.methods;
  if (!has(methods, block.control))
    block.notes.push_back(
        fmt::format("No ranks: the control, {}, is not run on every data set.", block.control));
  else if (methods.size() < 2)
    block.notes.emplace_back("No ranks: they need two methods that are run on every data set.");
  else if (block.results.datasets.size() < 2)
    block.notes.emplace_back("No ranks: they need two data sets that all methods have done.");
  else
    block.comparison = compare_methods(block.results, block.control, alpha);
}

std::vector<Difference> differences_of(const std::vector<Panel>& panels, const Plan& plan,
                                       const std::string& control, double alpha) {
  std::vector<Difference> out;
  for (const Panel& panel : panels)
    for (const std::string& method : names_of(plan)) {
      const std::vector<Index> both = common_repetitions(panel, {control, method});
      if (method == control || both.empty()) continue;
      const Matrix scores = scores_of(panel, {control, method}, both);
      out.push_back(
          {panel.dataset, method, panel.score, std::ssize(both), panel.test_train_ratio,
           resampled_t_test(scores.row(0) - scores.row(1), panel.test_train_ratio, 1 - alpha)});
    }
  return out;
}

StudyBlock block_of(double share, const std::vector<Panel>& panels, const Plan& plan,
                    double alpha) {
  StudyBlock out{fmt::format("{:.4g} %", 100 * share), share, control_of(plan)};
  ResultBlock& results = out.results;
  results.name = out.name;
  results.methods = ranked_methods(plan, panels, out.notes);
  for (const Panel& panel : panels) {
    if (results.methods.empty()) break;
    const std::vector<Index> repetitions = common_repetitions(panel, results.methods);
    if (repetitions.empty()) {
      out.notes.push_back(missing_note(panel, results.methods));
      continue;
    }
    results.datasets.push_back(panel.dataset);
    results.scores.push_back(scores_of(panel, results.methods, repetitions));
    out.repetitions.push_back({std::ssize(repetitions)});
  }
  compare(out, alpha);
  out.differences = differences_of(panels, plan, out.control, alpha);
  return out;
}

// A data set counts once, by its means at the shares where all methods have results.
StudyBlock overall(const std::map<double, std::vector<Panel>>& shares, const Plan& plan,
                   double alpha) {
  StudyBlock out{"all shares", std::nullopt, control_of(plan)};
  std::vector<Panel> all;
  for (const auto& [share, panels] : shares) all.insert(all.end(), panels.begin(), panels.end());
  ResultBlock& results = out.results;
  results.name = out.name;
  results.methods = ranked_methods(plan, all, out.notes);
  for (const DatasetPlan& dataset : plan.datasets) {
    std::vector<Vector> means;
    std::vector<Index> counts;
    bool planned = false;
    for (const Panel& panel : all) {
      if (panel.dataset != dataset.name || results.methods.empty()) continue;
      planned = true;
      const std::vector<Index> repetitions = common_repetitions(panel, results.methods);
      counts.push_back(std::ssize(repetitions));
      if (repetitions.empty()) continue;
      const Matrix scores = scores_of(panel, results.methods, repetitions);
      means.push_back(
          mean_scores({.datasets = {panel.dataset}, .methods = results.methods, .scores = {scores}})
              .row(0));
    }
    if (means.empty()) {
      if (planned)
        out.notes.push_back(fmt::format(
            "{} is not ranked: at no share do all methods have a result.", dataset.name));
      continue;
    }
    Matrix scores(std::ssize(results.methods), std::ssize(means));
    for (Index s = 0; s < scores.cols(); ++s) scores.col(s) = means[static_cast<std::size_t>(s)];
    results.datasets.push_back(dataset.name);
    results.scores.push_back(std::move(scores));
    out.repetitions.push_back(counts);
  }
  compare(out, alpha);
  return out;
}

}  // namespace

std::vector<StudyBlock> study_statistics(const Experiment& experiment, double alpha) {
  const std::map<double, std::vector<Panel>> shares = panels_of(experiment);
  std::vector<StudyBlock> out;
  for (const auto& [share, panels] : shares)
    out.push_back(block_of(share, panels, experiment.plan, alpha));
  if (out.size() > 1) out.push_back(overall(shares, experiment.plan, alpha));
  for (StudyBlock& block : out) block.alpha = alpha;
  return out;
}

}  // namespace coterie
