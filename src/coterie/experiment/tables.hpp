// Results of a study as text. Rows are in the order of the plan, numbers in full: the same results give the same bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/experiment/experiment.hpp"

namespace coterie {

// A line per cell: dataset, share, repetition, method, score (of the test), and what was chosen. No times.
std::string results_csv(const Experiment& experiment);
// A line per cell and task.
std::string tasks_csv(const Experiment& experiment);
// Seconds of every cell.
std::string timings_csv(const Experiment& experiment);
// A line per cell and reading, under the published protocol; `coterie stats` reads it with --method reading --control last.
std::string readings_csv(const Experiment& experiment);

// What is shown of scores is their hundredfold, but for log loss.
double unit_of(Score score);

// What a method reached on a data set, over the repetitions.
struct ScoreSummary {
  Index repetitions = 0;
  double mean = 0, standard_error = 0;  // as shown: in percent but for log loss; NaN of one
  std::string value = {}, error = {};   // the same as text; no error of one
  bool best = false;                    // of its row, as it is shown
};
struct ScoreRow {
  std::string dataset;
  Score score = Score::accuracy;
  Index train = 0, all = 0;  // rows
  std::string repetitions;   // "20", or "5-20"
  std::vector<std::optional<ScoreSummary>> methods;
  std::string label() const;  // "landmine (auc)"
};
struct ScoreTable {
  double share = 0;
  std::vector<std::string> methods;
  std::vector<ScoreRow> rows;
};
// Per share, what is known.
std::vector<ScoreTable> score_tables(const Experiment& experiment);
std::string remark_on_scores(const Experiment& experiment);  // what stands over these tables

// Per share: mean and standard error over the repetitions, data sets by methods, the best of a row in bold.
std::string markdown_table(const Experiment& experiment);
std::string latex_table(const Experiment& experiment);

// results.csv, tasks.csv, timings.csv, table.md and table.tex in the folder, each written whole.
void write_tables(const Experiment& experiment, const std::string& folder);

}  // namespace coterie
