// MATLAB files: the variables of features, labels and tasks, found by their names and turned into samples.
#include <fmt/format.h>
#include <matio.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <set>
#include <span>

#include "coterie/data/names.hpp"
#include "coterie/io/columns.hpp"
#include "coterie/io/input_file.hpp"
#include "coterie/io/mat_source.hpp"
#include "coterie/io/text.hpp"

namespace coterie::detail {
namespace {

using Names = std::vector<std::string>;
using Variable = std::unique_ptr<matvar_t, void (*)(matvar_t*)>;

// What MALSAR, LandmineData and others call them; in any case.
const Names feature_variables = {"X", "feature", "features", "data"};
const Names label_variables = {"Y", "label", "labels", "target", "targets"};
const Names task_variables = {"task", "tasks"};
constexpr double largest_mat = 1e10;        // entries
constexpr double mat_entries_a_byte = 1e3;  // of a file: one in 12000 of a sparse matrix

bool same_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string join_or(const Names& names) {
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

const char* class_name(const matvar_t& variable) {
  static constexpr const char* names[] = {
      "empty", "cell",  "struct", "object", "char",   "sparse", "double", "single",   "int8",
      "uint8", "int16", "uint16", "int32",  "uint32", "int64",  "uint64", "function", "object"};
  if (variable.isLogical) return variable.class_type == MAT_C_SPARSE ? "sparse" : "logical";
  return names[variable.class_type];
}

std::span<const std::size_t> shape(const matvar_t& variable) {
  return {variable.dims, static_cast<std::size_t>(std::max(0, variable.rank))};
}

// "3 x 4 double"
std::string describe(const matvar_t& variable) {
  return fmt::format("{} {}", fmt::join(shape(variable), " x "), class_name(variable));
}

std::size_t count(const matvar_t& variable) {
  std::size_t product = variable.rank > 0 ? 1 : 0;
  for (const std::size_t n : shape(variable)) product *= n;  // checked with the file
  return product;
}

std::span<matvar_t* const> cells(const matvar_t& variable) {
  if (variable.data == nullptr) return {};
  return {static_cast<matvar_t* const*>(variable.data), count(variable)};
}

bool is_number(const matvar_t& variable) {
  return variable.class_type >= MAT_C_SPARSE && variable.class_type <= MAT_C_UINT64;
}

// The k-th of an array's numbers.
double number_at(const void* data, matio_types type, std::size_t k) {
  const auto at = [&]<typename T>(T) {
    return static_cast<double>(static_cast<const T*>(data)[k]);
  };
  switch (type) {
    case MAT_T_DOUBLE:
      return at(0.0);
    case MAT_T_SINGLE:
      return at(0.0F);
    case MAT_T_INT8:
      return at(mat_int8_t{});
    case MAT_T_UINT8:
      return at(mat_uint8_t{});
    case MAT_T_INT16:
      return at(mat_int16_t{});
    case MAT_T_UINT16:
      return at(mat_uint16_t{});
    case MAT_T_INT32:
      return at(mat_int32_t{});
    case MAT_T_UINT32:
      return at(mat_uint32_t{});
    case MAT_T_INT64:
      return at(mat_int64_t{});
    case MAT_T_UINT64:
      return at(mat_uint64_t{});
    default:
      return std::nan("");
  }
}

matio_types type_of_class(matio_classes kind) {
  switch (kind) {
    case MAT_C_SINGLE:
      return MAT_T_SINGLE;
    case MAT_C_INT8:
      return MAT_T_INT8;
    case MAT_C_UINT8:
      return MAT_T_UINT8;
    case MAT_C_INT16:
      return MAT_T_INT16;
    case MAT_C_UINT16:
      return MAT_T_UINT16;
    case MAT_C_INT32:
      return MAT_T_INT32;
    case MAT_C_UINT32:
      return MAT_T_UINT32;
    case MAT_C_INT64:
      return MAT_T_INT64;
    case MAT_C_UINT64:
      return MAT_T_UINT64;
    default:
      return MAT_T_DOUBLE;
  }
}

void append_utf8(std::string& text, std::uint32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr std::uint32_t lead[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(lead[more] | c >> (6 * more));
  for (int k = more - 1; k >= 0; --k) text += static_cast<char>(0x80 | (c >> (6 * k) & 0x3f));
}

// UTF-8 of row i of an array of characters, without the blanks that pad it.
std::string text_row(const matvar_t& variable, std::size_t i) {
  const std::size_t rows = variable.dims[0], columns = variable.dims[1];
  std::string text;
  if (variable.data_size == 1 && variable.data_type == MAT_T_UTF8 && rows == 1) {
    text.assign(static_cast<const char*>(variable.data), variable.nbytes);
    text = text.substr(0, text.find('\0'));
  } else {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t k = i + j * rows;
      std::uint32_t c = variable.data_size == 1
                            ? static_cast<const std::uint8_t*>(variable.data)[k]
                            : static_cast<const std::uint16_t*>(variable.data)[k];
      if (c >= 0xd800 && c < 0xdc00 && variable.data_size == 2 && j + 1 < columns) {
        const std::uint32_t low = static_cast<const std::uint16_t*>(variable.data)[k + rows];
        if (low >= 0xdc00 && low < 0xe000) {
          c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
          ++j;
        }
      }
      append_utf8(text, c);
    }
  }
  while (rows > 1 && text.ends_with(' ')) text.pop_back();
  return text;
}

// Texts as libmatio gives them, in one or two bytes a character.
bool is_text(const matvar_t& variable) {
  return variable.class_type == MAT_C_CHAR && variable.rank == 2 &&
         (variable.data_size == 1 || variable.data_size == 2) &&
         (variable.data != nullptr || count(variable) == 0);
}

class MatFile {
 public:
  explicit MatFile(const InputFile& file)
      : path_(file.path), source_(file.path), mat_(open(source_), Mat_Close) {
    if (!mat_) fail("cannot be read as a MATLAB file. Save it with -v7.");
    while (matvar_t* next = Mat_VarReadNextInfo(mat_.get())) {
      Variable variable(next, Mat_VarFree);
      if (variable->name != nullptr && *variable->name != '\0' && variable->dims != nullptr)
        variables_.push_back(std::move(variable));
    }
    if (variables_.empty()) fail("holds no variables. Save X and Y into it.");
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(fmt::format("{}: {}", path_, message));
  }

  // The variable with one of the names, with its values; nullptr: there is none. Several are an error.
  matvar_t* find(const Names& names, const std::string& what, const std::string& advice) {
    std::vector<matvar_t*> found;
    for (const Variable& variable : variables_) {
      if (std::ranges::any_of(names, [&](const std::string& name) {
            return same_in_any_case(name, variable->name);
          }))
        found.push_back(variable.get());
    }
    if (found.empty()) return nullptr;
    if (found.size() > 1) {
      Names shown;
      for (const matvar_t* variable : found) shown.emplace_back(variable->name);
      fail(fmt::format("several variables could be the {}: {}. {} The file holds {}.", what,
                       list_names(shown), advice, contents()));
    }
    return load(*found.front());
  }

  matvar_t* find_exactly(const std::string& name, const char* option) {
    for (const Variable& variable : variables_) {
      if (name == variable->name) return load(*variable);
    }
    fail(fmt::format("no variable is called {}, which {} asks for; the file holds {}.", show(name),
                     option, contents()));
  }

  // "X (1 x 3 cell), Y (1 x 3 cell)"
  std::string contents() const {
    Names shown;
    for (const Variable& variable : variables_)
      shown.push_back(fmt::format("{} ({})", show_name(variable->name), describe(*variable)));
    return list_names(shown, 12);
  }

  // An array of numbers with two dimensions, none of them 0. `place` is how a message calls it.
  void check_matrix(const matvar_t* variable, const std::string& place) const {
    if (variable == nullptr || count(*variable) == 0 || variable->class_type == MAT_C_EMPTY)
      fail(fmt::format("{} is empty{}. Every task needs rows and features.", place,
                       variable != nullptr && variable->rank == 2
                           ? fmt::format(" ({})", describe(*variable))
                           : ""));
    if (!is_number(*variable))
      fail(fmt::format("{} is a {} array, where a matrix of numbers should be.", place,
                       describe(*variable)));
    if (variable->rank != 2)
      fail(fmt::format("{} is a {} array, where a matrix of two dimensions should be.", place,
                       describe(*variable)));
    if (variable->isComplex != 0)
      fail(fmt::format("{} is complex; only real numbers can be used. Take its real part.", place));
    if (variable->data == nullptr) fail_damaged(place);
    check_size(static_cast<double>(variable->dims[0]), static_cast<double>(variable->dims[1]),
               place);
  }

  // A sparse matrix of any size fits into a small file, but not into memory, where it is dense.
  void check_size(double rows, double columns, const std::string& place) const {
    const double most = std::min(largest_mat, 1e6 + mat_entries_a_byte * source_.file_size());
    if (rows * columns <= most) return;
    fail(fmt::format(
        "{} has {} x {} entries, too many for a dense matrix from this file ({:.3g} at most). "
        "Leave out columns that are all zero, or divide it.",
        place, rows, columns, most));
  }

  // The numbers of a checked array, with none of them infinite or NaN.
  Matrix numbers(const matvar_t& variable, const std::string& place) const {
    const auto rows = static_cast<Index>(variable.dims[0]),
               columns = static_cast<Index>(variable.dims[1]);
    Matrix X = Matrix::Zero(rows, columns);
    const auto put = [&](Index i, Index j, double value) {
      if (!std::isfinite(value))
        fail(fmt::format("{}({},{}) {}", place, i + 1, j + 1, describe_not_finite(value)));
      X(i, j) = value;
    };
    if (variable.class_type == MAT_C_SPARSE) {
      const auto& sparse = *static_cast<const mat_sparse_t*>(variable.data);
      if (sparse.njc != static_cast<std::uint64_t>(columns) + 1 || sparse.jc == nullptr)
        fail_damaged(place);
      for (Index j = 0; j < columns; ++j) {
        for (mat_uint32_t k = sparse.jc[j]; k < sparse.jc[j + 1]; ++k) {
          if (k >= sparse.nir || k >= sparse.ndata || sparse.data == nullptr ||
              sparse.ir[k] >= variable.dims[0])
            fail_damaged(place);
          put(static_cast<Index>(sparse.ir[k]), j, number_at(sparse.data, variable.data_type, k));
        }
      }
    } else {
      const matio_types type = type_of_class(variable.class_type);
      for (Index j = 0; j < columns; ++j) {
        for (Index i = 0; i < rows; ++i)
          put(i, j, number_at(variable.data, type, static_cast<std::size_t>(i + j * rows)));
      }
    }
    return X;
  }

  // One text for each of the n rows that `of` has: from numbers, a cell of texts or rows of characters.
  Names names(const matvar_t* variable, const std::string& place, Index n,
              const std::string& of) const {
    Names found;
    if (variable != nullptr && variable->class_type == MAT_C_CELL) {
      const auto parts = cells(*variable);
      for (std::size_t k = 0; k < parts.size(); ++k)
        found.push_back(single_name(parts[k], fmt::format("{}{{{}}}", place, k + 1)));
    } else if (variable != nullptr && is_text(*variable)) {
      for (std::size_t i = 0; i < variable->dims[0]; ++i) found.push_back(text_row(*variable, i));
    } else {
      check_matrix(variable, place);
      if (variable->dims[0] == 1 || variable->dims[1] == 1) {
        const Matrix values = numbers(*variable, place);
        for (Index i = 0; i < values.size(); ++i)
          found.push_back(fmt::format("{}", values.data()[i]));
      }
    }
    if (std::ssize(found) != n)
      fail(fmt::format("{} ({}) does not fit {}, which needs {}.", place,
                       variable != nullptr ? describe(*variable) : "empty", of, n));
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::string problem = describe_bad_name(found[k]);
      if (!problem.empty())
        fail(fmt::format("entry {} of {} {}. Give a text in UTF-8.", k + 1, place, problem));
    }
    return found;
  }

 private:
  static mat_t* open(const MatSource& source) {
    Mat_LogInitFunc("coterie", [](int, char*) {});  // messages are ours
    return Mat_Open(source.path().c_str(), MAT_ACC_RDONLY);
  }

  static std::string show_name(const char* name) {
    return describe_bad_name(name).empty() ? std::string(name) : show(name);
  }

  [[noreturn]] void fail_damaged(const std::string& place) const {
    fail(fmt::format("the values of {} cannot be read; the file is damaged. Get a new copy.",
                     place));
  }

  matvar_t* load(matvar_t& variable) const {
    if (Mat_VarReadDataAll(mat_.get(), &variable) != 0) fail_damaged(variable.name);
    return &variable;
  }

  std::string single_name(const matvar_t* cell, const std::string& place) const {
    if (cell != nullptr && is_text(*cell) && cell->dims[0] <= 1)
      return count(*cell) == 0 ? std::string() : text_row(*cell, 0);
    if (cell != nullptr && is_number(*cell) && count(*cell) == 1 && cell->rank == 2) {
      check_matrix(cell, place);
      return fmt::format("{}", numbers(*cell, place)(0, 0));
    }
    fail(fmt::format("{} is {}, where a text or a number should be.", place,
                     cell != nullptr ? fmt::format("a {} array", describe(*cell)) : "empty"));
  }

  std::string path_;
  MatSource source_;
  std::unique_ptr<mat_t, int (*)(mat_t*)> mat_;
  std::vector<Variable> variables_;
};

// The samples of one file; labels and tasks not yet coded.
struct MatTable {
  Matrix X;
  Names features, label, task;
};

class MatTableReader {
 public:
  MatTableReader(const InputFile& input, const TableOptions& options)
      : mat_(input), options_(options) {
    X_ = mat_.find(feature_variables, "features",
                   "Leave one of them in the file, or rename the others.");
    if (X_ == nullptr) {
      mat_.fail(fmt::format(
          "no variable is called {}; the file holds {}. Rename the one with the features.",
          join_or(feature_variables), mat_.contents()));
    }
    Y_ = options.label && options.label_required
             ? mat_.find_exactly(*options.label, "`label`")
             : mat_.find(options.label ? Names{*options.label} : label_variables, "labels",
                         "Choose one with `label`.");
    if (Y_ == nullptr && options.label_required) {
      mat_.fail(
          fmt::format("no variable is called {}; the file holds {}. Rename the one with the "
                      "labels, or choose it with `label`.",
                      join_or(label_variables), mat_.contents()));
    }
  }

