// Samples to data files that read_samples reads back. Written whole or not at all (atomic_file.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/data/dataset.hpp"

namespace coterie {

// Features, then columns `label` and `task` if there are any. Tab separated for .tsv and .tab; gzip for .gz.
void write_csv(const Samples& samples, const std::string& path);

// The rows of one task, or of all when there is no more than one. Names of features and tasks are not kept; the first row shows the last
// feature even if it is 0, to keep their number. gzip for .gz.
void write_libsvm(const Samples& samples, const std::string& path, std::optional<Index> task = {});

// MATLAB 5, compressed: cells X and Y with one cell per task, or for samples without tasks a matrix X and a vector Y; labels that are
// numbers as doubles, others as a cell of texts. Beside them the cells of texts `feature_names` and `task_names`. The rows of
// a task keep their order.
void write_mat(const Samples& samples, const std::string& path);

// IDX, of one task as for LIBSVM. The name ends in .idx or is like train-images-idx3-ubyte; labels, which must be whole numbers, go
// beside it (digits-labels.idx, train-labels-idx1-ubyte). Features that are whole numbers from 0 to 255 are written as bytes,
// others as doubles. gzip for .gz. Returns the files written.
std::vector<std::string> write_idx(const Samples& samples, const std::string& path,
                                   std::optional<Index> task = {});

// NumPy's format, version 1.0: the features as doubles in path, a value for every row in path-labels and path-tasks (X-labels.npy beside
// X.npy), where there are some: whole numbers, doubles, or texts. Names of features are not kept. gzip for .gz. Returns the files written.
std::vector<std::string> write_npy(const Samples& samples, const std::string& path);

// Whether the ending says a format: .csv, .tsv, .tab, .svm, .libsvm, .svmlight, .npy, .idx or a name like train-images-idx3-ubyte, each
// perhaps with .gz; .mat.
bool names_a_table(const std::string& path);
void check_table_name(const std::string& path);  // throws InputError unless it does

struct WrittenFiles {
  std::vector<std::string> files;
  bool file_per_task =
      false;  // because the format holds one task a file: stem-task.svm, stem-task.idx
};

// The files that write_samples may write.
std::vector<std::string> files_to_write(const Samples& samples, const std::string& path);

// In the format that the name says.
WrittenFiles write_samples(const Samples& samples, const std::string& path);

}  // namespace coterie
