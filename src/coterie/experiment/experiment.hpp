// The runner of studies: plan -> cells -> results. Finished cells are kept in a journal in the folder of the study; a run that was ended,
// however hard, goes on there. Neither the number of threads nor the order of the cells changes a byte of the results.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coterie/experiment/cell.hpp"

namespace coterie {

struct Cell {
  std::size_t dataset = 0, method = 0;  // of the plan
  double share = 0;
  Index repetition = 1;
};

// All cells of a plan, in the order of tables: data set, share, repetition, method. `only`: those whose name has this text.
std::vector<Cell> cells_of(const Plan& plan, const std::string& only = "");
std::string name_of(const Plan& plan, const Cell& cell);  // "letter 10 % #3 ours"

struct ExperimentRun {
  int threads = 0;          // 0: all cores
  double memory_bytes = 0;  // for all cells that run at once; 0: nine tenths of the machine's
  std::function<Samples(const DatasetPlan&)> read = {};      // the table of a data set
  std::function<bool(Index done, Index all)> progress = {};  // of cells; false stops
  std::function<void(const std::string& note)> note = {};
  std::string only = {};
};

struct Experiment {
  Plan plan;
  std::vector<Cell> cells;
  std::vector<std::optional<CellResult>> results;  // of cells
  Index earlier = 0;                               // that an earlier run had done
  bool stopped = false;
  Index done() const;
};

// Keeps the journal in `folder`, which is there.
Experiment run_experiment(const Plan& plan, const std::string& folder, const ExperimentRun& run);

}  // namespace coterie
