// Labelled samples from data files: CSV, TSV, LIBSVM, IDX, NumPy, plain or gzip; MATLAB. docs/data-formats.md has the details.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/data/dataset.hpp"

namespace coterie {

struct TableOptions {
  std::optional<std::string> label =
      {};  // the column of labels; default: "label"; a file beside .npy data
  std::optional<std::string> task = {};  // the column of task names; default: "task" when there
  ColumnNames trained = {};              // of a model: the defaults where a table has such columns
  std::vector<std::string> drop = {};    // columns to leave out
  std::vector<std::string> features = {};  // the columns of X, in this order; empty: all others
  bool label_required = true;         // false, for prediction: labels are read if they are there
  bool blank_labels = false;          // a label may be blank, for prediction
  std::optional<double> memory = {};  // bytes that the table may take; default: memory_for_tables()
};

// Reads the files as one table, and remembers the names of its columns for labels and tasks (Samples::columns). Every error is an InputError "file:line:column: what was found. What to do."
//
// CSV and TSV need a header; files are joined by the names of their columns. LIBSVM files (.svm, .libsvm, .svmlight, or by
// their content) have features f1, f2, ... up to the largest index; `features` and `drop` may choose among them.
//
// MATLAB files (.mat) hold cells X and Y, or feature and label, with one cell per task, named 1, 2, ...; or a matrix X and vectors Y and
// task. `label` and `task` may name other variables. IDX files (.idx, train-images-idx3-ubyte, or by their content) are images,
// with features f1, f2, ... row by row; their labels are found beside them by the usual name, or named behind them.
//
// NumPy files (.npy) are arrays of numbers, with features f1, f2, ... by column. `label` and `task` may name .npy files with a value for
// every row; otherwise these are found beside them, X-labels.npy and X-tasks.npy of X.npy.
//
// A table that would take more memory than it may is an error, as soon as that is certain and before the memory is taken.
//
// Several files without a task column are a task each, named by the file; "file:name" names the task of a file.
Samples read_samples(const std::vector<std::string>& paths, const TableOptions& options = {});

// The files that read_samples opens for one of its paths: without the task behind a colon, and with what may be the labels of IDX images, labels and tasks of .npy files.
std::vector<std::string> files_behind(const std::string& path);

}  // namespace coterie
