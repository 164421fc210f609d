#include "coterie/io/csv_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "coterie/data/names.hpp"
#include "coterie/io/input_file.hpp"
#include "coterie/io/row_buffer.hpp"
#include "coterie/io/text.hpp"

namespace coterie::detail {
namespace {

enum class Role { feature, label, task, skip };

struct Column {
  Role role = Role::skip;
  Index target = -1;  // of a feature: its column in X
};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Reads files one after the other into one table. The first file decides the columns.
class CsvTable {
 public:
  CsvTable(const TableOptions& options, bool several_files)
      : options_(options), several_files_(several_files) {}

  bool has_task_column() const { return has_task_; }

  void read(InputFile& file) {
    const std::shared_ptr<LineReader> reader = file.open();
    const Header header = read_header(*reader);
    plan_columns(*reader, header);
    if (has_task_ && file.task_given) {
      reader->fail_file(
          fmt::format("task '{}' is given for the file, but its column '{}' names tasks too. Leave "
                      "out one of them.",
                      file.task, task_column_));
    }
    const Index before = rows_->rows();
    while (next_row(*reader)) {
      read_row(*reader, header);
      if (!has_task_ && !file.task.empty()) task_.push_back(tasks_.code(file.task));
    }
    if (rows_->rows() == before) reader->fail_file("there is a header but no row of data.");
  }

  Samples finish() {
    Samples samples;
    samples.X = rows_->take();
    samples.features = std::move(features_);
    samples.label = std::move(label_);
    samples.labels = labels_.names();
    sort_labels(samples.labels, samples.label);
    samples.task = std::move(task_);
    samples.tasks = tasks_.names();
    samples.columns = {has_label_ ? label_column_ : "", has_task_ ? task_column_ : ""};
    return samples;
  }

 private:
  void plan_columns(const LineReader& reader, const Header& header);
  void find_features(const LineReader& reader, const Header& header);
  void choose_features(const LineReader& reader, const Header& header);
  void require_column(const LineReader& reader, const Header& header, const std::string& name,
                      const std::string& asked) const;
  std::string column_for(const Header& header, const std::optional<std::string>& given,
                         const std::string& trained, const std::string& usual) const;
  void make_room(const LineReader& reader);
  double bytes_of_row() const;
  void read_row(const LineReader& reader, const Header& header);
  const char* read_feature(const LineReader& reader, const Header& header, std::size_t column,
                           const char* at, double& value);
  std::string advice_on_column(const std::string& name, std::string_view text) const;
  const char* read_name(const LineReader& reader, const Header& header, std::size_t column,
                        const char* at, Dictionary& names, std::vector<Index>& codes);

