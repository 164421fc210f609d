// coterie data list: the data sets at hand, and how to train on each.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "command.hpp"
#include "coterie/io/write_table.hpp"
#include "embedded.hpp"
#include "options.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name;  // as commands take it
  Index rows = 0, features = 0, classes = 0, tasks = 0;
  std::string train;    // what to type
  std::string problem;  // why it cannot be read
};

// Tables of the folder and of its folders.
std::vector<fs::path> tables_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code problem;
  for (fs::recursive_directory_iterator
           file(folder, fs::directory_options::skip_permission_denied, problem),
       end;
       !problem && file != end; file.increment(problem)) {
    if (file.depth() >= 1) file.disable_recursion_pending();
    if (file->is_regular_file(problem) && names_a_table(file->path().string()))
      found.push_back(file->path());
  }
  if (problem)
    throw InputError(fmt::format("COTERIE_DATA: the folder {} cannot be read: {}.", folder.string(),
                                 problem.message()));
  std::ranges::sort(found);
  return found;
}

bool is_numbered(const std::string& name) {
  return name.size() > 1 && name[0] == 'f' &&
         std::all_of(name.begin() + 1, name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Where features are numbered f1, f2, .., other columns are about the row, not to learn from.
std::string columns_to_drop(const Samples& samples) {
  if (2 * std::ranges::count_if(samples.features, is_numbered) < std::ssize(samples.features))
    return "";
  std::string names;
  for (const std::string& name : samples.features)
    if (!is_numbered(name)) names += (names.empty() ? "" : ",") + name;
  return names;
}

// Whether some feature runs over a range twenty times that of another.
bool needs_scaling(const Samples& samples) {
  const Vector range = samples.X.colwise().maxCoeff() - samples.X.colwise().minCoeff();
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;
  for (Index j = 0; j < range.size(); ++j) {
    if (range[j] == 0 || (!columns_to_drop(samples).empty() &&
                          !is_numbered(samples.features[static_cast<std::size_t>(j)])))
      continue;
    smallest = std::min(smallest, range[j]);
    largest = std::max(largest, range[j]);
  }
  return largest > 20 * smallest;
}

Entry describe(const std::string& name) {
  Entry entry{name, 0, 0, 0, 0, "", ""};
  try {
    DataOptions data;
    data.paths = {name};
    const Samples samples = read_data(data);
    const std::string drop = columns_to_drop(samples);
    entry.rows = samples.X.rows();
    entry.features = samples.X.cols() - std::ssize(split_names(drop));
    entry.classes = std::ssize(samples.labels);
    entry.tasks = std::ssize(samples.tasks);
    entry.train = "coterie train " + name;
    if (entry.classes > 2) entry.train += " --one-vs-one";
    if (!drop.empty()) entry.train += " --drop " + drop;
    if (needs_scaling(samples)) entry.train += " --scale standard";
    entry.train += " -o model.h5";
  } catch (const InputError& error) {
    entry.problem = error.what();
  }
  return entry;
}

Json json_entry(const Entry& entry) {
  Json out = {{"name", entry.name}, {"path", entry.name}};
  if (!entry.problem.empty()) {
    out["problem"] = entry.problem;
    return out;
  }
  out.update(Json{{"rows", entry.rows},
                  {"features", entry.features},
                  {"classes", entry.classes},
                  {"tasks", entry.tasks},
                  {"train", entry.train}});
  return out;
}

void print_entries(const std::vector<Entry>& entries, const char* folder) {
  Table table({"name", "rows", "features", "classes", "tasks"}, "l");
  for (const Entry& entry : entries) {
    const bool good = entry.problem.empty();
    const auto count = [&](Index n) {
      return good && n > 0 ? fmt::to_string(n) : std::string("-");
    };
    table.add({entry.name, count(entry.rows), count(entry.features), count(entry.classes),
               count(entry.tasks)});
  }
  fmt::print("{}\nto train:\n", table.text());
  for (const Entry& entry : entries)
    fmt::print("  {}\n", entry.problem.empty() ? entry.train : entry.problem);
  if (folder == nullptr)
    fmt::print("\nSet COTERIE_DATA to a folder of data files to list those too.\n");
}

int run_list(const OutputOptions& options) {
  std::vector<Entry> entries = {describe(embedded_name)};
  const char* folder = std::getenv("COTERIE_DATA");
  if (folder != nullptr && *folder != '\0')
    for (const fs::path& path : tables_in(folder)) entries.push_back(describe(path.string()));
  if (!options.json) {
    print_entries(entries, folder);
    return exit_done;
  }
  Json out = Json::array();
  for (const Entry& entry : entries) out.push_back(json_entry(entry));
  print_json({{"data", out}});
  return exit_done;
}

}  // namespace

void add_data_list(CLI::App& data, Action& chosen) {
  const auto options = std::make_shared<OutputOptions>();
  CLI::App& command =
      add_command(data, "list", "The embedded data set and those in the folder $COTERIE_DATA",
                  "COTERIE_DATA=~/data coterie data list", options, run_list, chosen);
  add_json(command, *options);
}

void add_data(CLI::App& program, Action& chosen) {
  CLI::App& data =
      *program.add_subcommand("data", "List, describe, generate, convert and fetch data");
  data.require_subcommand(1);
  data.footer("Example:\n  coterie data describe digits");
  add_data_list(data, chosen);
  add_data_describe(data, chosen);
  add_data_generate(data, chosen);
  add_data_convert(data, chosen);
  add_data_fetch(data, chosen);
}

}  // namespace coterie::app
