#include "coterie/data/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "coterie/data/names.hpp"

namespace coterie {
namespace {

// Eigen's == needs equal sizes.
template <typename T>
bool same(const T& a, const T& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && (a.size() == 0 || a == b);
}

// The rows of one value of the task column, by class.
struct Part {
  std::string name;                      // empty when there is no task column
  std::vector<std::vector<Index>> rows;  // per label, increasing
  std::vector<Index> present;            // labels with rows
};

void check_codes(const std::vector<Index>& codes, Index rows, std::size_t names,
                 const std::string& what) {
  if (static_cast<Index>(codes.size()) != rows) {
    throw InputError(
        fmt::format("{} rows but {} {}s; give one {} per row.", rows, codes.size(), what, what));
  }
  for (const Index code : codes) {
    if (code < 0 || code >= static_cast<Index>(names)) {
      throw InputError(
          fmt::format("{} number {} does not exist; there are {}.", what, code, names));
    }
  }
}

std::vector<Part> parts_of(const Samples& samples) {
  const std::size_t count = samples.tasks.empty() ? 1 : samples.tasks.size();
  std::vector<Part> parts(count);
  for (std::size_t t = 0; t < count; ++t) {
    if (!samples.tasks.empty()) parts[t].name = samples.tasks[t];
    parts[t].rows.resize(samples.labels.size());
  }
  for (Index i = 0; i < samples.X.rows(); ++i) {
    parts[samples.task.empty() ? 0 : samples.task[i]].rows[samples.label[i]].push_back(i);
  }
  for (Part& part : parts) {
    for (std::size_t k = 0; k < part.rows.size(); ++k) {
      if (!part.rows[k].empty()) part.present.push_back(static_cast<Index>(k));
    }
  }
  std::erase_if(parts, [](const Part& part) { return part.present.empty(); });
  return parts;
}

std::vector<std::string> names_of(const std::vector<Index>& codes, const Samples& samples) {
  std::vector<std::string> names;
  for (const Index k : codes) names.push_back(samples.labels[k]);
  return names;
}

std::vector<Index> labels_present(const std::vector<Part>& parts, std::size_t labels) {
  std::vector<Index> present;
  for (std::size_t k = 0; k < labels; ++k) {
    const auto has = [k](const Part& part) { return !part.rows[k].empty(); };
    if (std::ranges::any_of(parts, has)) present.push_back(static_cast<Index>(k));
  }
  return present;
}

// One class in a task, more than two classes, or tasks that do not agree on their two.
void check_binary(const std::vector<Part>& parts, const std::vector<Index>& present,
                  const Samples& samples) {
  for (const Part& part : parts) {
    if (part.present.size() <= 2) continue;
    throw InputError(fmt::format("{} has {} classes ({}); choose `one_vs_one` or `one_vs_rest`.",
                                 part.name.empty() ? "the data" : "task '" + part.name + "'",
                                 part.present.size(), list_names(names_of(part.present, samples))));
  }
  if (present.size() <= 2) return;
  const Part& first = parts.front();
  for (const Part& part : parts) {
    if (part.present == first.present) continue;
    throw InputError(fmt::format(
        "task '{}' has the labels {} but task '{}' has {}; binary tasks need the same two labels. "
        "Rename the labels, or choose `one_vs_one`.",
        first.name, list_names(names_of(first.present, samples)), part.name,
        list_names(names_of(part.present, samples))));
  }
}

void check_both_classes(const std::vector<Part>& parts, const Samples& samples) {
  for (const Part& part : parts) {
    if (part.present.size() > 1) continue;
    throw InputError(
        fmt::format("task '{}' has only one class ('{}'); every task needs samples of two. Add "
                    "samples of another "
                    "class or leave the task out.",
                    part.name.empty() ? "all" : part.name, samples.labels[part.present.front()]));
  }
}

// y = -1 on the rows of one list and +1 on the other's, rows increasing.
Task make_task(const Part& part, const std::string& negative, const std::string& positive,
               const std::vector<Index>& minus, const std::vector<Index>& plus) {
  Task task{{"", negative, positive, part.name}, {}, {}};
  task.rows.reserve(minus.size() + plus.size());
  task.y.resize(static_cast<Index>(minus.size() + plus.size()));
  auto a = minus.begin(), b = plus.begin();
  while (a != minus.end() || b != plus.end()) {
    const bool take_plus = a == minus.end() || (b != plus.end() && *b < *a);
    task.y[task.size()] = take_plus ? 1 : -1;
    task.rows.push_back(take_plus ? *b++ : *a++);
  }
  return task;
}

void add_pairs(const Part& part, const Samples& samples, std::vector<Task>& tasks) {
  for (std::size_t i = 0; i < part.present.size(); ++i) {
    for (std::size_t j = i + 1; j < part.present.size(); ++j) {
      const Index a = part.present[i], b = part.present[j];
      tasks.push_back(
          make_task(part, samples.labels[a], samples.labels[b], part.rows[a], part.rows[b]));
    }
  }
}

void add_rests(const Part& part, const Samples& samples, std::vector<Task>& tasks) {
  for (const Index k : part.present) {
    std::vector<Index> rest;
    for (const Index other : part.present) {
      if (other == k) continue;
      rest.insert(rest.end(), part.rows[other].begin(), part.rows[other].end());
    }
    std::ranges::sort(rest);
    tasks.push_back(make_task(part, "rest", samples.labels[k], rest, part.rows[k]));
  }
}

// The name of a class or part within that of a task.
std::string quoted(const std::string& name) {
  return name.find_first_of("|:\"") == name.npos ? name : in_quotes(name);
}

std::string name_of(const TaskId& task, Casting casting, bool in_quotes) {
  const auto show = [&](const std::string& name) { return in_quotes ? quoted(name) : name; };
  if (casting == Casting::binary) return task.part.empty() ? "all" : task.part;
  const std::string prefix = task.part.empty() ? "" : show(task.part) + ":";
  return casting == Casting::one_vs_one ? prefix + show(task.negative) + "|" + show(task.positive)
                                        : prefix + show(task.positive) + "|rest";
}

void name_tasks(Dataset& data) {
  for (const bool in_quotes : {false, true}) {
    std::unordered_set<std::string> names;
    for (Task& task : data.tasks) names.insert(task.name = name_of(task, data.casting, in_quotes));
    if (names.size() == data.tasks.size()) return;
  }
}

void check_weights(const Dataset& data) {
  if (data.weight.size() == 0) return;
  if (data.weight.size() != data.X.rows())
    throw InputError(fmt::format("{} rows but {} weights; give one weight per row.", data.X.rows(),
                                 data.weight.size()));
  for (Index i = 0; i < data.weight.size(); ++i)
    if (!(data.weight[i] > 0) || !std::isfinite(data.weight[i]))
      throw InputError(fmt::format("row {} has the weight {}; a weight must be a number > 0.",
                                   i + 1, data.weight[i]));
}

void check_task(const Task& task, Index rows) {
  if (task.y.size() != task.size()) {
    throw InputError(fmt::format("task '{}' has {} rows but {} labels; give one label per row.",
                                 task.name, task.size(), task.y.size()));
  }
  Index plus = 0;
  for (Index i = 0; i < task.size(); ++i) {
    if (task.rows[i] < 0 || task.rows[i] >= rows) {
      throw InputError(fmt::format("task '{}' refers to row {}, but there are {} rows.", task.name,
                                   task.rows[i], rows));
    }
    if (task.y[i] != 1 && task.y[i] != -1) {
      throw InputError(
          fmt::format("task '{}' has y = {}; y must be -1 or +1.", task.name, task.y[i]));
    }
    plus += task.y[i] > 0;
  }
  if (task.size() == 0) {
    throw InputError(fmt::format("task '{}' has no rows; leave it out.", task.name));
  }
  if (plus == 0 || plus == task.size()) {
    throw InputError(
        fmt::format("task '{}' has only one class ('{}'); every task needs samples of two. Add "
                    "samples of another "
                    "class or leave the task out.",
                    task.name, plus == 0 ? task.negative : task.positive));
  }
}

}  // namespace

bool Samples::operator==(const Samples& other) const {
  return same(X, other.X) && features == other.features && label == other.label &&
         labels == other.labels && task == other.task && tasks == other.tasks;
}

bool Task::operator==(const Task& other) const {
  return TaskId::operator==(other) && rows == other.rows && same(y, other.y);
}

bool Dataset::operator==(const Dataset& other) const {
  return same(X, other.X) && same(weight, other.weight) && features == other.features &&
         tasks == other.tasks && classes == other.classes && casting == other.casting;
}

std::string to_string(Casting casting) {
  switch (casting) {
    case Casting::one_vs_one:
      return "one-vs-one";
    case Casting::one_vs_rest:
      return "one-vs-rest";
    case Casting::binary:
      break;
  }
  return "binary";
}

std::optional<Casting> casting_from(const std::string& text) {
  for (const Casting casting : {Casting::binary, Casting::one_vs_one, Casting::one_vs_rest}) {
    if (text == to_string(casting)) return casting;
  }
  return {};
}

Dataset cast_into_tasks(Samples samples, Casting casting) {
  if (samples.X.rows() == 0)
    throw InputError("the data has no rows; there is nothing to learn from.");
  if (samples.label.empty()) {
    throw InputError("the data has no labels; learning needs a label for every row.");
  }
  check_codes(samples.label, samples.X.rows(), samples.labels.size(), "label");
  if (!samples.task.empty() || !samples.tasks.empty()) {
    check_codes(samples.task, samples.X.rows(), samples.tasks.size(), "task");
  }

  const std::vector<Part> parts = parts_of(samples);
  const std::vector<Index> present = labels_present(parts, samples.labels.size());
  if (casting == Casting::binary) check_binary(parts, present, samples);
  check_both_classes(parts, samples);

  Dataset data;
  data.casting = casting;
  for (const Part& part : parts) {
    if (casting == Casting::one_vs_one) {
      add_pairs(part, samples, data.tasks);
    } else if (casting == Casting::one_vs_rest) {
      add_rests(part, samples, data.tasks);
    } else {
      const Index a = part.present[0], b = part.present[1];
      data.tasks.push_back(
          make_task(part, samples.labels[a], samples.labels[b], part.rows[a], part.rows[b]));
    }
  }
  name_tasks(data);
  if (casting != Casting::binary) data.classes = names_of(present, samples);
  data.X = std::move(samples.X);
  data.features = std::move(samples.features);
  data.columns = std::move(samples.columns);
  return data;
}

Samples make_samples(Matrix X, const std::vector<std::string>& labels,
                     const std::vector<std::string>& tasks, std::vector<std::string> features) {
  Samples out;
  const auto code_of = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) - names.begin();
  };
  for (const std::string& label : labels)
    if (std::ranges::find(out.labels, label) == out.labels.end()) out.labels.push_back(label);
  std::ranges::sort(out.labels, label_before);
  for (const std::string& label : labels) out.label.push_back(code_of(out.labels, label));
  for (const std::string& task : tasks) {
    if (std::ranges::find(out.tasks, task) == out.tasks.end()) out.tasks.push_back(task);
    out.task.push_back(code_of(out.tasks, task));
  }
  if (features.empty())
    for (Index j = 1; j <= X.cols(); ++j) features.push_back(fmt::format("f{}", j));
  if (std::ssize(features) != X.cols())
    throw InputError(
        fmt::format("X has {} columns, but {} features are named.", X.cols(), features.size()));
  out.features = std::move(features);
  out.X = std::move(X);
  return out;
}

