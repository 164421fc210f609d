// coterie extend: new tasks against a fitted model.
#include "coterie/front/extend.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "calibration.hpp"
#include "command.hpp"
#include "coterie/data/names.hpp"
#include "coterie/data/split.hpp"
#include "coterie/front/files.hpp"
#include "coterie/io/task_graph.hpp"
#include "coterie/mtmkl/group_list.hpp"
#include "messages.hpp"
#include "options.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace coterie::app {
namespace {

struct ExtendOptions {
  std::string model_path, output_path, links, lambda;
  DataOptions data;
  OutputOptions output;
  double C = std::numeric_limits<double>::quiet_NaN();  // until it is given
  double tolerance = ExtendSettings().tolerance;
  Index max_steps = ExtendSettings().max_steps;
  std::optional<std::string> memory;
  int threads = 0;
  CalibrationOptions calibration;
};

Dataset read_new_tasks(const ExtendOptions& options, const Model& model) {
  const std::string source = file_list(options.data.paths);
  Samples samples = read_data(options.data, {model.features_of_data(), model.columns, true,
                                             memory_of_table(options.memory)});
  if (samples.tasks.empty())
    throw InputError(
        fmt::format("{}: there is no task column, but new tasks need names of their own. Add a "
                    "column 'task', name it with --task, or write FILE:NAME.",
                    source));
  try {
    Dataset data = cast_into_tasks(std::move(samples), model.casting);
    check_extension(model, data);
    return data;
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", source, error.what()));
  }
}

// Links between tasks of the model change nothing, so they are taken for mistakes.
TaskGraph read_links(const std::string& path, const Model& model, const Dataset& data) {
  std::vector<std::string> names;
  for (const TaskModel& task : model.tasks) names.push_back(task.name);
  for (const Task& task : data.tasks) names.push_back(task.name);
  const Index old = std::ssize(model.tasks);
  TaskGraph graph;
  for (const TaskLink& link : read_for("--links", [&] { return read_task_graph(path, names); })) {
    const auto [t, s] = std::minmax(link.t, link.s);
    if (s < old)
      throw InputError(fmt::format(
          "--links: {}: '{}' and '{}' are both tasks of the model, which stay as they are. List "
          "links of "
          "new tasks only.",
          path, names[static_cast<std::size_t>(t)], names[static_cast<std::size_t>(s)]));
    if (link.weight > 0) graph.push_back({t, s, link.weight});
  }
  return graph;
}

ExtendSettings settings_of(const ExtendOptions& options) {
  ExtendSettings settings;
  settings.tolerance = options.tolerance;
  settings.max_steps = options.max_steps;
  if (!std::isnan(options.C)) settings.C = options.C;
  if (!options.lambda.empty()) {
    if (options.lambda.ends_with("max"))
      throw InputError(fmt::format(
          "--lambda is '{}'; for new tasks it must be a number >= 0, or inf. Shares of lambda_max "
          "are for train.",
          options.lambda));
    settings.lambda = Lambda(options.lambda).value;
  }
  return settings;
}

std::string advice(const Extension& added) {
  const Certificate& proof = added.certificate;
  const std::string reached =
      fmt::format("relative gap {:.1e}, asked for {:.1e}", proof.gap, added.tolerance);
  if (interrupted())
    return fmt::format("stopped by a signal: {}. What was reached so far was kept.", reached);
  if (proof.status == Status::stalled)
    return fmt::format(
        "the solver found no step that lowers the objective further: {}. Extend again with a "
        "larger "
        "--tolerance.",
        reached);
  if (proof.status == Status::precision)
    return fmt::format(
        "rounding errors are too large for this tolerance ({:.1e} of the objective): {}. "
        "Extend again with a smaller --lambda or a larger --tolerance.",
        proof.bound, reached);
  return fmt::format(
      "stopped after {}: {}. Extend again with a larger --max-steps or a larger --tolerance.",
      plural(proof.outer_steps, "outer step"), reached);
}

void print_json_result(const ExtendOptions& options, const Model& model, double seconds) {
  const Extension& added = model.extensions.back();
  const Certificate& proof = added.certificate;
  const Json all = json_fit(model);
  Json out;
  out["status"] = to_string(proof.status);
  out["objective"] = json_number(proof.primal);
  out["dual"] = json_number(proof.dual);
  out["gap"] = json_number(proof.gap);
  out["bound"] = json_number(proof.bound);
  out["outer_steps"] = proof.outer_steps;
  out["seconds"] = seconds;
  out["lambda"] = json_number(proof.lambda);
  out["tolerance"] = json_number(added.tolerance);
  out["base_tasks"] = added.base_tasks;
  out["kernels"] = all["kernels"];
  out["tasks"] = Json::array();
  for (Index t = added.base_tasks; t < std::ssize(model.tasks); ++t) {
    Json task = all["tasks"][static_cast<std::size_t>(t)];
    task["C"] = json_number(model.tasks[static_cast<std::size_t>(t)].C);
    out["tasks"].push_back(std::move(task));
  }
  out["groups"] = all["groups"];
  out["model"] = options.output_path;
  print_json(out);
}

void print_result(const ExtendOptions& options, const Model& model, double seconds) {
  const Extension& added = model.extensions.back();
  const Certificate& proof = added.certificate;
  fmt::print("{} added to {}; lambda {:.5g}\n", plural(added.tasks, "task"),
             plural(added.base_tasks, "task"), proof.lambda);
  fmt::print("{}, {}, status {}\n\n", proof_text(proof), plural(proof.outer_steps, "outer step"),
             to_string(proof.status));
  const std::vector<Index> group = group_of_tasks(model);
  const Groups groups = listed(model.groups());
  Table table({"new task", "n", "support", "group", "shares its kernel with", "kernel"}, "lrrrll");
  for (std::size_t t = static_cast<std::size_t>(added.base_tasks); t < model.tasks.size(); ++t) {
    const TaskModel& task = model.tasks[t];
    std::vector<std::string> others =
        task_names(model, groups[static_cast<std::size_t>(group[t] - 1)]);
    std::erase(others, task.name);
    table.add({task.name, fmt::to_string(task.n), fmt::to_string(task.expansion().support.size()),
               fmt::to_string(group[t]), others.empty() ? "none" : list_names(others, 4),
               weights_text(task.theta(), model.kernels)});
  }
  fmt::print("{}\n{}; model: {} (look at it with: coterie inspect {})\n", table.text(),
             seconds_text(seconds), options.output_path, options.output_path);
}

void check_options(const ExtendOptions& options) {
  check_output(options.output_path, "the extended model",
               input_files(options.data, {options.model_path, options.links}));
  if (std::filesystem::exists(options.output_path) &&
      !std::filesystem::is_regular_file(options.output_path))
    throw InputError(
        fmt::format("--output: {} is not a regular file; a model needs one.", options.output_path));
  check_calibration(options.calibration);
}

// What a user may not expect of the new tasks.
void print_notes(const ExtendOptions& options, const Model& model, Monitor& monitor) {
  if (options.output.quiet) return;
  monitor.clear();
  if (options.links.empty() && !model.certificate().complete)
    tell(
        "note: the model was trained with a task graph; the new tasks are drawn to all of "
        "its tasks alike. Use --links FILE to change that.\n");
  if (has_calibration(model) && !options.calibration.wanted())
    tell(
        "note: the model is calibrated; its own tasks keep their probabilities, the new ones "
        "have scores only. Give them probabilities with --calibrate platt.\n");
}

Model add_new_tasks(const ExtendOptions& options, const Model& model, Dataset data,
                    const ExtendSettings& settings, Monitor& monitor) {
  Run run = run_of(options.threads, options.memory, monitor, options.output.quiet);
  run.phase = [&monitor, tasks = plural(std::ssize(data.tasks), "task")](Work) {
    monitor.phase("adding " + tasks);
  };
  // Before its first step there is nothing to keep.
  run.progress = [step = run.progress](const Progress& now) {
    set_stage(Stage::stoppable);
    return step(now);
  };
  return extend(model, std::move(data), settings, run);
}

// The extended model, which is written without probabilities first: it may take long, or end early. False: it was stopped.
bool calibrate_new_tasks(const ExtendOptions& options, const Model& model, const Dataset& data,
                         const ExtendSettings& settings, Monitor& monitor, Model& extended) {
  set_stage(Stage::writing);
  save(extended, options.output_path);
  set_stage_kept(
      fmt::format("warning: {} The model is in {}.\n", without_probabilities, options.output_path),
      exit_short);
  if (interrupted()) return false;
  Run run = run_of(options.threads, options.memory, monitor, true);
  run.share = [&](Index done, Index folds) { return monitor.share(done, folds, "folds"); };
  run.phase = [&](Work) { monitor.phase("calibrating"); };
  std::optional<Model> found =
      calibrate_added(extended, model, data, settings, settings_of(options.calibration), run);
  if (found) extended = std::move(*found);
  return found.has_value();
}

int run_extend(const ExtendOptions& options) {
  check_options(options);
  ExtendSettings settings = settings_of(options);
  memory_budget(options.memory);  // says what is wrong before anything is read
  Stopwatch watch;
  Monitor monitor(options.output.quiet);
  const Model model = read_model_before(options.data.paths, options.model_path);
  monitor.phase("reading " + file_list(options.data.paths));
  Dataset data = read_new_tasks(options, model);
  if (options.calibration.wanted())  // what cannot be folded is said before the fit
    fold_tasks(data, options.calibration.folds,
               static_cast<std::uint64_t>(options.calibration.seed));
  if (!options.links.empty()) settings.links = read_links(options.links, model, data);
  print_notes(options, model, monitor);
  const bool calibrate = options.calibration.wanted();
  const Dataset raw = calibrate ? data : Dataset();
  Model extended = add_new_tasks(options, model, std::move(data), settings, monitor);
  const bool calibrated =
      !calibrate || calibrate_new_tasks(options, model, raw, settings, monitor, extended);
  set_stage(Stage::writing);
  if (calibrated) save(extended, options.output_path);
  set_stage(Stage::reading_only);
  monitor.clear();
  if (options.output.json)
    print_json_result(options, extended, watch.seconds());
  else
    print_result(options, extended, watch.seconds());
  if (!calibrated) tell("warning: {}\n", without_probabilities);
  const Extension& added = extended.extensions.back();
  if (added.certificate.status == Status::converged) return calibrated ? exit_done : exit_short;
  tell("warning: {} Written to {} with status '{}'.\n", advice(added), options.output_path,
       to_string(added.certificate.status));
  return exit_short;
}

}  // namespace

