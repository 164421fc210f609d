#include "coterie/io/write_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "coterie/data/names.hpp"
#include "coterie/io/byte_output.hpp"
#include "coterie/io/text.hpp"

namespace coterie {
namespace {

// Collects text and hands it on in pieces.
class TextWriter {
 public:
  explicit TextWriter(const ByteSink& sink) : sink_(sink) {}

  TextWriter& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  TextWriter& operator<<(double value) {
    std::array<char, 32> digits;
    const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text_.append(digits.data(), end);
    return *this;
  }
  TextWriter& operator<<(Index value) {
    text_ += fmt::format_int(value).c_str();
    return *this;
  }
  void end_line() {
    text_ += '\n';
    if (text_.size() >= (1 << 16)) flush();
  }
  void flush() {
    sink_(text_);
    text_.clear();
  }

 private:
  const ByteSink& sink_;
  std::string text_;
};

void write_text(const std::string& path, const std::function<void(TextWriter&)>& write) {
  detail::write_bytes(path, [&](const ByteSink& sink) {
    TextWriter out(sink);
    write(out);
    out.flush();
  });
}

std::string quoted(const std::string& name) {
  const bool plain =
      name.find_first_of(",\"\t;") == std::string::npos && detail::trim(name) == name;
  return plain ? name : in_quotes(name);
}

std::vector<std::string> all_quoted(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back(quoted(name));
  return result;
}

char delimiter_for(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  return path.ends_with(".tsv") || path.ends_with(".tab") ? '\t' : ',';
}

}  // namespace

void write_csv(const Samples& samples, const std::string& path) {
  for (const std::string& name : samples.features) {
    if ((name == "label" && !samples.label.empty()) || (name == "task" && !samples.task.empty())) {
      throw InputError(fmt::format(
          "{}: a feature is called '{}', like the column of {}s. Rename it.", path, name, name));
    }
  }
  const std::vector<std::string> labels = all_quoted(samples.labels),
                                 tasks = all_quoted(samples.tasks);
  const std::string delimiter(1, delimiter_for(path));
  write_text(path, [&](TextWriter& out) {
    std::string_view before;
    for (const std::string& name : samples.features) {
      out << before << quoted(name);
      before = delimiter;
    }
    if (!samples.label.empty()) out << delimiter << "label";
    if (!samples.task.empty()) out << delimiter << "task";
    out.end_line();
    for (Index i = 0; i < samples.X.rows(); ++i) {
      for (Index j = 0; j < samples.X.cols(); ++j)
        out << (j > 0 ? delimiter : "") << samples.X(i, j);
      if (!samples.label.empty()) out << delimiter << labels[samples.label[i]];
      if (!samples.task.empty()) out << delimiter << tasks[samples.task[i]];
      out.end_line();
    }
  });
}

void write_libsvm(const Samples& samples, const std::string& path, std::optional<Index> task) {
  if (!task && samples.tasks.size() > 1) {
    throw InputError(fmt::format(
        "{}: the data has {} tasks, but a LIBSVM file holds one. Write a file per task.", path,
        samples.tasks.size()));
  }
  for (const std::string& name : samples.labels) {
    if (name.find_first_of(" \t:,#\"") != std::string::npos) {
      throw InputError(fmt::format(
          "{}: the label {} cannot be written in LIBSVM format. Write CSV, or rename it.", path,
          detail::show(name)));
    }
  }
  write_text(path, [&](TextWriter& out) {
    bool first = true;
    for (Index i = 0; i < samples.X.rows(); ++i) {
      if (task && samples.task[i] != *task) continue;
      out << (samples.label.empty() ? std::string_view("0") : samples.labels[samples.label[i]]);
      for (Index j = 0; j < samples.X.cols(); ++j) {
        const bool shown = samples.X(i, j) != 0 || (first && j + 1 == samples.X.cols());
        if (shown) out << " " << j + 1 << ":" << samples.X(i, j);
      }
      out.end_line();
      first = false;
    }
  });
}

}  // namespace coterie