Dataset::Dataset(Matrix rows, const std::vector<std::string>& labels,
                 const std::vector<std::string>& task_of_row, Casting into)
    : Dataset(cast_into_tasks(make_samples(std::move(rows), labels, task_of_row), into)) {}

void check_dataset(const Dataset& data) {
  if (data.X.rows() == 0) throw InputError("the data has no rows; there is nothing to learn from.");
  if (data.X.cols() == 0)
    throw InputError("the data has no features; there is nothing to learn from.");
  if (data.tasks.empty()) throw InputError("the data has no tasks; there is nothing to learn.");
  if (static_cast<Index>(data.features.size()) != data.X.cols()) {
    throw InputError(fmt::format("{} columns but {} names of features; give one name per column.",
                                 data.X.cols(), data.features.size()));
  }
  std::unordered_set<std::string> names;
  for (const Task& task : data.tasks) {
    if (!names.insert(task.name).second) {
      throw InputError(
          fmt::format("two tasks are called '{}'; give each its own name.", task.name));
    }
    check_task(task, data.X.rows());
  }
  check_weights(data);
  if (data.X.allFinite()) return;
  for (Index i = 0; i < data.X.rows(); ++i) {
    for (Index j = 0; j < data.X.cols(); ++j) {
      if (std::isfinite(data.X(i, j))) continue;
      throw InputError(fmt::format(
          "row {}, feature '{}' is {}; every value must be a finite number. Fill it in or leave "
          "the row or the feature out.",
          i + 1, data.features[j], data.X(i, j)));
    }
  }
}

Dataset subset(const Dataset& data, const std::vector<std::vector<Index>>& kept) {
  if (kept.size() != data.tasks.size()) {
    throw InputError(fmt::format("{} lists of rows for {} tasks; give one list per task.",
                                 kept.size(), data.tasks.size()));
  }
  Dataset part = data;
  for (std::size_t t = 0; t < kept.size(); ++t) {
    const Task& whole = data.tasks[t];
    Task& task = part.tasks[t];
    task.rows.resize(kept[t].size());
    task.y.resize(static_cast<Index>(kept[t].size()));
    for (Index i = 0; i < task.size(); ++i) {
      const Index position = kept[t][i];
      if (position < 0 || position >= whole.size()) {
        throw InputError(fmt::format("position {} is outside task '{}', which has {} rows.",
                                     position, whole.name, whole.size()));
      }
      task.rows[i] = whole.rows[position];
      task.y[i] = whole.y[position];
    }
  }
  return part;
}

}  // namespace coterie
