// The files of one call of read_samples, and the readers of each format. Internal to this room.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coterie/io/line_reader.hpp"
#include "coterie/io/table.hpp"

namespace coterie::detail {

struct InputFile {
  std::string path;
  std::string task;                  // the task of all its rows, unless a column says
  bool task_given = false;           // as path:task
  std::shared_ptr<LineReader> kept;  // of a pipe, which cannot be opened twice
  double memory = 0;                 // bytes that the table of all files may take

  // A reader before the first line.
  std::shared_ptr<LineReader> open();
};

// Throws InputError when two files named alike would silently become one task.
void check_file_tasks(const std::vector<InputFile>& files);

Samples read_csv_files(std::vector<InputFile>& files, const TableOptions& options);
Samples read_libsvm_files(std::vector<InputFile>& files, const TableOptions& options);
Samples read_mat_files(const std::vector<InputFile>& files, const TableOptions& options);
Samples read_idx_files(const std::vector<InputFile>& files, const TableOptions& options);
Samples read_npy_files(const std::vector<InputFile>& files, const TableOptions& options);

}  // namespace coterie::detail
