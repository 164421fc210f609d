#include "coterie/experiment/readings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "coterie/experiment/tables.hpp"
#include "coterie/io/atomic_file.hpp"

namespace coterie {

namespace {

bool has_readings(const std::optional<CellResult>& result) {
  return result && !result->readings.empty();
}

// "87.41 ± 0.32" of scores; "87.41" of one.
std::string mean_text(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const std::string text = fmt::format("{:.2f}", 100 * mean);
  return values.size() < 2
             ? text
             : fmt::format("{} ± {:.2f}", text, 100 * std::sqrt(squares / (n - 1) / n));
}

double score_of(const CellResult& result, const std::string& name) {
  return std::ranges::find(result.readings, name, &Reading::name)->score;
}

}  // namespace

std::string readings_table(const Experiment& experiment) {
  using Key = std::tuple<std::size_t, double, std::size_t>;  // data set, share, method
  std::map<Key, std::vector<const CellResult*>> rows;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < experiment.cells.size(); ++i) {
    if (!has_readings(experiment.results[i])) continue;
    const Cell& cell = experiment.cells[i];
    rows[{cell.dataset, cell.share, cell.method}].push_back(&*experiment.results[i]);
    if (names.empty())
      for (const Reading& reading : experiment.results[i]->readings) names.push_back(reading.name);
  }
  std::string out =
      "Readings of the published iteration, test scores in percent: mean ± standard error over the "
      "repetitions (N). script: the iterate chosen on test rows; largest: everything; last, "
      "validation: nothing (docs/experiments.md). Flattered: script - last, at C = 1 and at the "
      "chosen "
      "C.\n\n"
      "| data set | training share | method |";
  for (const std::string& name : names) out += fmt::format(" {} |", name);
  out += " flattered | flattered, chosen C | N |\n|---|---|---|";
  for (std::size_t k = 0; k < names.size(); ++k) out += "---|";
  out += "---|---|---|\n";
  for (const auto& [key, cells] : rows) {
    const auto& [dataset, share, method] = key;
    out += fmt::format("| {} | {:.4g} % | {} |", experiment.plan.datasets[dataset].name,
                       100 * share, experiment.plan.methods[method].name);
    std::vector<double> values;
    for (const std::string& name : names) {
      values.clear();
      for (const CellResult* cell : cells) values.push_back(score_of(*cell, name));
      out += fmt::format(" {} |", mean_text(values));
    }
    for (const std::string rule : {"", ", chosen C"}) {
      values.clear();
      for (const CellResult* cell : cells)
        values.push_back(score_of(*cell, "script" + rule) - score_of(*cell, "last" + rule));
      out += fmt::format(" {} |", mean_text(values));
    }
    out += fmt::format(" {} |\n", cells.size());
  }
  return out;
}

void write_readings(const Experiment& experiment, const std::string& folder) {
  if (std::ranges::none_of(experiment.results, has_readings)) return;
  write_file_atomically(folder + "/readings.csv", readings_csv(experiment));
  write_file_atomically(folder + "/readings.md", readings_table(experiment));
}

}  // namespace coterie
