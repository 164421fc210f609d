// coterie data describe: what is in a table.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "command.hpp"
#include "options.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

struct DescribeOptions {
  DataOptions data;
  OutputOptions output;
};

struct Duplicates {
  Index rows = 0;         // whose features repeat those of another row before
  Index conflicting = 0;  // of these, the ones with another label in the same task
};

Index code(const std::vector<Index>& codes, Index row) {
  return codes.empty() ? 0 : codes[static_cast<std::size_t>(row)];
}

Duplicates count_duplicates(const Samples& samples) {
  const Index d = samples.X.cols();
  const auto row = [&](Index i) {
    return std::span(samples.X.data() + i * d, static_cast<std::size_t>(d));
  };
  std::vector<Index> order(static_cast<std::size_t>(samples.X.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, [&](Index a, Index b) {
    const Index s = code(samples.task, a), t = code(samples.task, b);
    return s != t ? s < t : std::ranges::lexicographical_compare(row(a), row(b));
  });
  Duplicates count;
  for (std::size_t k = 1; k < order.size(); ++k) {
    const Index a = order[k - 1], b = order[k];
    if (code(samples.task, a) != code(samples.task, b) || !std::ranges::equal(row(a), row(b)))
      continue;
    ++count.rows;
    if (code(samples.label, a) != code(samples.label, b)) ++count.conflicting;
  }
  return count;
}

// Rows per task (one when there is no task column) and class.
Eigen::Matrix<Index, -1, -1> count_classes(const Samples& samples) {
  const Index tasks = std::max<Index>(1, std::ssize(samples.tasks));
  Eigen::Matrix<Index, -1, -1> counts;
  counts.setZero(tasks, std::max<Index>(1, std::ssize(samples.labels)));
  for (Index i = 0; i < samples.X.rows(); ++i)
    ++counts(code(samples.task, i), code(samples.label, i));
  return counts;
}

struct Column {
  std::string name;
  double smallest = 0, mean = 0, largest = 0;
};

std::vector<Column> columns_of(const Samples& samples) {
  const Vector smallest = samples.X.colwise().minCoeff(), mean = samples.X.colwise().mean(),
               largest = samples.X.colwise().maxCoeff();
  std::vector<Column> columns;
  for (Index j = 0; j < samples.X.cols(); ++j)
    columns.push_back(
        {samples.features[static_cast<std::size_t>(j)], smallest[j], mean[j], largest[j]});
  return columns;
}

std::vector<std::string> constant_columns(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns)
    if (column.smallest == column.largest) names.push_back(column.name);
  return names;
}

Json json_description(const Samples& samples) {
  const auto counts = count_classes(samples);
  const auto columns = columns_of(samples);
  const Duplicates duplicates = count_duplicates(samples);
  const auto by_class = [&](const auto& row) {
    Json out = Json::object();
    for (std::size_t k = 0; k < samples.labels.size(); ++k)
      out[samples.labels[k]] = row[static_cast<Index>(k)];
    return out;
  };
  Json out = {{"rows", samples.X.rows()}, {"features", samples.X.cols()}};
  out["classes"] = by_class(counts.colwise().sum());
  out["tasks"] = Json::array();
  for (std::size_t t = 0; t < samples.tasks.size(); ++t) {
    const auto row = counts.row(static_cast<Index>(t));
    out["tasks"].push_back(
        {{"name", samples.tasks[t]}, {"rows", row.sum()}, {"classes", by_class(row)}});
  }
  out["duplicate_rows"] = duplicates.rows;
  out["duplicate_rows_with_another_label"] = duplicates.conflicting;
  out["constant_columns"] = constant_columns(columns);
  out["columns"] = Json::array();
  for (const Column& column : columns)
    out["columns"].push_back({{"name", column.name},
                              {"min", json_number(column.smallest)},
                              {"mean", json_number(column.mean)},
                              {"max", json_number(column.largest)}});
  return out;
}

constexpr std::size_t shown_rows = 30;

