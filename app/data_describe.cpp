// coterie data describe: what is in a table.
#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "coterie/data/description.hpp"
#include "options.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

struct DescribeOptions {
  DataOptions data;
  OutputOptions output;
};

Json json_description(const Samples& samples) {
  const Description found = describe(samples);
  const auto& counts = found.rows;
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
  out["duplicate_rows"] = found.duplicates.rows;
  out["duplicate_rows_with_another_label"] = found.duplicates.conflicting;
  out["constant_columns"] = found.constant_columns();
  out["columns"] = Json::array();
  for (const ColumnRange& column : found.columns)
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

void print_classes(const Samples& samples, const Description& found) {
  if (samples.labels.empty()) return fmt::print("no label column\n");
  const auto& counts = found.rows;
  Table table({"class", "rows", "share"}, "l");
  for (std::size_t k = 0; k < std::min(shown_rows, samples.labels.size()); ++k) {
    const Index n = counts.col(static_cast<Index>(k)).sum();
    table.add({samples.labels[k], fmt::to_string(n),
               percent(static_cast<double>(n) / static_cast<double>(samples.X.rows()))});
  }
  fmt::print("\n{}", table.text());
  print_rest(samples.labels.size(), "classes");
}

void print_tasks(const Samples& samples, const Description& found) {
  if (samples.tasks.empty()) return;
  const auto& counts = found.rows;
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

void print_columns(const Description& found) {
  const std::vector<ColumnRange>& columns = found.columns;
  Table table({"feature", "min", "mean", "max"}, "l");
  for (std::size_t j = 0; j < std::min(shown_rows, columns.size()); ++j)
    table.add({columns[j].name, short_number(columns[j].smallest), short_number(columns[j].mean),
               short_number(columns[j].largest)});
  fmt::print("\n{}", table.text());
  print_rest(columns.size(), "features");
  const std::vector<std::string> constant = found.constant_columns();
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
  const Description found = describe(samples);
  print_classes(samples, found);
  print_tasks(samples, found);
  print_columns(found);
  const Duplicates& duplicates = found.duplicates;
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
