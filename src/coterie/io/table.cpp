#include "coterie/io/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "coterie/io/byte_input.hpp"
#include "coterie/io/idx_file.hpp"
#include "coterie/io/input_file.hpp"
#include "coterie/io/npy_file.hpp"
#include "coterie/io/text.hpp"

namespace coterie {
namespace detail {

std::shared_ptr<LineReader> InputFile::open() {
  if (kept != nullptr) {
    kept->rewind();
    return kept;
  }
  auto reader = std::make_shared<LineReader>(path, memory);
  if (!reader->is_regular()) kept = reader;
  return reader;
}

void check_file_tasks(const std::vector<InputFile>& files) {
  std::map<std::string, std::string> path_of;
  for (const InputFile& file : files) {
    if (file.task_given) continue;
    const auto [known, fresh] = path_of.emplace(file.task, file.path);
    if (fresh) continue;
    throw InputError(
        fmt::format("{} and {} would both be task '{}'. Name their tasks, as in {}:name, or give "
                    "them a task column.",
                    known->second, file.path, file.task, file.path));
  }
}

}  // namespace detail

namespace {

using detail::InputFile;

enum class Format { csv, libsvm, mat, idx, npy };

const char* name_of(Format format) {
  switch (format) {
    case Format::csv:
      return "CSV";
    case Format::libsvm:
      return "LIBSVM";
    case Format::mat:
      return "MATLAB";
    case Format::npy:
      return "NumPy";
    default:
      return "IDX";
  }
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_pipe(const std::string& path) {
  std::error_code ignored;
  return exists(path) && !std::filesystem::is_regular_file(path, ignored);
}

// "path" or "path:task".
InputFile parse_path(const std::string& text) {
  InputFile file{text, std::filesystem::path(detail::without_gz(text)).stem().string(), false,
                 nullptr, 0};
  const std::size_t colon = text.rfind(':');
  if (exists(text) || colon == std::string::npos || colon + 1 == text.size()) return file;
  if (!exists(text.substr(0, colon))) return file;
  file.path = text.substr(0, colon);
  file.task = text.substr(colon + 1);
  file.task_given = true;
  return file;
}

// "label index:value": the second word starts with digits or qid, and a colon. Comments may come before.
bool looks_like_libsvm(detail::LineReader& reader) {
  while (reader.next()) {
    const std::string_view line = detail::trim(reader.line());
    if (line.empty() || line.starts_with('#')) continue;
    const std::string_view rest =
        detail::trim(line.substr(std::min(line.find_first_of(" \t"), line.size())));
    const std::size_t digits = rest.find_first_not_of("0123456789");
    return rest.starts_with("qid:") ||
           (digits != 0 && digits != std::string_view::npos && rest[digits] == ':');
  }
  return false;
}

Format format_of(InputFile& file) {
  const std::string extension =
      std::filesystem::path(detail::without_gz(file.path)).extension().string();
  if (extension == ".npz" && exists(file.path))
    throw InputError(fmt::format(
        "{}: this is an .npz archive. Save its arrays one by one, with numpy.save: features as "
        "X.npy, labels as X-labels.npy, and tasks, if there are any, as X-tasks.npy.",
        file.path));
  for (const char* known : {".svm", ".libsvm", ".svmlight"}) {
    if (extension == known) return Format::libsvm;
  }
  for (const char* known : {".csv", ".tsv", ".tab"}) {
    if (extension == known) return Format::csv;
  }
  if (!is_pipe(file.path)) {  // what is no text must be a file
    const std::string start = detail::first_bytes(file.path, 20);
    const bool mat =
        start.starts_with("MATLAB 5.0 MAT-file") || start.starts_with("MATLAB 7.3 MAT-file");
    if (extension == ".mat" || mat) return Format::mat;
    if (extension == ".npy" || start.starts_with(detail::npy_magic)) return Format::npy;
    if (detail::parse_idx_name(file.path) || detail::looks_like_idx(start)) return Format::idx;
  }
  return looks_like_libsvm(*file.open()) ? Format::libsvm : Format::csv;
}

}  // namespace

std::vector<std::string> files_behind(const std::string& path) {
  std::vector<std::string> files = {parse_path(path).path};
  if (detail::is_npy_name(files.front()))
    for (const char* what : {"labels", "tasks"})
      if (const std::string beside = detail::find_npy_beside(files.front(), what); !beside.empty())
        files.push_back(beside);
  std::optional<detail::IdxName> idx = detail::parse_idx_name(files.front());
  if (!idx) return files;
  for (const detail::IdxType& type : detail::idx_types)
    for (const char* gz : {"", ".gz"}) {
      idx->gz = gz;
      const std::string labels = idx->labels(&type);
      if (exists(labels)) files.push_back(labels);
    }
  return files;
}

Samples read_samples(const std::vector<std::string>& paths, const TableOptions& options) {
  if (paths.empty()) throw InputError("no data file is given. Name at least one.");
  std::vector<InputFile> files;
  for (const std::string& path : paths) {
    files.push_back(parse_path(path));
    files.back().memory = options.memory.value_or(memory_for_tables());
  }

  const Format format = format_of(files.front());
  for (InputFile& file : files) {
    if (format_of(file) == format) continue;
    throw InputError(
        fmt::format("{} and {} are of different formats ({} and {}). Give files of one format.",
                    files.front().path, file.path, name_of(format), name_of(format_of(file))));
  }
  if (format == Format::idx) return detail::read_idx_files(files, options);
  if (files.size() == 1 && !files.front().task_given) files.front().task.clear();
  if (format == Format::mat) return detail::read_mat_files(files, options);
  if (format == Format::npy) return detail::read_npy_files(files, options);
  return format == Format::libsvm ? detail::read_libsvm_files(files, options)
                                  : detail::read_csv_files(files, options);
}

}  // namespace coterie