void print_rest(std::size_t count, const char* what) {
  if (count > shown_rows)
    fmt::print("  and {} more {} (all with --json)\n", count - shown_rows, what);
}

void print_classes(const Samples& samples) {
  if (samples.labels.empty()) return fmt::print("no label column\n");
  const auto counts = count_classes(samples);
  Table table({"class", "rows", "share"}, "l");
  for (std::size_t k = 0; k < std::min(shown_rows, samples.labels.size()); ++k) {
    const Index n = counts.col(static_cast<Index>(k)).sum();
    table.add({samples.labels[k], fmt::to_string(n),
               percent(static_cast<double>(n) / static_cast<double>(samples.X.rows()))});
  }
  fmt::print("\n{}", table.text());
  print_rest(samples.labels.size(), "classes");
}

void print_tasks(const Samples& samples) {
  if (samples.tasks.empty()) return;
  const auto counts = count_classes(samples);
  const bool each = samples.labels.size() <= 6;
  std::vector<std::string> header = {"task", "rows"};
  if (each)
    header.insert(header.end(), samples.labels.begin(), samples.labels.end());
  else
    header.emplace_back("classes");
  Table table(header, "l");
  for (std::size_t t = 0; t < std::min(shown_rows, samples.tasks.size()); ++t) {
    const auto row = counts.row(static_cast<Index>(t));
    std::vector<std::string> cells = {samples.tasks[t], fmt::to_string(row.sum())};
    if (!each) cells.push_back(fmt::to_string((row.array() > 0).count()));
    for (std::size_t k = 0; each && k < samples.labels.size(); ++k)
      cells.push_back(fmt::to_string(row[static_cast<Index>(k)]));
    table.add(std::move(cells));
  }
  fmt::print("\n{}", table.text());
  print_rest(samples.tasks.size(), "tasks");
}

void print_columns(const Samples& samples) {
  const std::vector<Column> columns = columns_of(samples);
  Table table({"feature", "min", "mean", "max"}, "l");
  for (std::size_t j = 0; j < std::min(shown_rows, columns.size()); ++j)
    table.add({columns[j].name, short_number(columns[j].smallest), short_number(columns[j].mean),
               short_number(columns[j].largest)});
  fmt::print("\n{}", table.text());
  print_rest(columns.size(), "features");
  const std::vector<std::string> constant = constant_columns(columns);
  if (constant.empty())
    fmt::print("\nno constant columns\n");
  else
    fmt::print("\nconstant columns\n{}", wrap(constant, 2));
}

void print_description(const Samples& samples, const std::string& source) {
  fmt::print("{}: {}, {}", source, plural(samples.X.rows(), "row"),
             plural(samples.X.cols(), "feature"));
  if (!samples.labels.empty()) fmt::print(", {}", plural(std::ssize(samples.labels), "class"));
  if (!samples.tasks.empty()) fmt::print(", {}", plural(std::ssize(samples.tasks), "task"));
  fmt::print("\n");
  print_classes(samples);
  print_tasks(samples);
  print_columns(samples);
  const Duplicates duplicates = count_duplicates(samples);
  if (duplicates.rows == 0) return fmt::print("no duplicate rows\n");
  fmt::print("duplicate rows: {}, of which {} with another label\n", duplicates.rows,
             duplicates.conflicting);
}

int run_describe(const DescribeOptions& options) {
  const Samples samples = read_data(options.data, {.label_required = false});
  if (options.output.json)
    print_json(json_description(samples));
  else
    print_description(samples, file_list(options.data.paths));
  return exit_done;
}

}  // namespace

void add_data_describe(CLI::App& data, Action& chosen) {
  const auto options = std::make_shared<DescribeOptions>();
  CLI::App& command =
      add_command(data, "describe", "Rows, classes, tasks, ranges, constant columns, duplicates",
                  "coterie data describe digits", options, run_describe, chosen);
  add_paths(command, options->data);
  add_columns(command, options->data);
  add_column_choice(command, options->data);
  add_json(command, options->output);
}

}  // namespace coterie::app
