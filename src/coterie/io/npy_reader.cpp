// Samples from .npy files (npy_file.hpp): the array holds the features; labels and tasks are arrays of their own, named by the options or
// found beside it.
#include <fmt/format.h>

#include "coterie/io/columns.hpp"
#include "coterie/io/input_file.hpp"
#include "coterie/io/npy_file.hpp"

namespace coterie::detail {
namespace {

struct Wanted {
  std::string_view what;    // labels or tasks
  std::string_view option;  // that may name their file
  std::string given;        // by it
  bool required;
};

// The file of labels or tasks of an array; "": there is none.
std::string file_of(const InputFile& file, const Wanted& wanted, std::size_t files) {
  const std::string usual = npy_beside(file.path, wanted.what);
  if (is_npy_name(wanted.given)) {
    if (files > 1)
      throw InputError(fmt::format(
          "`{}` is {}, but there are {} files of data. Put the {} of each beside it, as {}.",
          wanted.option, wanted.given, files, wanted.what, usual));
    return wanted.given;
  }
  if (!wanted.given.empty())
    throw InputError(fmt::format(
        "`{0}` is '{1}'; the {2} of {3} are in a file of their own, as in `{0}` {2}.npy.",
        wanted.option, wanted.given, wanted.what, file.path));
  const std::string beside = find_npy_beside(file.path, wanted.what);
  if (beside.empty() && wanted.required)
    throw InputError(fmt::format(
        "{0}: a .npy file holds features only. Name the file of the {1}, as in `{2}` {1}.npy, "
        "or put it beside as {3}.",
        file.path, wanted.what, wanted.option, usual));
  return beside;
}

void read_names(const std::string& path, const InputFile& file, Index rows, Dictionary& dictionary,
                std::vector<Index>& codes) {
  NpyReader reader(path);
  if (reader.length() != rows)
    reader.fail(fmt::format("is {}, but {} has {} rows. Give one value for every row.",
                            reader.describe(), file.path, rows));
  reader.names(dictionary, codes, file.memory);
}

}  // namespace

Samples read_npy_files(const std::vector<InputFile>& files, const TableOptions& options) {
  const Wanted wanted_labels{"labels", "label", options.label.value_or(""), options.label_required};
  const Wanted wanted_tasks{"tasks", "task", options.task.value_or(""), options.task.has_value()};
  Samples samples;
  Dictionary labels, tasks;
  std::vector<InputFile> untold;  // whose rows are a task by their name
  for (const InputFile& file : files) {
    const std::string label_file = file_of(file, wanted_labels, files.size());
    const std::string task_file = file.task_given ? "" : file_of(file, wanted_tasks, files.size());
    Matrix X = NpyReader(file.path).numbers(
        file.memory - 8 * static_cast<double>(samples.X.rows() * (samples.X.cols() + 4)));
    const Index before = samples.X.rows(), rows = X.rows();
    if (before > 0 && X.cols() != samples.X.cols())
      throw InputError(
          fmt::format("{} has {} columns, but {} has {}. All files need the same features.",
                      file.path, X.cols(), files.front().path, samples.X.cols()));
    if (before > 0 && label_file.empty() != samples.label.empty())
      throw InputError(
          fmt::format("of {} and {} only one has labels. Give those of all files or of none.",
                      files.front().path, file.path));
    if (!label_file.empty()) read_names(label_file, file, rows, labels, samples.label);
    if (!task_file.empty())
      read_names(task_file, file, rows, tasks, samples.task);
    else if (!file.task.empty())
      samples.task.insert(samples.task.end(), static_cast<std::size_t>(rows),
                          tasks.code(file.task));
    if (task_file.empty()) untold.push_back(file);
    if (before == 0) {
      samples.X = std::move(X);
    } else {
      samples.X.conservativeResize(before + rows, Eigen::NoChange);
      samples.X.bottomRows(rows) = X;
    }
  }
  check_file_tasks(untold);
  samples.features = numbered_features(samples.X.cols());
  finish_samples(samples, labels, tasks, files.front().path, options);
  return samples;
}

}  // namespace coterie::detail
