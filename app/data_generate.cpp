// coterie data generate: tasks with planted groups.
#include <fmt/format.h>

#include "command.hpp"
#include "coterie/data/planted.hpp"
#include "coterie/io/atomic_file.hpp"
#include "options.hpp"
#include "table_output.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

struct GenerateOptions {
  PlantedSettings planted;
  Index seed = 1;
  std::string path;
  OutputOptions output;
};

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
  const Planted planted = plant_groups(settings);
  const std::vector<std::string> files = write_samples(planted.samples, options.path);

  std::string groups = "task,group\n";
  for (std::size_t t = 0; t < planted.group.size(); ++t)
    groups += fmt::format("{},{}\n", planted.samples.tasks[t], planted.group[t] + 1);
  write_file_atomically(groups_path, groups);

  if (options.output.json) {
    Json out = {{"files", files}, {"groups_file", groups_path}};
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
             plural(std::ssize(planted.samples.features), "feature"), file_list(files));
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
                  "where the data goes, .csv, .tsv or .svm, or with .gz (needed)")
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
