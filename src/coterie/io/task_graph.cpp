#include "coterie/io/task_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "coterie/data/names.hpp"
#include "coterie/io/csv_reader.hpp"
#include "coterie/io/text.hpp"

namespace coterie {
namespace {

// The places of task_a, task_b and weight (or none) among the columns.
std::vector<std::size_t> find_columns(const detail::LineReader& reader,
                                      const detail::Header& header) {
  std::vector<std::size_t> columns;
  for (const char* name : {"task_a", "task_b", "weight"}) {
    const auto place = std::ranges::find(header.names, name);
    if (place != header.names.end()) columns.push_back(place - header.names.begin());
  }
  if (!header.has("task_a") || !header.has("task_b") || columns.size() != header.names.size()) {
    reader.fail_file(
        fmt::format("the columns are {}; a task graph has task_a, task_b and, if wanted, weight.",
                    list_names(header.names)));
  }
  return columns;
}

}  // namespace

std::vector<TaskLink> read_task_graph(const std::string& path,
                                      const std::vector<std::string>& task_names) {
  std::map<std::string, Index> number_of;
  for (const std::string& name : task_names)
    number_of.emplace(name, static_cast<Index>(number_of.size()));
  detail::LineReader reader(path);
  const detail::Header header = detail::read_header(reader);
  const std::vector<std::size_t> columns = find_columns(reader, header);

  std::vector<TaskLink> links;
  std::map<std::pair<Index, Index>, std::size_t> line_of;
  for (std::size_t line = 2; detail::next_row(reader); ++line) {
    const detail::TextRow row = detail::split_row(reader, header);
    const auto task = [&](std::size_t column) {
      const auto found = number_of.find(row.fields[column]);
      if (found != number_of.end()) return found->second;
      reader.fail(row.places[column],
                  fmt::format("no task is called {}; the tasks are {}.",
                              detail::show(row.fields[column]), list_names(task_names, 8)));
    };
    TaskLink link{task(columns[0]), task(columns[1]), 1};
    if (link.t == link.s) {
      reader.fail(
          row.places[columns[1]],
          fmt::format("task '{}' is paired with itself. Remove this line.", task_names[link.t]));
    }
    const auto [earlier, fresh] = line_of.emplace(std::minmax(link.t, link.s), line);
    if (!fresh) {
      reader.fail(reader.begin(),
                  fmt::format("tasks '{}' and '{}' are paired on line {} already. Remove one line.",
                              task_names[link.t], task_names[link.s], earlier->second));
    }
    if (columns.size() == 3) {
      const std::string& text = row.fields[columns[2]];
      if (!detail::parse_number(text, link.weight)) {
        reader.fail(row.places[columns[2]],
                    fmt::format("the weight {}. Correct it.", detail::describe_bad_number(text)));
      }
      if (link.weight < 0) {
        reader.fail(row.places[columns[2]],
                    fmt::format("the weight is {}; weights must not be negative.", text));
      }
    }
    links.push_back(link);
  }
  return links;
}

TaskGraph as_graph(const std::vector<TaskLink>& links) {
  TaskGraph graph;
  for (const TaskLink& link : links)
    if (link.weight > 0)
      graph.push_back({std::min(link.t, link.s), std::max(link.t, link.s), link.weight});
  return graph;
}

TaskGraph read_task_graph(const std::string& path, const Dataset& data) {
  std::vector<std::string> names;
  for (const Task& task : data.tasks) names.push_back(task.name);
  return as_graph(read_task_graph(path, names));
}

}  // namespace coterie
