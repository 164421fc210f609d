#include "coterie/experiment/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "coterie/io/atomic_file.hpp"

namespace coterie {

namespace {

// In quotes where it needs them.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string number(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

// "letter,0.1,3,ours" of every finished cell, and what `rest` says of it.
template <typename Rest>
std::string lines_of(const Experiment& experiment, std::string header, Rest&& rest) {
  for (std::size_t i = 0; i < experiment.cells.size(); ++i) {
    if (!experiment.results[i]) continue;
    const Cell& cell = experiment.cells[i];
    const std::string start =
        fmt::format("{},{},{},{}", field(experiment.plan.datasets[cell.dataset].name), cell.share,
                    cell.repetition, field(experiment.plan.methods[cell.method].name));
    header += rest(start, cell, *experiment.results[i]);
  }
  return header;
}

// Of the repetitions of a data set, share and method.
struct Mean {
  Index n = 0;
  double sum = 0, squares = 0;
  double mean() const { return sum / static_cast<double>(n); }
  double standard_error() const {  // NaN of one
    const double count = static_cast<double>(n);
    return std::sqrt(std::max(0.0, squares - sum * sum / count) / (count - 1) / count);
  }
};

struct Row {
  std::size_t dataset = 0;
  std::map<std::size_t, Mean> methods;
  Index least = 0, most = 0;  // repetitions
  Index train = 0, all = 0;   // rows
};

// The first method of its name: entries that differ by data set are one column.
std::size_t column_of(const Plan& plan, std::size_t method) {
  return static_cast<std::size_t>(
      std::ranges::find(plan.methods, plan.methods[method].name, &MethodPlan::name) -
      plan.methods.begin());
}

std::map<double, std::vector<Row>> rows_by_share(const Experiment& experiment) {
  std::map<double, std::map<std::size_t, Row>> found;
  for (std::size_t i = 0; i < experiment.cells.size(); ++i) {
    if (!experiment.results[i] || std::isnan(experiment.results[i]->score)) continue;
    const Cell& cell = experiment.cells[i];
    const CellResult& result = *experiment.results[i];
    Row& row = found[cell.share][cell.dataset];
    row.dataset = cell.dataset;
    row.train = result.train;
    row.all = result.train + result.validated + result.tested;
    Mean& mean = row.methods[column_of(experiment.plan, cell.method)];
    ++mean.n;
    mean.sum += result.score;
    mean.squares += result.score * result.score;
  }
  std::map<double, std::vector<Row>> out;
  for (auto& [share, rows] : found)
    for (auto& [dataset, row] : rows) {
      row.least = std::numeric_limits<Index>::max();
      for (const auto& [method, mean] : row.methods) {
        row.least = std::min(row.least, mean.n);
        row.most = std::max(row.most, mean.n);
      }
      out[share].push_back(row);
    }
  return out;
}

// Scores in percent but for log loss.
struct Shown {
  std::string value, error;
};
Shown shown(const Mean& mean, Score score) {
  const double unit = score == Score::log_loss ? 1 : 100;
  const int digits = score == Score::log_loss ? 4 : 2;
  return {fmt::format("{:.{}f}", unit * mean.mean(), digits),
          mean.n > 1 ? fmt::format("{:.{}f}", unit * mean.standard_error(), digits) : ""};
}

std::string repetitions(const Row& row) {
  return row.least == row.most ? fmt::format("{}", row.least)
                               : fmt::format("{}-{}", row.least, row.most);
}

// The methods whose shown value is the best of the row.
std::set<std::size_t> best_of(const Row& row, Score score) {
  const auto value = [&](const auto& entry) {
    return (higher_is_better(score) ? 1 : -1) * std::stod(shown(entry.second, score).value);
  };
  const double best = value(*std::ranges::max_element(row.methods, {}, value));
  std::set<std::size_t> out;
  for (const auto& entry : row.methods)
    if (value(entry) == best) out.insert(entry.first);
  return out;
}

std::string escaped(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text)
    out += special.find(c) == std::string::npos ? std::string(1, c) : std::string("\\") + c;
  return out;
}

std::string label_of(const DatasetPlan& dataset) {
  return dataset.name +
         (dataset.score == Score::accuracy ? "" : " (" + to_string(dataset.score) + ")");
}

std::vector<std::size_t> methods_in(const std::vector<Row>& rows) {
  std::set<std::size_t> out;
  for (const Row& row : rows)
    for (const auto& [method, mean] : row.methods) out.insert(method);
  return {out.begin(), out.end()};
}

}  // namespace

