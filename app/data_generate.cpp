// coterie data generate: tasks with planted groups.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "command.hpp"
#include "coterie/data/planted.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/write_table.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

struct GenerateOptions {
  PlantedSettings planted;
  Index seed = 1;
  std::string path;
  OutputOptions output;
};

// The rule that is broken, by the names that options have.
std::string in_options(const std::string& message) {
  static const std::map<std::string, std::string> option_of = {{"features_per_block", "--block"},
                                                               {"positive_share", "--positive"},
                                                               {"size_spread", "--spread"}};
  const std::size_t end = message.find(" is ");
  if (end == std::string::npos) return message;
  std::string text;
  for (std::size_t at = 0; at < end;) {
    const std::size_t next = std::min(message.find(" x ", at), end);
    const std::string name = message.substr(at, next - at);
    const auto option = option_of.find(name);
    text +=
        (text.empty() ? "" : " x ") + (option == option_of.end() ? "--" + name : option->second);
    at = next + 3;
  }
  return text + message.substr(end);
}

Planted plant(const PlantedSettings& settings) {
  try {
    return plant_groups(settings);
  } catch (const InputError& error) {
    throw InputError(in_options(error.what()));
  }
}

// "a/b" + ending for "a/b.csv.gz".
std::string with_ending(const std::string& path, const std::string& ending) {
  std::filesystem::path stem(path);
  if (stem.extension() == ".gz") stem.replace_extension();
  return stem.replace_extension().string() + ending;
}

int run_generate(const GenerateOptions& options) {
  const std::string groups_path = with_ending(options.path, ".groups.csv");
  check_output(options.path, "the data", {});
  check_output(groups_path, "the true groups", {});
  check_table_name(options.path);
  PlantedSettings settings = options.planted;
  settings.seed = static_cast<std::uint64_t>(options.seed);
  if (settings.tasks >= 1 && settings.groups > settings.tasks)
    throw InputError(fmt::format("--groups is {}, but there are only {} (--tasks).",
                                 settings.groups, plural(settings.tasks, "task")));
  const Planted planted = plant(settings);
  set_stage(Stage::writing);
  const WrittenFiles written = write_samples(planted.samples, options.path);

  std::string groups = "task,group\n";
  for (std::size_t t = 0; t < planted.group.size(); ++t)
    groups += fmt::format("{},{}\n", planted.samples.tasks[t], planted.group[t] + 1);
  write_file_atomically(groups_path, groups);

  if (options.output.json) {
    Json out = {{"files", written.files},
                {"file_per_task", written.file_per_task},
                {"groups_file", groups_path}};
    out["rows"] = planted.samples.X.rows();
    out["features"] = planted.samples.features.size();
    out["tasks"] = planted.samples.tasks;
    out["group"] = Json::array();
    for (const Index g : planted.group) out["group"].push_back(g + 1);
    print_json(out);
    return exit_done;
  }
  fmt::print("{} in {} ({}, {}): {}\n", plural(std::ssize(planted.samples.tasks), "task"),
             plural(settings.groups, "group"), plural(planted.samples.X.rows(), "row"),
             plural(std::ssize(planted.samples.features), "feature"), file_list(written.files));
  fmt::print("{}", note_on_tasks(written, planted.samples));
  fmt::print("true groups: {}\n", groups_path);
  return exit_done;
}

}  // namespace

void add_data_generate(CLI::App& data, Action& chosen) {
  const auto options = std::make_shared<GenerateOptions>();
  PlantedSettings& planted = options->planted;
  CLI::App& command = add_command(
      data, "generate", "Make tasks with planted groups; the true groups go to STEM.groups.csv",
      "coterie data generate -o planted.csv --tasks 12 --groups 3 --seed 7", options, run_generate,
      chosen);
  command
      .add_option("-o,--output", options->path,
                  "where the data goes, .csv, .tsv, .svm or .idx, or with .gz, or .mat (needed)")
      ->type_name("FILE");
  add_number(command, "--tasks", planted.tasks, "number of tasks", "a whole number >= 1");
  add_number(command, "--groups", planted.groups, "number of groups",
             "a whole number from 1 to the number of tasks");
  add_number(command, "--samples", planted.samples, "rows per task", "a whole number >= 2");
  add_number(command, "--block", planted.features_per_block, "features that belong to each group",
             "a whole number >= 1");
  add_number(command, "--noise", planted.noise, "share of flipped labels",
             "a number >= 0 and < 0.5");
  add_number(command, "--positive", planted.positive_share, "share of positive labels",
             "a number between 0 and 1");
  add_number(command, "--spread", planted.size_spread, "how much task sizes differ",
             "a number >= 0 and < 1");
  add_seed(command, options->seed);
  add_json(command, options->output);
}

}  // namespace coterie::app
