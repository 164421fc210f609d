#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "coterie/io/idx_file.hpp"
#include "coterie/io/npy_file.hpp"
#include "coterie/io/text.hpp"
#include "coterie/io/write_table.hpp"

namespace coterie {
namespace {

enum class OutputFormat { none, csv, libsvm, mat, idx, npy };

OutputFormat output_format_of(const std::string& path) {
  const std::string extension =
      std::filesystem::path(detail::without_gz(path)).extension().string();
  if (extension == ".csv" || extension == ".tsv" || extension == ".tab") return OutputFormat::csv;
  if (extension == ".svm" || extension == ".libsvm" || extension == ".svmlight")
    return OutputFormat::libsvm;
  if (path.ends_with(".mat")) return OutputFormat::mat;
  if (extension == ".npy") {  // the names of what belongs to others are no data
    const std::string stem = std::filesystem::path(detail::without_gz(path)).stem().string();
    return stem.ends_with("-labels") || stem.ends_with("-tasks") ? OutputFormat::none
                                                                 : OutputFormat::npy;
  }
  const std::optional<detail::IdxName> idx = detail::parse_idx_name(path);
  return idx && !idx->stem.ends_with("labels") ? OutputFormat::idx : OutputFormat::none;
}

// A task's name as a part of a file's name.
std::string file_part(std::string name) {
  std::ranges::replace_if(
      name,
      [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.';
      },
      '_');
  return name;
}

// The file of a task: "a/b.svm.gz" gives "a/b-task.svm.gz".
std::string task_path(const std::string& path, const std::string& task) {
  if (const auto idx = detail::parse_idx_name(path)) return idx->images_of(file_part(task));
  const std::string plain = detail::without_gz(path),
                    extension = std::filesystem::path(plain).extension().string();
  return plain.substr(0, plain.size() - extension.size()) + "-" + file_part(task) + extension +
         path.substr(plain.size());
}

WrittenFiles write_tasks(const Samples& samples, const std::string& path, OutputFormat format) {
  std::vector<std::string> paths;
  for (const std::string& task : samples.tasks) {
    paths.push_back(task_path(path, task));
    if (std::ranges::count(paths, paths.back()) > 1) {
      throw InputError(
          fmt::format("tasks would share the file {}; rename them, or write CSV.", paths.back()));
    }
  }
  if (format == OutputFormat::idx)  // the labels of "T" have the name of the images of "T-labels"
    for (const std::string& task : samples.tasks)
      if (task.find("labels") != std::string::npos || task.find("images") != std::string::npos)
        throw InputError(fmt::format(
            "task '{}' would be mixed up with files of labels and images; rename it, or write CSV.",
            task));
  WrittenFiles written{{}, true};
  for (std::size_t t = 0; t < paths.size(); ++t) {
    std::vector<std::string> files = {paths[t]};
    if (format == OutputFormat::idx)
      files = write_idx(samples, paths[t], static_cast<Index>(t));
    else
      write_libsvm(samples, paths[t], static_cast<Index>(t));
    written.files.insert(written.files.end(), files.begin(), files.end());
  }
  return written;
}

}  // namespace

bool names_a_table(const std::string& path) { return output_format_of(path) != OutputFormat::none; }

void check_table_name(const std::string& path) {
  if (names_a_table(path)) return;
  if (path.ends_with(".mat.gz")) {
    throw InputError(
        fmt::format("{}: MATLAB files are compressed inside; let the name end in .mat.", path));
  }
  throw InputError(
      fmt::format("{}: the ending must say the format: .csv, .tsv, .svm, .npy or .idx, perhaps "
                  "followed by .gz, or .mat.",
                  path));
}

std::vector<std::string> files_to_write(const Samples& samples, const std::string& path) {
  const OutputFormat format = output_format_of(path);
  const bool one_task = format == OutputFormat::libsvm || format == OutputFormat::idx;
  std::vector<std::string> files;
  if (one_task && samples.tasks.size() > 1)
    for (const std::string& task : samples.tasks) files.push_back(task_path(path, task));
  else
    files.push_back(path);
  if (format == OutputFormat::npy) {
    if (!samples.label.empty()) files.push_back(detail::npy_beside(path, "labels"));
    if (!samples.task.empty()) files.push_back(detail::npy_beside(path, "tasks"));
  }
  if (format != OutputFormat::idx) return files;
  const std::vector<std::string> images = files;
  for (const std::string& file : images)
    if (const auto idx = detail::parse_idx_name(file))
      for (const detail::IdxType& type : detail::idx_types) files.push_back(idx->labels(&type));
  return files;
}

WrittenFiles write_samples(const Samples& samples, const std::string& path) {
  check_table_name(path);
  const OutputFormat format = output_format_of(path);
  const bool one_task = format == OutputFormat::libsvm || format == OutputFormat::idx;
  if (one_task && samples.tasks.size() > 1) return write_tasks(samples, path, format);
  if (format == OutputFormat::idx) return {write_idx(samples, path)};
  if (format == OutputFormat::npy) return {write_npy(samples, path)};
  if (format == OutputFormat::libsvm)
    write_libsvm(samples, path);
  else if (format == OutputFormat::mat)
    write_mat(samples, path);
  else
    write_csv(samples, path);
  return {{path}};
}

}  // namespace coterie
