// LIBSVM and svmlight files: "label index:value index:value ...  # comment". Two passes: the first counts rows and finds the
// largest index, so that the second can write into the final matrix.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "coterie/data/names.hpp"
#include "coterie/io/input_file.hpp"
#include "coterie/io/text.hpp"

namespace coterie::detail {
namespace {

constexpr Index largest_index = 10'000'000;
constexpr double largest_libsvm = 1e10;        // entries
constexpr double libsvm_entries_a_byte = 1e4;  // of a file; the sparsest in use have some thousands

// The line without its comment and without spaces at its ends.
std::string_view content(const LineReader& reader) {
  const std::string_view line = reader.line();
  return trim(line.substr(0, line.find('#')));
}

bool is_space(char c) { return c == ' ' || c == '\t'; }

struct Size {
  Index rows = 0, columns = 0;
  double bytes = 0;  // of the files

  Index width(const TableOptions& options) const {
    return options.features.empty() ? columns : std::ssize(options.features);
  }
  double entries(const TableOptions& options) const {
    return static_cast<double>(rows) * static_cast<double>(width(options));
  }
  // Of memory. Labels and tasks are vectors that double.
  double table(const TableOptions& options) const {
    return 8 * entries(options) + 32 * static_cast<double>(rows);
  }
};

// A few bytes can name the largest index of all. So a file may ask for as much memory as suits its own size, unless the features are chosen.
double most_entries(const Size& size, const TableOptions& options) {
  if (!options.features.empty()) return largest_libsvm;
  return std::min(largest_libsvm, 1e6 + libsvm_entries_a_byte * size.bytes);
}

// Indices increase along a line, so the last is the largest. Lines that break the rules are left to the second pass.
void measure(InputFile& file, const TableOptions& options, Size& size) {
  const std::shared_ptr<LineReader> reader = file.open();
  const Index before = size.rows;
  size.bytes += reader->size();
  while (reader->next()) {
    const std::string_view line = content(*reader);
    if (line.empty()) continue;
    ++size.rows;
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) continue;
    const std::size_t start = line.find_last_of(" \t", colon) + 1;
    Index index = 0;
    std::from_chars(line.data() + start, line.data() + colon, index);
    if (index <= largest_index) size.columns = std::max(size.columns, index);
    if (size.entries(options) <= most_entries(size, options)) reader->need(size.table(options));
  }
  if (size.rows == before) reader->fail_file("the file has no samples.");
}

void check_size(const Size& size, const std::string& path, const TableOptions& options) {
  const double most = most_entries(size, options);
  if (size.entries(options) <= most) return;
  throw InputError(
      fmt::format("{}: {} samples of {} features are too many for a dense matrix from this file "
                  "({:.3g} entries at most). Choose features with `features`.",
                  path, size.rows, size.width(options), most));
}

// Where each index goes: target[index] is a column of X, or -1 for none.
struct Columns {
  std::vector<std::string> features;
  std::vector<Index> target;
};

Index index_of(const std::string& name) {
  Index index = 0;
  const char* end = name.data() + name.size();
  if (!name.starts_with('f')) return 0;
  const auto [after, problem] = std::from_chars(name.data() + 1, end, index);
  const bool good = problem == std::errc{} && after == end && fmt::format("f{}", index) == name;
  return good && index <= largest_index ? index : 0;
}

Columns choose_columns(const std::string& path, Index largest, const TableOptions& options) {
  Columns columns;
  columns.target.assign(largest + 1, -1);
  const auto checked = [&](const std::string& name, const char* option) {
    const Index index = index_of(name);
    if (index >= 1) return index;
    throw InputError(
        fmt::format("{}: {} names {}; a LIBSVM file has columns f1, f2, ... for its indices.", path,
                    option, show(name)));
  };
  std::vector<bool> dropped(largest + 1, false);
  for (const std::string& name : options.drop) {
    const Index index = checked(name, "`drop`");
    if (index <= largest) dropped[index] = true;
  }
  const auto add = [&](Index index) {
    columns.target[index] = static_cast<Index>(columns.features.size());
    columns.features.push_back(fmt::format("f{}", index));
  };
  for (const std::string& name : options.features) {
    const Index index = checked(name, "`features`");
    if (index > largest) {  // a sparse file need not show its last features
      columns.target.resize(std::max<std::size_t>(columns.target.size(), index + 1), -1);
      dropped.resize(columns.target.size(), false);
    }
    if (dropped[index] || columns.target[index] >= 0) {
      throw InputError(
          fmt::format("`features` names column '{}', which is {}. Take it out of one place.", name,
                      dropped[index] ? "dropped as well" : "there twice"));
    }
    add(index);
  }
  if (options.features.empty()) {
    columns.features.reserve(static_cast<std::size_t>(largest));
    for (Index index = 1; index <= largest; ++index) {
      if (!dropped[index]) add(index);
    }
  }
  return columns;
}

const char* word_end(const char* p, const char* end) {
  while (p != end && !is_space(*p)) ++p;
  return p;
}

// The pair at `at`: its index goes to `index`, its value is returned through `value`. Returns the end of the pair.
const char* read_pair(const LineReader& reader, const char* at, const char* end, Index& index,
                      double& value) {
  const auto [colon, problem] = std::from_chars(at, end, index);
  if (problem != std::errc{} || colon == end || *colon != ':') {
    const std::string_view word(at, word_end(at, end) - at);
    if (word.starts_with("qid:")) {
      reader.fail(at, "'qid:' marks ranking data, which cannot be used here. Remove these words.");
    }
    if (problem == std::errc::result_out_of_range) index = largest_index + 1;
    if (problem != std::errc::result_out_of_range) {
      reader.fail(
          at, fmt::format("found {} where a pair index:value should be. Correct it.", show(word)));
    }
  }
  if (index < 1)
    reader.fail(
        at, fmt::format("feature index {}; indices count from 1. Add 1 to all of them.", index));
  if (index > largest_index) {
    const std::string_view word(at, word_end(at, end) - at);
    reader.fail(
        at, fmt::format("feature index {} is above {}, the largest allowed. Renumber the features.",
                        show(word.substr(0, word.find(':'))), largest_index));
  }
  const char* start = colon + 1;
  const char* after = read_number(start, end, value);
  if (after != nullptr && (after == end || is_space(*after))) return after;
  const std::string_view word(start, word_end(start, end) - start);
  if (!parse_number(word, value)) {
    reader.fail(start, fmt::format("feature {} {}. Correct it.", index, describe_bad_number(word)));
  }
  return start + word.size();
}

void read_pairs(const LineReader& reader, const char* p, const char* end, const Columns& columns,
                double* row) {
  Index previous = 0;
  for (;;) {
    while (p != end && is_space(*p)) ++p;
    if (p == end) return;
    const char* const at = p;
    Index index = 0;
    double value = 0;
    p = read_pair(reader, at, end, index, value);
    if (index <= previous) {
      reader.fail(
          at,
          fmt::format(
              "feature index {} follows {}; indices must increase along a line. Sort this line's "
              "features.",
              index, previous));
    }
    previous = index;
    const bool known = index < static_cast<Index>(columns.target.size());
    if (known && columns.target[index] >= 0) row[columns.target[index]] = value;
  }
}

// The label at the start of the line, coded. Returns its end.
const char* read_label(const LineReader& reader, std::string_view line, Dictionary& labels,
                       std::vector<Index>& codes) {
  const char* const at = line.data();
  const char* const after = word_end(at, at + line.size());
  const std::string_view word(at, after - at);
  if (labels.find(word) < 0) {
    const std::string problem = describe_bad_name(word);
    if (!problem.empty()) reader.fail(at, fmt::format("the label {}. Correct it.", problem));
    if (word.find(':') != std::string_view::npos) {
      reader.fail(
          at, fmt::format(
                  "found {} where the label should be. Start the line with a label (0 if unknown).",
                  show(word)));
    }
    if (word.find(',') != std::string_view::npos) {
      reader.fail(at,
                  fmt::format("found several labels, {}. Give each sample one label.", show(word)));
    }
  }
  codes.push_back(labels.code(word));
  return after;
}

// Labels are numbers in most files: +1, 1 and 1.0 are the same one.
std::string plain_label(const std::string& text) {
  double value = 0;
  return parse_number(text, value) ? fmt::format("{}", value) : text;
}

}  // namespace

