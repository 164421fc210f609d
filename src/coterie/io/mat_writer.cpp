#include <fmt/format.h>
#include <matio.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <memory>

#include "coterie/io/atomic_file.hpp"
#include "coterie/io/memory_file.hpp"
#include "coterie/io/text.hpp"
#include "coterie/io/write_table.hpp"

namespace coterie {
namespace {

using Names = std::vector<std::string>;
using Variable = std::unique_ptr<matvar_t, void (*)(matvar_t*)>;
using Rows = std::vector<Index>;

constexpr double largest_variable = 2147483647;  // bytes, of MATLAB 5
constexpr const char* mat_description =
    "MATLAB 5.0 MAT-file, written by coterie";  // the same bytes each time

Variable checked(matvar_t* variable) {
  if (variable == nullptr) throw std::bad_alloc();
  return {variable, Mat_VarFree};
}

// libmatio copies the values, and takes what is put into a cell as its own.
Variable numbers(const char* name, std::size_t rows, std::size_t columns,
                 std::vector<double>& values) {
  std::array<std::size_t, 2> shape = {rows, columns};
  return checked(
      Mat_VarCreate(name, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, shape.data(), values.data(), 0));
}

Variable empty_cell(const char* name, std::size_t rows, std::size_t columns) {
  std::array<std::size_t, 2> shape = {rows, columns};
  return checked(Mat_VarCreate(name, MAT_C_CELL, MAT_T_CELL, 2, shape.data(), nullptr, 0));
}

std::u16string utf16(const std::string& text) {
  std::u16string out;
  for (std::size_t i = 0; i < text.size();) {  // names are sound UTF-8: describe_bad_name
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    char32_t c = length == 1 ? first : first & (0x7f >> length);
    for (std::size_t k = 1; k < length && i + k < text.size(); ++k)
      c = c << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f);
    i += length;
    if (c >= 0x10000) out += static_cast<char16_t>(0xd800 + ((c - 0x10000) >> 10));
    out += static_cast<char16_t>(c >= 0x10000 ? 0xdc00 + ((c - 0x10000) & 0x3ff) : c);
  }
  return out;
}

template <typename Texts>
Variable texts(const char* name, std::size_t rows, std::size_t columns, const Texts& text_of) {
  Variable cell = empty_cell(name, rows, columns);
  for (std::size_t k = 0; k < rows * columns; ++k) {
    std::u16string text = utf16(text_of(k));
    std::array<std::size_t, 2> shape = {1, text.size()};
    Mat_VarSetCell(
        cell.get(), static_cast<int>(k),
        checked(Mat_VarCreate(nullptr, MAT_C_CHAR, MAT_T_UTF16, 2, shape.data(), text.data(), 0))
            .release());
  }
  return cell;
}

Variable features_of(const char* name, const Samples& samples, const Rows& rows) {
  std::vector<double> values;
  values.reserve(rows.size() * static_cast<std::size_t>(samples.X.cols()));
  for (Index j = 0; j < samples.X.cols(); ++j) {
    for (const Index i : rows) values.push_back(samples.X(i, j));
  }
  return numbers(name, rows.size(), static_cast<std::size_t>(samples.X.cols()), values);
}

// Labels as doubles where each of them is the text of one.
std::optional<std::vector<double>> numbers_of(const Names& labels) {
  std::vector<double> values;
  for (const std::string& label : labels) {
    double value = 0;
    if (!detail::parse_number(label, value) || fmt::format("{}", value) != label) return {};
    values.push_back(value);
  }
  return values;
}

Variable labels_of(const char* name, const Samples& samples, const Rows& rows,
                   const std::optional<std::vector<double>>& values) {
  if (!values)
    return texts(name, rows.size(), 1,
                 [&](std::size_t k) { return samples.labels[samples.label[rows[k]]]; });
  std::vector<double> column;
  for (const Index i : rows) column.push_back((*values)[samples.label[i]]);
  return numbers(name, rows.size(), 1, column);
}

class MatWriter {
 public:
  MatWriter() : mat_(Mat_CreateVer(file_.path().c_str(), mat_description, MAT_FT_MAT5), Mat_Close) {
    Mat_LogInitFunc("coterie", [](int, char*) {});  // messages are ours
    if (!mat_) throw std::bad_alloc();
  }

  void add(const Variable& variable) {
    if (Mat_VarWrite(mat_.get(), variable.get(), MAT_COMPRESSION_ZLIB) != 0) throw std::bad_alloc();
  }

  void finish(const std::string& path) {
    if (Mat_Close(mat_.release()) != 0) throw std::bad_alloc();
    write_file_atomically(path, [this](const ByteSink& sink) {
      std::array<char, 1 << 16> bytes;
      off_t at = 0;
      for (ssize_t count = 0;
           (count = pread(file_.descriptor(), bytes.data(), bytes.size(), at)) > 0; at += count)
        sink({bytes.data(), static_cast<std::size_t>(count)});
    });
  }

 private:
  detail::MemoryFile file_;  // libmatio wants a path
  std::unique_ptr<mat_t, int (*)(mat_t*)> mat_;
};

}  // namespace

void write_mat(const Samples& samples, const std::string& path) {
  const double bytes = 8.0 * static_cast<double>(samples.X.size());
  if (bytes > 0.99 * largest_variable) {
    throw InputError(fmt::format(
        "{}: the features take {:.1f} GB, but a variable of a MATLAB 5 file has at most 2 GB. "
        "Write CSV, or fewer features.",
        path, bytes / 1e9));
  }
  const bool has_tasks = !samples.task.empty(), has_labels = !samples.label.empty();
  std::vector<Rows> rows(has_tasks ? samples.tasks.size() : 1);
  for (Index i = 0; i < samples.X.rows(); ++i)
    rows[has_tasks ? static_cast<std::size_t>(samples.task[i]) : 0].push_back(i);
  std::erase_if(rows, [](const Rows& task) { return task.empty(); });
  Names tasks;
  for (const Rows& task : rows)
    tasks.push_back(has_tasks ? samples.tasks[samples.task[task.front()]] : "");
  const auto values = numbers_of(samples.labels);

  MatWriter writer;
  if (!has_tasks) {
    writer.add(features_of("X", samples, rows[0]));
    if (has_labels) writer.add(labels_of("Y", samples, rows[0], values));
  } else {
    const Variable X = empty_cell("X", 1, rows.size()), Y = empty_cell("Y", 1, rows.size());
    for (std::size_t t = 0; t < rows.size(); ++t) {
      Mat_VarSetCell(X.get(), static_cast<int>(t),
                     features_of(nullptr, samples, rows[t]).release());
      if (has_labels)
        Mat_VarSetCell(Y.get(), static_cast<int>(t),
                       labels_of(nullptr, samples, rows[t], values).release());
    }
    writer.add(X);
    if (has_labels) writer.add(Y);
    writer.add(texts("task_names", 1, tasks.size(), [&](std::size_t t) { return tasks[t]; }));
  }
  writer.add(texts("feature_names", 1, samples.features.size(),
                   [&](std::size_t j) { return samples.features[j]; }));
  writer.finish(path);
}

}  // namespace coterie
