// Samples as they come from files, and the binary tasks that are cast from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// Names of the columns that labels and tasks were read from. Empty where there is none, as in formats without names of columns; so tables
// are equal whatever these are.
struct ColumnNames {
  std::string label, task;
  bool operator==(const ColumnNames&) const = default;
};

// A table of labelled rows, before it is cast into binary tasks.
struct Samples {
  Matrix X;                           // one row per sample
  std::vector<std::string> features;  // names of the columns of X
  std::vector<Index> label;           // per row an index into `labels`; empty: no label column
  std::vector<std::string> labels;    // sorted: numbers by value before other text
  std::vector<Index> task;            // per row an index into `tasks`; empty: no task column
  std::vector<std::string> tasks;     // in order of first appearance
  ColumnNames columns;
  bool operator==(const Samples& other) const;
};

// Which task it is. Only users read its name: what it is about is said by the other members.
struct TaskId {
  std::string name;                // all different
  std::string negative, positive;  // label names of y = -1 and y = +1
  std::string part;                // value of the task column; empty when there is none
  bool operator==(const TaskId&) const = default;
};

// One binary problem: rows of the shared matrix X and their labels.
struct Task : TaskId {
  std::vector<Index> rows;  // into Dataset::X
  Vector y;                 // -1 or +1, one per row
  Index size() const { return static_cast<Index>(rows.size()); }
  bool operator==(const Task& other) const;
};

enum class Casting { binary, one_vs_one, one_vs_rest };

// Tasks over one matrix of samples: tasks may share rows (pairs of classes do).
struct Dataset {
  Dataset() = default;
  // From numbers and names at hand: a row of X, its label and its task (no tasks: a single one). Features are f1, f2, ..
  Dataset(Matrix rows, const std::vector<std::string>& labels,
          const std::vector<std::string>& task_of_row = {}, Casting into = Casting::binary);

  Matrix X;
  // Per row of X, > 0: what an error there costs beside others, a factor of C. Empty: all the same. Nothing but costs depends on it.
  Vector weight;
  std::vector<std::string> features;
  std::vector<Task> tasks;
  std::vector<std::string> classes;  // behind one_vs_one and one_vs_rest; empty for binary
  Casting casting = Casting::binary;
  ColumnNames columns;
  bool operator==(const Dataset& other) const;
};

std::string to_string(Casting casting);
std::optional<Casting> casting_from(const std::string& text);

// Makes tasks of the samples. Binary: one task per value of the task column (or a single task "all"); labels in the
// order of Samples::labels, the second is +1. one_vs_one: a task "a|b" per pair of classes, y = +1 for b (within
// every value of the task column, if there is one: "task:a|b"). one_vs_rest: a task "a|rest" per class, y = +1 for a.
// Where two tasks would then be called the same, as names of classes hold '|' or ':', such names stand in quotes: a|"b|c".
// Classes and tasks without rows are left out, and so are pairs of which a task lacks a class; a task with a single
// class is an error.
// Takes the samples by value to move X, not copy it.
Dataset cast_into_tasks(Samples samples, Casting casting);

// From numbers and names at hand: a row of X, its label and its task (no tasks: a single one). Features are f1, f2, .. unless named.
Samples make_samples(Matrix X, const std::vector<std::string>& labels,
                     const std::vector<std::string>& tasks = {},
                     std::vector<std::string> features = {});

// Throws InputError unless every task has a name of its own and both classes, and every number is finite.
void check_dataset(const Dataset& data);

// The dataset with, per task, only the rows listed (positions within the task). X is kept whole.
Dataset subset(const Dataset& data, const std::vector<std::vector<Index>>& kept);

}  // namespace coterie
