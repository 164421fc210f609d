#include "coterie/io/task_costs.hpp"

#include <fmt/format.h>

#include "coterie/io/table.hpp"

namespace coterie {

namespace {

// A table whose columns nobody has asked for by a setting: messages must not say so.
Samples read_fixed_columns(const std::string& path, const TableOptions& columns) {
  try {
    return read_samples({path}, columns);
  } catch (const InputError& error) {
    std::string text = error.what();
    for (const std::string asked : {"`task` asks for", "`features` asks for"})
      if (const std::size_t at = text.find(asked); at != std::string::npos)
        text.replace(at, asked.size(), "it needs");
    throw InputError(text);
  }
}

}  // namespace

std::map<std::string, double> read_task_costs(const std::string& path) {
  TableOptions columns;
  columns.task = "task";
  columns.features = {"C"};
  columns.label_required = false;
  const Samples table = read_fixed_columns(path, columns);
  std::map<std::string, double> costs;
  for (Index i = 0; i < table.X.rows(); ++i) {
    const std::string& name =
        table.tasks[static_cast<std::size_t>(table.task[static_cast<std::size_t>(i)])];
    if (!costs.emplace(name, table.X(i, 0)).second)
      throw InputError(
          fmt::format("{}: task '{}' is there twice; give each task one C.", path, name));
  }
  return costs;
}

}  // namespace coterie
