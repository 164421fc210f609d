// One cell of a study: a method on one split of one data set.
//
// Clean protocol: every point of the method's grid is trained on the training rows and judged on the validation rows; the best is trained
// once more and meets the test rows once. Nothing before that sees a test row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/experiment/parts.hpp"
#include "coterie/experiment/plan.hpp"

namespace coterie {

// One of several scores that the same cell gives, by how it is read.
struct Reading {
  std::string name;
  double score = 0;
  bool operator==(const Reading&) const = default;
};

struct CellResult {
  std::string chosen = {};  // "kernels=gauss:2 C=4"
  double validation = 0;    // score of the choice there
  double score = 0;         // on the test rows, mean over tasks
  std::vector<std::string> tasks = {};
  std::vector<double> task_scores = {};  // NaN where a score is not defined
  double gap = 0;                        // of the final fit, with its status and what it proves
  std::string status = {}, claim = {};
  Index fits = 0, unconverged = 0;             // of the search, and those that missed the tolerance
  Index train = 0, validated = 0, tested = 0;  // rows
  double seconds = 0;
  std::vector<Reading> readings = {};  // under the published protocol (published.hpp)
  bool operator==(const CellResult&) const = default;
};

// A data set as its plan wants it: rows of the classes that are used, capped, divided.
Samples planned_samples(Samples samples, const DatasetPlan& plan, std::uint64_t seed);

// The tasks of the plan.
Dataset planned_tasks(Samples samples, const DatasetPlan& plan);

// The split of a repetition; the same for every method.
Parts planned_parts(const Samples& samples, const DatasetPlan& plan, std::uint64_t seed,
                    double share, Index repetition);

// The clean choice of a method: every point of its grid on validation rows, the best trained on the training rows.
struct Choice {
  std::string text;       // "kernels=gauss:2 C=4"
  double validation = 0;  // its score there
  Index fits = 0, unconverged = 0;
  Trained trained;
};
// `samples` are those of planned_samples. Nothing when the run said stop.
std::optional<Choice> choose_and_train(const Samples& samples, const Parts& parts,
                                       const DatasetPlan& dataset, const MethodPlan& method,
                                       const Run& run = {});

// `samples` are those of planned_samples. Nothing when the run said stop.
std::optional<CellResult> run_cell(const Samples& samples, const Parts& parts,
                                   const DatasetPlan& dataset, const MethodPlan& method,
                                   const Run& run = {});

}  // namespace coterie
