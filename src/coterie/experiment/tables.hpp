// Results of a study as text. Rows are in the order of the plan, numbers in full: the same results give the same bytes.
#pragma once

#include <string>

#include "coterie/experiment/experiment.hpp"

namespace coterie {

// A line per cell: dataset, share, repetition, method, score (of the test), and what was chosen. No times.
std::string results_csv(const Experiment& experiment);
// A line per cell and task.
std::string tasks_csv(const Experiment& experiment);
// Seconds of every cell.
std::string timings_csv(const Experiment& experiment);

// Per share: mean and standard error over the repetitions, data sets by methods, the best of a row in bold.
std::string markdown_table(const Experiment& experiment);
std::string latex_table(const Experiment& experiment);

// results.csv, tasks.csv, timings.csv, table.md and table.tex in the folder, each written whole.
void write_tables(const Experiment& experiment, const std::string& folder);

}  // namespace coterie