  MatTable read() {
    MatTable table = X_->class_type == MAT_C_CELL ? read_cells() : read_matrix();
    if (const matvar_t* names =
            mat_.find({"feature_names"}, "names of the features", "Leave one.")) {
      table.features = mat_.names(names, names->name, table.X.cols(),
                                  fmt::format("the columns of {}", X_->name));
      check_distinct(table.features, names->name);
    } else {
      table.features = numbered_features(table.X.cols());
    }
    return table;
  }

 private:
  void check_distinct(const Names& names, const std::string& variable) const {
    std::set<std::string_view> seen;
    for (const std::string& name : names) {
      if (!seen.insert(name).second)
        mat_.fail(fmt::format("{} has {} twice. Rename one of them.", variable, show(name)));
    }
  }

  // One cell per task.
  MatTable read_cells() {
    const auto X = cells(*X_);
    if (X.empty()) mat_.fail(fmt::format("{} has no cells. Every task needs one.", X_->name));
    if (options_.task) {
      mat_.fail(fmt::format("{} has a cell for each task, so `task` {} has no use. Leave it out.",
                            X_->name, *options_.task));
    }
    if (Y_ != nullptr && (Y_->class_type != MAT_C_CELL || count(*Y_) != X.size())) {
      mat_.fail(fmt::format(
          "{0} is a {1} array but {2} is a {3} array. Give {2} a cell for each cell of {0}.",
          X_->name, describe(*X_), Y_->name, describe(*Y_)));
    }
    MatTable table;
    Index rows = 0;
    for (std::size_t t = 0; t < X.size(); ++t) {
      mat_.check_matrix(X[t], place(*X_, t));
      if (X[t]->dims[1] != X[0]->dims[1]) {
        mat_.fail(fmt::format("{} has {} columns, but {} has {}. All tasks need the same features.",
                              place(*X_, t), X[t]->dims[1], place(*X_, 0), X[0]->dims[1]));
      }
      rows += static_cast<Index>(X[t]->dims[0]);
    }
    const auto columns = static_cast<Index>(X[0]->dims[1]);
    mat_.check_size(static_cast<double>(rows), static_cast<double>(columns), X_->name);
    const Names tasks = task_names(X.size());
    table.X.resize(rows, columns);
    Index first = 0;
    for (std::size_t t = 0; t < X.size(); ++t) {
      const auto n = static_cast<Index>(X[t]->dims[0]);
      table.X.middleRows(first, n) = mat_.numbers(*X[t], place(*X_, t));
      first += n;
      table.task.insert(table.task.end(), static_cast<std::size_t>(n), tasks[t]);
      if (Y_ == nullptr) continue;
      const Names labels =
          mat_.names(cells(*Y_)[t], place(*Y_, t), n, fmt::format("the rows of {}", place(*X_, t)));
      table.label.insert(table.label.end(), labels.begin(), labels.end());
    }
    return table;
  }

