#include "coterie/experiment/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "coterie/data/names.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/stats/paired.hpp"

namespace coterie {

namespace {

std::string number(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

// "letter,0.1,3,ours" of every finished cell, and what `rest` says of it.
template <typename Rest>
std::string lines_of(const Experiment& experiment, std::string header, Rest&& rest) {
  for (std::size_t i = 0; i < experiment.cells.size(); ++i) {
    if (!experiment.results[i]) continue;
    const Cell& cell = experiment.cells[i];
    const std::string start = fmt::format(
        "{},{},{},{}", csv_field(experiment.plan.datasets[cell.dataset].name), cell.share,
        cell.repetition, csv_field(experiment.plan.methods[cell.method].name));
    header += rest(start, cell, *experiment.results[i]);
  }
  return header;
}

// The first method of its name: entries that differ by data set are one column.
std::size_t column_of(const Plan& plan, std::size_t method) {
  return static_cast<std::size_t>(
      std::ranges::find(plan.methods, plan.methods[method].name, &MethodPlan::name) -
      plan.methods.begin());
}

// Of one data set at one share.
struct Found {
  std::map<std::size_t, std::vector<double>> scores;  // of a column
  Index train = 0, all = 0;                           // rows
};

// Scores in percent but for log loss.
ScoreSummary summary_of(const std::vector<double>& scores, Score score) {
  const MeanInterval mean =
      mean_interval(Eigen::Map<const Vector>(scores.data(), std::ssize(scores)));
  const double unit = unit_of(score);
  const int digits = score == Score::log_loss ? 4 : 2;
  return {std::ssize(scores), unit * mean.mean, unit * mean.standard_error,
          fmt::format("{:.{}f}", unit * mean.mean, digits),
          scores.size() > 1 ? fmt::format("{:.{}f}", unit * mean.standard_error, digits) : ""};
}

std::string count_text(Index least, Index most) {
  return least == most ? fmt::format("{}", least) : fmt::format("{}-{}", least, most);
}

// The best as it is shown.
void mark_best(ScoreRow& row) {
  const auto value = [&](const ScoreSummary& of) {
    return (higher_is_better(row.score) ? 1 : -1) * std::stod(of.value);
  };
  double best = -std::numeric_limits<double>::infinity();
  for (const auto& method : row.methods)
    if (method) best = std::max(best, value(*method));
  for (auto& method : row.methods)
    if (method) method->best = value(*method) == best;
}

ScoreRow row_of(const DatasetPlan& dataset, const Found& found,
                const std::vector<std::size_t>& columns) {
  ScoreRow row{dataset.name, dataset.score, found.train, found.all, "", {}};
  Index least = std::numeric_limits<Index>::max(), most = 0;
  for (const std::size_t column : columns) {
    row.methods.emplace_back();
    const auto scores = found.scores.find(column);
    if (scores == found.scores.end()) continue;
    row.methods.back() = summary_of(scores->second, dataset.score);
    least = std::min(least, row.methods.back()->repetitions);
    most = std::max(most, row.methods.back()->repetitions);
  }
  row.repetitions = count_text(least, most);
  mark_best(row);
  return row;
}

std::string escaped(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text)
    out += special.find(c) == std::string::npos ? std::string(1, c) : std::string("\\") + c;
  return out;
}

}  // namespace

std::string results_csv(const Experiment& experiment) {
  return lines_of(
      experiment,
      "dataset,share,repetition,method,score,measure,protocol,validation_score,chosen,gap,status,"
      "claim,fits,unconverged,train_rows,validation_rows,test_rows\n",
      [&](const std::string& start, const Cell& cell, const CellResult& result) {
        return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", start,
                           number(result.score),
                           to_string(experiment.plan.datasets[cell.dataset].score),
                           to_string(experiment.plan.protocol), number(result.validation),
                           csv_field(result.chosen), number(result.gap), csv_field(result.status),
                           csv_field(result.claim), result.fits, result.unconverged, result.train,
                           result.validated, result.tested);
      });
}

std::string tasks_csv(const Experiment& experiment) {
  return lines_of(experiment, "dataset,share,repetition,method,task,score\n",
                  [](const std::string& start, const Cell&, const CellResult& result) {
                    std::string lines;
                    for (std::size_t t = 0; t < result.tasks.size(); ++t)
                      lines += fmt::format("{},{},{}\n", start, csv_field(result.tasks[t]),
                                           number(result.task_scores[t]));
                    return lines;
                  });
}

std::string timings_csv(const Experiment& experiment) {
  return lines_of(experiment, "dataset,share,repetition,method,seconds\n",
                  [](const std::string& start, const Cell&, const CellResult& result) {
                    return fmt::format("{},{:.3f}\n", start, result.seconds);
                  });
}