  const TableOptions& options_;
  bool several_files_;
  std::string first_path_;
  bool has_label_ = false, has_task_ = false;
  std::string label_column_, task_column_;
  std::vector<Column> columns_;  // of the current file
  std::vector<std::string> features_;
  std::unique_ptr<RowBuffer> rows_;
  std::vector<Index> label_, task_;
  Dictionary labels_, tasks_;
  std::string scratch_;
};

void CsvTable::require_column(const LineReader& reader, const Header& header,
                              const std::string& name, const std::string& asked) const {
  if (header.has(name)) return;
  std::string hint;
  double number = 0;
  if (std::ranges::all_of(header.names,
                          [&](const auto& text) { return parse_number(text, number); })) {
    hint = " The first line must name the columns.";
  } else if (header.names.size() == 1 && header.names[0].find(';') != std::string::npos) {
    hint = " Separate the fields with commas or tabs, not ';'.";
  }
  reader.fail_file(fmt::format("no column is called {}{}; the columns are {}.{}", show(name), asked,
                               list_names(header.names, 8), hint));
}

// The column that is asked for, or that of the model, or the usual one: where a table lacks the model's, but has a column of the usual
// name that is no feature.
std::string CsvTable::column_for(const Header& header, const std::optional<std::string>& given,
                                 const std::string& trained, const std::string& usual) const {
  if (given) return *given;
  const bool has_usual = header.has(usual) && !contains(options_.features, usual);
  return trained.empty() || (!header.has(trained) && has_usual) ? usual : trained;
}

void CsvTable::plan_columns(const LineReader& reader, const Header& header) {
  for (const std::string& name : options_.drop)
    require_column(reader, header, name, ", which `drop` asks for");
  label_column_ = column_for(header, options_.label, options_.trained.label, "label");
  task_column_ = column_for(header, options_.task, options_.trained.task, "task");
  if (options_.label_required)
    require_column(
        reader, header, label_column_,
        options_.label ? ", which `label` asks for"
        : options_.trained.label.empty()
            ? "; say with `label` which column holds the labels"
            : ", as in the data of the model; say with `label` which column holds the labels");
  if (options_.task) require_column(reader, header, *options_.task, ", which `task` asks for");
  if (label_column_ == task_column_ && header.has(label_column_))
    throw InputError(
        fmt::format("{}: column '{}' cannot hold both the labels and the tasks. Name another for "
                    "`label` or `task`.",
                    reader.path(), label_column_));
  const auto dropped = [&](const std::string& name) { return contains(options_.drop, name); };
  if (options_.label_required && dropped(label_column_)) {
    throw InputError(
        fmt::format("column '{}' holds the labels, but `drop` names it. Take it out of `drop`.",
                    label_column_));
  }
  const bool has_label = header.has(label_column_) && !dropped(label_column_);
  const bool has_task = header.has(task_column_) && !dropped(task_column_) &&
                        !contains(options_.features, task_column_);

  columns_.assign(header.names.size(), {});
  for (std::size_t c = 0; c < header.names.size(); ++c) {
    if (has_label && header.names[c] == label_column_) columns_[c].role = Role::label;
    if (has_task && header.names[c] == task_column_) columns_[c].role = Role::task;
  }
  if (!rows_) {
    first_path_ = reader.path();
    has_label_ = has_label;
    has_task_ = has_task;
    choose_features(reader, header);
    rows_ = std::make_unique<RowBuffer>(static_cast<Index>(features_.size()));
  }
  const auto compare = [&](bool has, bool first_has, const std::string& name) {
    if (has == first_has) return;
    const auto &with = has ? reader.path() : first_path_,
               &without = has ? first_path_ : reader.path();
    throw InputError(
        fmt::format("{} has a column '{}' but {} has none. All files need the same columns.", with,
                    name, without));
  };
  compare(has_label, has_label_, label_column_);
  compare(has_task, has_task_, task_column_);
  find_features(reader, header);
}

// The names of the features, from the options or else all columns that nothing else uses.
void CsvTable::choose_features(const LineReader& reader, const Header& header) {
  features_ = options_.features;
  std::unordered_set<std::string> seen;
  for (const std::string& name : features_) {
    require_column(reader, header, name, ", which `features` asks for");
    const bool used = (has_label_ && name == label_column_) || contains(options_.drop, name);
    if (used || !seen.insert(name).second) {
      throw InputError(
          fmt::format("`features` names column '{}', which is {}. Take it out of one place.", name,
                      used ? "the label or dropped as well" : "there twice"));
    }
  }
  if (!features_.empty()) return;
  const std::unordered_set<std::string> drop(options_.drop.begin(), options_.drop.end());
  for (std::size_t c = 0; c < header.names.size(); ++c) {
    if (columns_[c].role == Role::skip && !drop.contains(header.names[c]))
      features_.push_back(header.names[c]);
  }
  if (features_.empty()) reader.fail_file("no column is left for the features.");
}

void CsvTable::find_features(const LineReader& reader, const Header& header) {
  std::unordered_map<std::string, Index> target;
  for (std::size_t j = 0; j < features_.size(); ++j) target[features_[j]] = static_cast<Index>(j);
  std::size_t found = 0;
  for (std::size_t c = 0; c < header.names.size(); ++c) {
    const auto place = target.find(header.names[c]);
    if (place != target.end() && columns_[c].role == Role::skip) {
      columns_[c] = {Role::feature, place->second};
      ++found;
    } else if (columns_[c].role == Role::skip && options_.features.empty() &&
               !contains(options_.drop, header.names[c])) {
      reader.fail(header.places[c],
                  fmt::format("column '{}' is not in {}. All files need the same columns.",
                              header.names[c], first_path_));
    }
  }
  if (found == features_.size()) return;
  for (const std::string& name : features_) {
    if (header.has(name)) continue;
    reader.fail_file(
        fmt::format("column '{}' is missing, which {} has. All files need the same columns.", name,
                    first_path_));
  }
}

// With label and task, vectors that double.
double CsvTable::bytes_of_row() const { return 8.0 * static_cast<double>(features_.size() + 4); }

void CsvTable::make_room(const LineReader& reader) {
  const double names = labels_.bytes() + tasks_.bytes();
  reader.need(names + bytes_of_row() * static_cast<double>(rows_->rows() + 1));
  // With several files the share of one file says little about the rows to come.
  rows_->grow(several_files_ ? 0 : reader.fraction_read(),
              (reader.memory() - names) / bytes_of_row());
}

void CsvTable::read_row(const LineReader& reader, const Header& header) {
  if (rows_->is_full()) make_room(reader);
  double* row = rows_->add_row();
  const char* p = reader.begin();
  const char* const end = reader.end();
  const std::size_t count = columns_.size();
  for (std::size_t c = 0; c < count; ++c) {
    const Column& column = columns_[c];
    if (column.role == Role::feature) {
      double& value = row[column.target];
      const char* after = read_number(p, end, value);
      const bool plain = after != nullptr && (after == end || *after == header.delimiter);
      p = plain ? after : read_feature(reader, header, c, p, value);
    } else if (column.role == Role::label) {
      p = read_name(reader, header, c, p, labels_, label_);
    } else if (column.role == Role::task) {
      p = read_name(reader, header, c, p, tasks_, task_);
    } else {
      p = read_field(reader, p, header.delimiter, scratch_).after;
    }
    if (c + 1 == count) break;
    if (p == end) fail_ragged(reader, p, c + 1, count, "the header");
    ++p;
  }
  if (p != end) {
    fail_ragged(reader, p, count + count_fields(reader, p + 1, header.delimiter), count,
                "the header");
  }
}

// What to do where a column holds no number. The first row of a column of words may well name a task.
std::string CsvTable::advice_on_column(const std::string& name, std::string_view text) const {
  if (!options_.features.empty())
    return fmt::format("Correct it, or take {} out of `features`.", name);
  const auto first = static_cast<unsigned char>(text.empty() ? ' ' : text.front());
  const bool a_word = first >= 0x80 || std::isalpha(first) != 0;
  const bool no_number = describe_bad_number(text).ends_with("not a number");  // nor nan, inf
  if (rows_->rows() == 1 && !has_task_ && !options_.task && a_word && no_number)
    return fmt::format(
        "If it says which task a row belongs to, name it with `task` {0}; else correct it, or "
        "leave the column out with `drop` {0}.",
        name);
  return fmt::format("Correct it, or leave the column out with `drop` {}.", name);
}

// A feature that is quoted, has spaces or a plus sign, or is wrong.
const char* CsvTable::read_feature(const LineReader& reader, const Header& header,
                                   std::size_t column, const char* at, double& value) {
  const Field field = read_field(reader, at, header.delimiter, scratch_);
  if (!parse_number(field.text, value)) {
    // A row with a field missing or too many has shifted what follows: then that is the error.
    const std::size_t count = count_fields(reader, reader.begin(), header.delimiter);
    if (count != columns_.size()) fail_ragged(reader, at, count, columns_.size(), "the header");
    const std::string& name = header.names[column];
    reader.fail(at, fmt::format("column '{}' {}. {}", name, describe_bad_number(field.text),
                                advice_on_column(name, field.text)));
  }
  return field.after;
}

const char* CsvTable::read_name(const LineReader& reader, const Header& header, std::size_t column,
                                const char* at, Dictionary& names, std::vector<Index>& codes) {
  const Field field = read_field(reader, at, header.delimiter, scratch_);
  Index code = names.find(field.text);
  if (code < 0) {
    const std::string problem = describe_bad_name(field.text);
    // A table to predict often has the column of labels, still blank.
    const bool blank =
        field.text.empty() && options_.blank_labels && columns_[column].role == Role::label;
    if (!problem.empty() && !blank) {
      reader.fail(at, fmt::format("column '{}' {}. Every row needs a {}, as UTF-8 text.",
                                  header.names[column], problem,
                                  columns_[column].role == Role::label ? "label" : "task name"));
    }
    code = names.code(field.text);
    reader.need(labels_.bytes() + tasks_.bytes() +
                bytes_of_row() * static_cast<double>(rows_->rows()));
  }
  codes.push_back(code);
  return field.after;
}

}  // namespace

Header read_header(LineReader& reader) {
  if (!reader.next()) reader.fail_file("the file is empty. It needs a header and rows of data.");
  Header header{delimiter_of(reader), {}, {}, {}};
  std::string scratch;
  constexpr double bytes_of_column = 300;  // a name here and in the table, and where it is found
  double bytes = 0;
  for (const char* p = reader.begin();;) {
    const Field field = read_field(reader, p, header.delimiter, scratch);
    const std::string name(field.text);
    reader.need(bytes += bytes_of_column + 4 * static_cast<double>(name.size()));
    const std::string problem = describe_bad_name(name);
    if (!problem.empty()) {
      reader.fail(
          p, fmt::format(
                 "the name of column {} {}. The first line must name every column, as UTF-8 text.",
                 header.names.size() + 1, problem));
    }
    if (!header.known.insert(name).second) {
      reader.fail(p, fmt::format("two columns are called '{}'. Rename one of them.", name));
    }
    header.names.push_back(name);
    header.places.push_back(p);
    if (field.after == reader.end()) return header;
    p = field.after + 1;
  }
}

bool next_row(LineReader& reader) {
  if (!reader.next()) return false;
  if (reader.begin() != reader.end()) return true;
  while (reader.next()) {
    if (reader.begin() == reader.end()) continue;
    reader.fail(reader.begin(), "the line before is blank. Remove blank lines between rows.");
  }
  return false;
}

TextRow split_row(const LineReader& reader, const Header& header) {
  TextRow row;
  std::string scratch;
  for (const char* p = reader.begin();;) {
    const Field field = read_field(reader, p, header.delimiter, scratch);
    row.fields.emplace_back(field.text);
    row.places.push_back(p);
    if (field.after == reader.end()) break;
    p = field.after + 1;
  }
  if (row.fields.size() != header.names.size())
    fail_ragged(reader, reader.end(), row.fields.size(), header.names.size(), "the header");
  return row;
}

void fail_ragged(const LineReader& reader, const char* at, std::size_t found, std::size_t wanted,
                 const std::string& wanted_by) {
  reader.fail(
      at, fmt::format("{} field{}, but {} has {}. Give every row the same number of fields.", found,
                      found == 1 ? "" : "s", wanted_by, wanted));
}

std::size_t count_fields(const LineReader& reader, const char* at, char delimiter) {
  std::string scratch;
  for (std::size_t count = 1;; ++count) {
    const Field field = read_field(reader, at, delimiter, scratch);
    if (field.after == reader.end()) return count;
    at = field.after + 1;
  }
}

Samples read_csv_files(std::vector<InputFile>& files, const TableOptions& options) {
  CsvTable table(options, files.size() > 1);
  for (InputFile& file : files) table.read(file);
  if (!table.has_task_column()) check_file_tasks(files);
  return table.finish();
}

}  // namespace coterie::detail