  Names task_names(std::size_t tasks) {
    Names names;
    if (const matvar_t* given = mat_.find({"task_names"}, "names of the tasks", "Leave one.")) {
      names = mat_.names(given, given->name, static_cast<Index>(tasks),
                         fmt::format("the cells of {}", X_->name));
      check_distinct(names, given->name);
      return names;
    }
    for (std::size_t t = 1; t <= tasks; ++t) names.push_back(fmt::format("{}", t));
    return names;
  }

  // All rows in one matrix.
  MatTable read_matrix() {
    MatTable table;
    mat_.check_matrix(X_, X_->name);
    table.X = mat_.numbers(*X_, X_->name);
    const auto read = [&](const matvar_t* variable) {
      return variable == nullptr ? Names{}
                                 : mat_.names(variable, variable->name, table.X.rows(),
                                              fmt::format("the rows of {}", X_->name));
    };
    table.label = read(Y_);
    table.task =
        read(options_.task ? mat_.find_exactly(*options_.task, "`task`")
                           : mat_.find(task_variables, "tasks", "Choose one with `task`."));
    return table;
  }

  static std::string place(const matvar_t& variable, std::size_t t) {
    return fmt::format("{}{{{}}}", variable.name, t + 1);
  }

  MatFile mat_;
  const TableOptions& options_;
  matvar_t *X_ = nullptr, *Y_ = nullptr;
};

void code(const Names& names, Dictionary& dictionary, std::vector<Index>& codes) {
  for (const std::string& name : names) codes.push_back(dictionary.code(name));
}

}  // namespace

Samples read_mat_files(const std::vector<InputFile>& files, const TableOptions& options) {
  check_file_tasks(files);
  Samples samples;
  Dictionary labels, tasks;
  for (const InputFile& file : files) {
    MatTable table = MatTableReader(file, options).read();
    if (!table.task.empty() && file.task_given) {
      throw InputError(
          fmt::format("{}: task '{}' is given for the file, but the file names tasks too. Leave "
                      "out one of them.",
                      file.path, file.task));
    }
    const bool first = &file == &files.front();
    if (first) {
      samples.features = table.features;
    } else if (table.features != samples.features || table.label.empty() != samples.label.empty()) {
      throw InputError(fmt::format(
          "{} and {} differ in their features or in whether they have labels. All files need the "
          "same.",
          files.front().path, file.path));
    }
    if (table.task.empty() && !file.task.empty()) {
      table.task.assign(static_cast<std::size_t>(table.X.rows()), file.task);
    } else if (files.size() > 1) {
      for (std::string& name : table.task) name = file.task + ":" + name;
    }
    code(table.label, labels, samples.label);
    code(table.task, tasks, samples.task);
    if (first) {
      samples.X = std::move(table.X);
    } else {
      const Index before = samples.X.rows();
      samples.X.conservativeResize(before + table.X.rows(), Eigen::NoChange);
      samples.X.bottomRows(table.X.rows()) = table.X;
    }
  }
  finish_samples(samples, labels, tasks, files.front().path, options);
  return samples;
}

}  // namespace coterie::detail