std::string readings_csv(const Experiment& experiment) {
  return lines_of(experiment, "dataset,share,repetition,method,reading,score\n",
                  [](const std::string& start, const Cell&, const CellResult& result) {
                    std::string lines;
                    for (const Reading& reading : result.readings)
                      lines += fmt::format("{},{},{}\n", start, csv_field(reading.name),
                                           number(reading.score));
                    return lines;
                  });
}

double unit_of(Score score) { return score == Score::log_loss ? 1 : 100; }

std::string ScoreRow::label() const {
  return dataset + (score == Score::accuracy ? "" : " (" + to_string(score) + ")");
}

std::vector<ScoreTable> score_tables(const Experiment& experiment) {
  std::map<double, std::map<std::size_t, Found>> shares;  // data sets of a share
  for (std::size_t i = 0; i < experiment.cells.size(); ++i) {
    if (!experiment.results[i] || std::isnan(experiment.results[i]->score)) continue;
    const Cell& cell = experiment.cells[i];
    const CellResult& result = *experiment.results[i];
    Found& found = shares[cell.share][cell.dataset];
    found.train = result.train;
    found.all = result.train + result.validated + result.tested;
    found.scores[column_of(experiment.plan, cell.method)].push_back(result.score);
  }
  std::vector<ScoreTable> out;
  for (const auto& [share, datasets] : shares) {
    std::set<std::size_t> used;
    for (const auto& [dataset, found] : datasets)
      for (const auto& [column, scores] : found.scores) used.insert(column);
    const std::vector<std::size_t> columns(used.begin(), used.end());
    ScoreTable table{share, {}, {}};
    for (const std::size_t column : columns)
      table.methods.push_back(experiment.plan.methods[column].name);
    for (const auto& [dataset, found] : datasets)
      table.rows.push_back(row_of(experiment.plan.datasets[dataset], found, columns));
    out.push_back(std::move(table));
  }
  return out;
}

std::string remark_on_scores(const Experiment& experiment) {
  return fmt::format(
      "Test scores in percent, mean over tasks: mean ± standard error over the repetitions (N); "
      "the best of a row in bold. Protocol: {}.{}",
      to_string(experiment.plan.protocol), experiment.plan.quick ? " Quick trial." : "");
}

std::string markdown_table(const Experiment& experiment) {
  std::string out = remark_on_scores(experiment) + "\n";
  for (const ScoreTable& table : score_tables(experiment)) {
    out += fmt::format("\n## Training share {:.4g} %\n\n| data set | training rows |",
                       100 * table.share);
    for (const std::string& method : table.methods)
      out += fmt::format(" {} |", escaped(method, "|*_"));
    out += " N |\n|---|---|";
    for (std::size_t k = 0; k < table.methods.size(); ++k) out += "---|";
    out += "---|\n";
    for (const ScoreRow& row : table.rows) {
      out += fmt::format("| {} | {} of {} |", escaped(row.label(), "|*_"), row.train, row.all);
      for (const std::optional<ScoreSummary>& of : row.methods)
        out += of ? fmt::format(" {0}{1}{0}{2} |", of->best ? "**" : "", of->value,
                                of->error.empty() ? "" : " ± " + of->error)
                  : " |";
      out += fmt::format(" {} |\n", row.repetitions);
    }
  }
  return out;
}

std::string latex_table(const Experiment& experiment) {
  const std::string special = "&%$#_{}";
  std::string out = fmt::format("% protocol {}; mean and standard error over N repetitions\n",
                                to_string(experiment.plan.protocol));
  for (const ScoreTable& table : score_tables(experiment)) {
    out += fmt::format("\\begin{{tabular}}{{l{}r}}\n\\hline\n{:.4g}\\%",
                       std::string(table.methods.size(), 'c'), 100 * table.share);
    for (const std::string& method : table.methods)
      out += fmt::format(" & {}", escaped(method, special));
    out += " & N \\\\\n\\hline\n";
    for (const ScoreRow& row : table.rows) {
      out += escaped(row.label(), special);
      for (const std::optional<ScoreSummary>& of : row.methods)
        out += of ? fmt::format(" & ${}{{{}}}{}$", of->best ? "\\mathbf" : "", of->value,
                                of->error.empty() ? "" : fmt::format(" \\pm {}", of->error))
                  : " &";
      out += fmt::format(" & {} \\\\\n", row.repetitions);
    }
    out += "\\hline\n\\end{tabular}\n";
  }
  return out;
}

void write_tables(const Experiment& experiment, const std::string& folder) {
  const auto write = [&](const char* name, const std::string& text) {
    write_file_atomically(folder + "/" + name, text);
  };
  write("results.csv", results_csv(experiment));
  write("tasks.csv", tasks_csv(experiment));
  write("timings.csv", timings_csv(experiment));
  write("table.md", markdown_table(experiment));
  write("table.tex", latex_table(experiment));
}

}  // namespace coterie