Samples read_libsvm_files(std::vector<InputFile>& files, const TableOptions& options) {
  if (options.task) {
    throw InputError(
        fmt::format("{}: a LIBSVM file has no task column '{}'. Name the task as in {}:name.",
                    files.front().path, *options.task, files.front().path));
  }
  check_file_tasks(files);
  Size size;
  for (InputFile& file : files) measure(file, options, size);
  check_size(size, files.front().path, options);
  const double table = size.table(options);
  files.back().open()->need(table);

  Columns columns = choose_columns(files.front().path, size.columns, options);
  Samples samples;
  samples.features = std::move(columns.features);
  samples.X = Matrix::Zero(size.rows, std::ssize(samples.features));
  Dictionary words, labels, tasks;
  Index row = 0;
  for (InputFile& file : files) {
    const std::shared_ptr<LineReader> reader = file.open();
    while (reader->next()) {
      const std::string_view line = content(*reader);
      if (line.empty()) continue;
      if (row == size.rows) reader->fail_file("the file changed while it was read. Try again.");
      const char* pairs = read_label(*reader, line, words, samples.label);
      reader->need(table + words.bytes());
      read_pairs(*reader, pairs, line.data() + line.size(), columns, samples.X.row(row++).data());
      if (!file.task.empty()) samples.task.push_back(tasks.code(file.task));
    }
  }
  if (row != size.rows)
    throw InputError(files.back().path + ": the file changed while it was read. Try again.");
  if (samples.features.empty()) throw InputError(files.front().path + ": there are no features.");

  std::vector<Index> label_of_word;
  for (const std::string& word : words.names())
    label_of_word.push_back(labels.code(plain_label(word)));
  for (Index& code : samples.label) code = label_of_word[code];
  samples.labels = labels.names();
  sort_labels(samples.labels, samples.label);
  samples.tasks = tasks.names();
  return samples;
}

}  // namespace coterie::detail