void add_extend(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ExtendOptions>();
  CLI::App& command = add_command(
      program, "extend",
      "Add new tasks to a fitted model, whose own tasks stay exactly as they are",
      "coterie data generate --tasks 8 -o all.csv && grep -v t08 all.csv > old.csv && grep -E "
      "'task|t08' all.csv > new.csv\n"
      "  coterie train old.csv -o model.h5\n"
      "  coterie extend model.h5 new.csv -o extended.h5",
      options, run_extend, chosen);
  add_model(command, options->model_path);
  add_paths(command, options->data);
  command.add_option("-o,--output", options->output_path, "where the extended model goes (needed)")
      ->type_name("FILE");
  add_model_columns(command, options->data);
  command
      .add_option("--lambda", options->lambda,
                  "how strongly new tasks are drawn to the others and to each other (a number >= "
                  "0, or inf; default: the model's)")
      ->type_name("TEXT");
  add_number(command, "-C,--C", options->C, "cost of a training error of the new tasks",
             "a number > 0")
      .default_str("the model's");
  add_number(command, "--tolerance", options->tolerance,
             "it is done when it is this close to the optimum (relative duality gap)",
             "a number > 0");
  add_number(command, "--max-steps", options->max_steps,
             "outer steps after which the solver gives up", "a whole number >= 1", Index{1});
  command
      .add_option("--links", options->links,
                  "CSV task_a,task_b[,weight]: the pairs drawn together, each with a new task "
                  "(default: all)")
      ->type_name("FILE");
  add_calibration(command, options->calibration);
  add_memory(command, options->memory);
  add_threads(command, options->threads);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
