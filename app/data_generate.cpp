// coterie data generate: tasks with planted structure: groups that need the same kernel, or weights that have something in common.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "command.hpp"
#include "coterie/data/planted.hpp"
#include "coterie/data/planted_weights.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/write_table.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

struct GenerateOptions {
  std::string structure = "groups";
  PlantedSettings groups;          // and what all structures have
  PlantedWeightsSettings weights;  // what only the other structures have
  const CLI::Option* number_of_groups = nullptr;
  std::vector<const CLI::Option*> of_groups, of_weights;
  Index seed = 1;
  std::string path;
  OutputOptions output;
};

// What was planted, and the truth as it goes to its file and into JSON.
struct Generated {
  Samples samples;
  std::string in_words;
  std::string groups_csv;
  Json groups;  // members of the JSON document
};

// The rule that is broken, by the names that options have.
std::string in_options(std::string message) {
  if (const std::size_t at = message.find("clusters"); at != std::string::npos)
    message.replace(at, 8, "groups");
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

std::string csv_of_tasks(const Samples& samples, const std::vector<Index>& group) {
  std::string csv = "task,group\n";
  for (std::size_t t = 0; t < group.size(); ++t)
    csv += fmt::format("{},{}\n", samples.tasks[t], group[t] + 1);
  return csv;
}

// A column per feature: the groups that it divides the tasks into.
std::string csv_of_features(const Samples& samples,
                            const std::vector<std::vector<Index>>& of_feature) {
  std::string csv = fmt::format("task,{}\n", fmt::join(samples.features, ","));
  for (std::size_t t = 0; t < samples.tasks.size(); ++t) {
    csv += samples.tasks[t];
    for (const std::vector<Index>& group : of_feature) csv += fmt::format(",{}", group[t] + 1);
    csv += '\n';
  }
  return csv;
}

Json numbers_from_one(const std::vector<Index>& groups) {
  Json numbers = Json::array();
  for (const Index g : groups) numbers.push_back(g + 1);
  return numbers;
}

Generated generate_groups(const PlantedSettings& settings) {
  Planted planted = plant_groups(settings);
  std::string csv = csv_of_tasks(planted.samples, planted.group);
  return {std::move(planted.samples),
          fmt::format("in {}", plural(settings.groups, "group")),
          std::move(csv),
          {{"group", numbers_from_one(planted.group)}}};
}

Generated generate_weights(const PlantedWeightsSettings& settings) {
  PlantedWeights planted = plant_weights(settings);
  Generated made;
  if (settings.structure == Structure::features) {
    made.in_words =
        fmt::format("in up to {} for every feature", plural(settings.clusters, "group"));
    made.groups_csv = csv_of_features(planted.samples, planted.of_feature);
    for (std::size_t j = 0; j < planted.of_feature.size(); ++j)
      made.groups["group_by_feature"][planted.samples.features[j]] =
          numbers_from_one(planted.of_feature[j]);
  } else {
    made.in_words = fmt::format("in {}", plural(settings.clusters, "group"));
    made.groups_csv = csv_of_tasks(planted.samples, planted.cluster);
    made.groups["group"] = numbers_from_one(planted.cluster);
    if (settings.structure == Structure::coclusters)
      made.groups["feature_group"] = numbers_from_one(planted.feature_cluster);
  }
  made.samples = std::move(planted.samples);
  return made;
}

Generated generate(const GenerateOptions& options) {
  const std::optional<Structure> structure = structure_from(options.structure);
  if (!structure && options.structure != "groups")
    throw InputError(fmt::format(
        "--structure is '{}'; it must be groups, weights, features, coclusters or subspaces.",
        options.structure));
  for (const CLI::Option* option : structure ? options.of_groups : options.of_weights)
    if (option->count() > 0)
      throw InputError(fmt::format("{} has no meaning for --structure {}. Leave it out.",
                                   option->get_name(), options.structure));
  PlantedSettings groups = options.groups;
  groups.seed = static_cast<std::uint64_t>(options.seed);
  const bool too_many = groups.tasks >= 1 && groups.groups > groups.tasks;
  if (too_many && options.number_of_groups->count() == 0)
    groups.groups = groups.tasks;
  else if (too_many)
    throw InputError(fmt::format("--groups is {}, but there are only {} (--tasks).", groups.groups,
                                 plural(groups.tasks, "task")));
  try {
    if (!structure) return generate_groups(groups);
    PlantedWeightsSettings weights = options.weights;
    weights.structure = *structure;
    weights.tasks = groups.tasks;
    weights.clusters = groups.groups;
    weights.samples = groups.samples;
    weights.noise = groups.noise;
    weights.seed = groups.seed;
    return generate_weights(weights);
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
  check_distinct_outputs({options.path, groups_path}, "the data and its groups");
  const Generated made = generate(options);
  for (const std::string& file : files_to_write(made.samples, options.path))
    check_distinct_outputs({file, groups_path}, "the data and its groups");
  set_stage(Stage::replaceable);
  const WrittenFiles written = write_samples(made.samples, options.path);
  write_file_atomically(groups_path, made.groups_csv);

  if (options.output.json) {
    Json out = {{"files", written.files},
                {"file_per_task", written.file_per_task},
                {"groups_file", groups_path},
                {"structure", options.structure}};
    out["rows"] = made.samples.X.rows();
    out["features"] = made.samples.features.size();
    out["tasks"] = made.samples.tasks;
    out.update(made.groups);
    print_json(out);
    return exit_done;
  }
  fmt::print("{} {} ({}, {}): {}\n", plural(std::ssize(made.samples.tasks), "task"), made.in_words,
             plural(made.samples.X.rows(), "row"),
             plural(std::ssize(made.samples.features), "feature"), file_list(written.files));
  fmt::print("{}", note_on_tasks(written, made.samples));
  fmt::print("true groups: {}\n", groups_path);
  return exit_done;
}

}  // namespace

void add_data_generate(CLI::App& data, Action& chosen) {
  const auto options = std::make_shared<GenerateOptions>();
  PlantedSettings& groups = options->groups;
  PlantedWeightsSettings& weights = options->weights;
  CLI::App& command = add_command(
      data, "generate", "Make tasks with known groups, which go to STEM.groups.csv",
      "coterie data generate -o planted.csv --tasks 12 --groups 3 --seed 7\n  coterie data "
      "generate -o planes.csv --structure subspaces --tasks 20 --samples 100",
      options, run_generate, chosen);
  command
      .add_option(
          "-o,--output", options->path,
          "where the data goes, .csv, .tsv, .svm, .npy or .idx, or with .gz, or .mat (needed)")
      ->type_name("FILE");
  command
      .add_option("--structure", options->structure,
                  "what tasks of a group share: groups (the kernel that they need), weights, "
                  "features (every feature has groups of its own), coclusters (the features that "
                  "matter, and their weights) or subspaces (a plane of weights)")
      ->type_name("NAME")
      ->capture_default_str();
  add_number(command, "--tasks", groups.tasks, "number of tasks", "a whole number >= 1");
  options->number_of_groups = add_number(command, "--groups", groups.groups, "number of groups",
                                         "a whole number from 1 to the number of tasks")
                                  .default_str(fmt::format("{}, or one a task", groups.groups));
  add_number(command, "--samples", groups.samples, "rows per task", "a whole number >= 2");
  add_number(command, "--noise", groups.noise, "share of flipped labels",
             "a number >= 0 and < 0.5");
  options->of_groups = {
      &add_number(command, "--block", groups.features_per_block,
                  "structure groups: features that belong to each group", "a whole number >= 1"),
      &add_number(command, "--positive", groups.positive_share,
                  "structure groups: share of positive labels", "a number between 0 and 1"),
      &add_number(command, "--spread", groups.size_spread,
                  "structure groups: how much task sizes differ", "a number >= 0 and < 1")};
  options->of_weights = {
      &add_number(command, "--features", weights.features, "other structures: number of features",
                  "a whole number >= 1"),
      &add_number(command, "--deviation", weights.deviation,
                  "other structures: how far a task is from what it shares, relative",
                  "a number from 0 to 1000")};
  add_seed(command, options->seed);
  add_json(command, options->output);
}

}  // namespace coterie::app
