// What a model says about the rows of a table, and how often it is right.
//
// A model has parts: the values of the task column it was trained on. A part of a binary model is one task; a part of a multi-class
// model holds the tasks between its classes, which vote. A row goes to the part that its own task column names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/mtmkl/model.hpp"

namespace coterie::app {

struct PartPredictions {
  std::string name;                // of the task column; "" when there was none
  std::vector<Index> tasks;        // of the model
  std::vector<Index> rows;         // of the table
  Matrix scores;                   // rows x tasks
  std::vector<std::string> label;  // per row
  bool averaged = false;  // a task that the model does not know: scores is the mean over `tasks`
};

struct Predictions {
  std::vector<PartPredictions> parts;
  std::vector<std::pair<Index, Index>>
      place;  // per row of the table: its part and its position there
};

// Columns of samples.X must be model.features. `source` names the data in messages. Rows of tasks that the model does not know are an
// error, or with a `new_task` scored by the mean decision value of some tasks that it knows:
//   group:N    of group N, as inspect numbers them       task:NAME  of the group of that task       common  of all tasks
Predictions predict_rows(const Model& model, const Samples& samples,
                         const PrecomputedMatrices& cross, int threads, const std::string& source,
                         const std::string& new_task = {});

struct TaskScore {
  std::string name;
  Index n = 0, errors = 0;
  double accuracy = 0,
         balanced_accuracy = 0;  // NaN when n = 0; balanced: mean over the classes present
};

struct Evaluation {
  std::vector<TaskScore> tasks;
  double mean_accuracy = 0, mean_balanced_accuracy = 0;  // over tasks with rows
  Index n = 0, errors = 0;  // rows of the table, by the label that is printed
  Matrix confusion;         // multi-class: true class x predicted class, counts
};

// Throws InputError for a label that the model does not know.
Evaluation evaluate_predictions(const Model& model, const Samples& samples,
                                const Predictions& predictions, const std::string& source);

}  // namespace coterie::app