std::string results_csv(const Experiment& experiment) {
  return lines_of(
      experiment,
      "dataset,share,repetition,method,score,measure,protocol,validation_score,chosen,gap,status,"
      "claim,fits,unconverged,train_rows,validation_rows,test_rows\n",
      [&](const std::string& start, const Cell& cell, const CellResult& result) {
        return fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", start, number(result.score),
            to_string(experiment.plan.datasets[cell.dataset].score),
            to_string(experiment.plan.protocol), number(result.validation), field(result.chosen),
            number(result.gap), field(result.status), field(result.claim), result.fits,
            result.unconverged, result.train, result.validated, result.tested);
      });
}

std::string tasks_csv(const Experiment& experiment) {
  return lines_of(experiment, "dataset,share,repetition,method,task,score\n",
                  [](const std::string& start, const Cell&, const CellResult& result) {
                    std::string lines;
                    for (std::size_t t = 0; t < result.tasks.size(); ++t)
                      lines += fmt::format("{},{},{}\n", start, field(result.tasks[t]),
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

std::string markdown_table(const Experiment& experiment) {
  std::string out = fmt::format(
      "Test scores in percent, mean over tasks: mean ± standard error over the repetitions (N); "
      "the "
      "best of a row in bold. Protocol: {}.{}\n",
      to_string(experiment.plan.protocol), experiment.plan.quick ? " Quick trial." : "");
  for (const auto& [share, rows] : rows_by_share(experiment)) {
    const std::vector<std::size_t> methods = methods_in(rows);
    out += fmt::format("\n## Training share {:.4g} %\n\n| data set | training rows |", 100 * share);
    for (const std::size_t m : methods)
      out += fmt::format(" {} |", escaped(experiment.plan.methods[m].name, "|*_"));
    out += " N |\n|---|---|";
    for (std::size_t k = 0; k < methods.size(); ++k) out += "---|";
    out += "---|\n";
    for (const Row& row : rows) {
      const DatasetPlan& dataset = experiment.plan.datasets[row.dataset];
      const std::set<std::size_t> best = best_of(row, dataset.score);
      out +=
          fmt::format("| {} | {} of {} |", escaped(label_of(dataset), "|*_"), row.train, row.all);
      for (const std::size_t m : methods) {
        const auto found = row.methods.find(m);
        if (found == row.methods.end()) {
          out += " |";
          continue;
        }
        const auto [value, error] = shown(found->second, dataset.score);
        const std::string mark = best.contains(m) ? "**" : "";
        out += fmt::format(" {0}{1}{0}{2} |", mark, value, error.empty() ? "" : " ± " + error);
      }
      out += fmt::format(" {} |\n", repetitions(row));
    }
  }
  return out;
}

std::string latex_table(const Experiment& experiment) {
  const std::string special = "&%$#_{}";
  std::string out = fmt::format("% protocol {}; mean and standard error over N repetitions\n",
                                to_string(experiment.plan.protocol));
  for (const auto& [share, rows] : rows_by_share(experiment)) {
    const std::vector<std::size_t> methods = methods_in(rows);
    out += fmt::format("\\begin{{tabular}}{{l{}r}}\n\\hline\n{:.4g}\\%",
                       std::string(methods.size(), 'c'), 100 * share);
    for (const std::size_t m : methods)
      out += fmt::format(" & {}", escaped(experiment.plan.methods[m].name, special));
    out += " & N \\\\\n\\hline\n";
    for (const Row& row : rows) {
      const DatasetPlan& dataset = experiment.plan.datasets[row.dataset];
      const std::set<std::size_t> best = best_of(row, dataset.score);
      out += escaped(label_of(dataset), special);
      for (const std::size_t m : methods) {
        const auto found = row.methods.find(m);
        if (found == row.methods.end()) {
          out += " &";
          continue;
        }
        const auto [value, error] = shown(found->second, dataset.score);
        const std::string bold = best.contains(m) ? "\\mathbf" : "";
        out += fmt::format(" & ${}{{{}}}{}$", bold, value,
                           error.empty() ? "" : fmt::format(" \\pm {}", error));
      }
      out += fmt::format(" & {} \\\\\n", repetitions(row));
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
