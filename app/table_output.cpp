#include "table_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "coterie/io/write_table.hpp"
#include "progress.hpp"

namespace coterie::app {
namespace {

std::string gz_of(const std::string& path) { return path.ends_with(".gz") ? ".gz" : ""; }

std::string extension_of(const std::string& path) {
  return std::filesystem::path(path.substr(0, path.size() - gz_of(path).size()))
      .extension()
      .string();
}

bool is_libsvm(const std::string& extension) {
  return extension == ".svm" || extension == ".libsvm" || extension == ".svmlight";
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

std::vector<std::string> write_tasks(const Samples& samples, const std::string& path) {
  std::vector<std::string> files;
  for (const std::string& task : samples.tasks) {
    files.push_back(with_ending(
        path, fmt::format("-{}{}{}", file_part(task), extension_of(path), gz_of(path))));
    if (std::ranges::count(files, files.back()) > 1)
      throw InputError(
          fmt::format("tasks would share the file {}; rename them, or write CSV.", files.back()));
  }
  for (std::size_t t = 0; t < files.size(); ++t)
    write_libsvm(samples, files[t], static_cast<Index>(t));
  return files;
}

}  // namespace

std::string with_ending(const std::string& path, const std::string& ending) {
  return path.substr(0, path.size() - gz_of(path).size() - extension_of(path).size()) + ending;
}

void check_table_name(const std::string& path) {
  const std::string extension = extension_of(path);
  const bool csv = extension == ".csv" || extension == ".tsv" || extension == ".tab";
  if (csv || is_libsvm(extension)) return;
  throw InputError(fmt::format(
      "{}: the ending must say the format: .csv, .tsv or .svm, perhaps followed by .gz.", path));
}

std::vector<std::string> write_samples(const Samples& samples, const std::string& path) {
  set_stage(Stage::writing);
  if (is_libsvm(extension_of(path))) {
    if (samples.tasks.size() > 1) return write_tasks(samples, path);
    write_libsvm(samples, path);
  } else {
    write_csv(samples, path);
  }
  return {path};
}

}  // namespace coterie::app
