// What a model says about the rows of a table.
//
// A model has parts: the values of the task column it was trained on. A part of a binary model is one task; a part of a multi-class
// model holds the tasks between its classes, which vote. A row goes to the part that its own task column names.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coterie/model/model.hpp"

namespace coterie {

struct PartPredictions {
  std::string name;                // of the task column; "" when there was none
  std::vector<Index> tasks;        // of the model
  std::vector<Index> rows;         // of the table
  Matrix scores;                   // rows x tasks
  std::vector<std::string> label;  // per row
  std::vector<Index> printed;      // per row the number of that class; binary: empty
  Matrix probability;     // rows x labels_of the part; empty unless all its tasks are calibrated
  bool averaged = false;  // a task that the model does not know: scores is the mean over `tasks`
};

inline bool has_probability(const PartPredictions& part) { return part.probability.cols() > 0; }

struct Predictions {
  std::vector<PartPredictions> parts;
  std::vector<std::pair<Index, Index>>
      place;  // per row of the table: its part and its position there

  Index rows() const { return std::ssize(place); }
  const std::string& label(Index row) const;
  double score(Index row) const;  // decision value of a binary task; NaN where tasks vote
  // Of the positive label of a binary task, or of the printed class; NaN where a task is not calibrated.
  double probability(Index row) const;
};

// Rows of tasks that the model does not know are an error, or scored by the mean decision value of some tasks that it knows, and given the
// mean of their probabilities if all of these are calibrated.
struct NewTask {
  enum class Kind { refused, group, task, common };
  Kind kind = Kind::refused;
  Index number = 0;       // of the group, as inspect numbers them
  std::string name = {};  // of a task, whose group it is

  static NewTask of_group(Index number) { return {Kind::group, number, {}}; }
  static NewTask like(std::string task) { return {Kind::task, 0, std::move(task)}; }
  static NewTask common() { return {Kind::common, 0, {}}; }  // all tasks
  bool operator==(const NewTask&) const = default;
};
std::string text_of(const NewTask& task);  // "group:2", "task:NAME", "common"; nothing: refused
bool read_text(std::string_view text, NewTask& task);  // false for other text

struct PredictSettings {
  PrecomputedMatrices precomputed = {};  // values between the rows and all training rows
  NewTask new_task = {};
  std::string source = "rows";  // names the data in messages
  int threads = 0;
  std::function<void(Index done, Index pieces)> progress = {};
};

// Columns of rows.X must be model.features_of_data().
Predictions predict(const Model& model, const Samples& rows, const PredictSettings& settings = {});

// The labels that a part may say: the two of a binary task, or all classes.
std::vector<std::string> labels_of(const Model& model, const PartPredictions& part);

// Probabilities of those labels, a column each, by the calibration of every task or by the plain sigmoid of every score; of a binary part
// with several scores the mean. A class that
// the part was not trained on has probability 0.
Matrix probabilities_of(const Model& model, const PartPredictions& part, bool calibrated);

}  // namespace coterie
