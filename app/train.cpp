// coterie train: one fit.
#include "coterie/mtmkl/train.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "command.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/data/names.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/io/table.hpp"
#include "coterie/io/task_graph.hpp"
#include "coterie/mtmkl/memory_plan.hpp"
#include "memory.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace coterie::app {
namespace {

struct TrainOptions {
  DataOptions data;
  TrainSettings settings;
  OutputOptions output;
  std::string model_path, task_graph, task_C;
  std::optional<std::string> memory;
  bool one_vs_one = false, one_vs_rest = false;
  int threads = 0;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
};

Casting casting_of(const TrainOptions& options) {
  if (options.one_vs_one && options.one_vs_rest)
    throw InputError("--one-vs-one and --one-vs-rest are both given; choose one.");
  if (options.one_vs_one) return Casting::one_vs_one;
  return options.one_vs_rest ? Casting::one_vs_rest : Casting::binary;
}

// A table with the columns task and C.
std::map<std::string, double> read_task_costs(const std::string& path) {
  TableOptions columns;
  columns.task = "task";
  columns.features = {"C"};
  columns.label_required = false;
  const Samples table = read_samples({path}, columns);
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

TaskGraph read_graph(const std::string& path, const Dataset& data) {
  std::vector<std::string> names;
  for (const Task& task : data.tasks) names.push_back(task.name);
  TaskGraph graph;
  for (const TaskLink& link : read_task_graph(path, names))
    if (link.weight > 0)
      graph.push_back({std::min(link.t, link.s), std::max(link.t, link.s), link.weight});
  return graph;
}

TrainExtras read_extras(const TrainOptions& options, const Dataset& data) {
  TrainExtras extras;
  extras.precomputed = read_precomputed(parse_kernels(options.settings.kernels), {}, true);
  if (!options.task_C.empty()) extras.task_C = read_task_costs(options.task_C);
  extras.complete = options.task_graph.empty();
  if (!extras.complete) extras.graph = read_graph(options.task_graph, data);
  return extras;
}

// Why the fit ended short of its tolerance, and what to do.
std::string advice(const Model& model, const Monitor& monitor, bool lambda_changed, Index cycle) {
  const Certificate& proof = model.certificate;
  const std::string reached =
      fmt::format("relative gap {:.1e}, asked for {:.1e}", proof.gap, model.settings.tolerance);
  std::string why = fmt::format("stopped after {}", plural(proof.outer_steps, "outer step"));
  std::string what = "Train again with a larger --max-steps or a larger --tolerance.";
  if (interrupted()) {
    why = "stopped by a signal";
    what = "The model reached so far was kept.";
  } else if (monitor.timed_out()) {
    why = "stopped at the time limit";
    what = "The model reached so far was kept; for a better one raise --time-limit.";
  } else if (model.settings.solver == "published") {
    what =
        "The published algorithm does not converge in general: it alternates between best "
        "responses, and may go round in a cycle for ever. Use --solver newton.";
    if (cycle > 0) why = fmt::format("{}, going round a cycle of {} steps", why, cycle);
  } else if (proof.status == to_string(Status::stalled)) {
    why = "no further progress within the precision of the numbers";
    what = "Train again with a larger --tolerance, or scale the features (--scale standard).";
  }
  if (lambda_changed)
    what += " It has lambda = inf: the first fit, which finds lambda_max, was not yet done.";
  return fmt::format("{}: {}. {}", why, reached, what);
}

struct Phases {
  double read = 0, gram = 0, fit = 0, write = 0;
};

void print_result(const TrainOptions& options, const Model& model, const Fitted& fitted,
                  const Phases& phases, double seconds) {
  if (options.output.json) {
    Json out = json_fit(model);
    if (fitted.lambda_max > 0) out["lambda_max"] = json_number(fitted.lambda_max);
    if (fitted.fit.cycle > 0) out["cycle"] = fitted.fit.cycle;
    out["seconds"] = seconds;
    out["phases"] = {
        {"read", phases.read}, {"gram", phases.gram}, {"fit", phases.fit}, {"write", phases.write}};
    out["model"] = options.model_path;
    return print_json(out);
  }
  fmt::print("{}, {}, {}, {}; C {}, {}\n", plural(std::ssize(model.tasks), "task"),
             plural(model.training_rows, "row"), plural(std::ssize(model.features), "feature"),
             plural(std::ssize(model.kernels), "kernel"), short_number(model.settings.C),
             lambda_text(model));
  fmt::print("{}, {}, status {}\n\n", proof_text(model.certificate.primal, model.certificate.gap),
             plural(model.certificate.outer_steps, "outer step"), model.certificate.status);
  fmt::print("{}\n", groups_text(model));
  fmt::print("read {}, prepare {}, fit {}, write {}\n", seconds_text(phases.read),
             seconds_text(phases.gram), seconds_text(phases.fit), seconds_text(phases.write));
  fmt::print("model: {} ({} support vectors; look at it with: coterie inspect {})\n",
             options.model_path, model.support_vectors.rows(), options.model_path);
}

int run_train(const TrainOptions& options) {
  check_output(options.model_path, "the model", options.data.paths);
  if (std::filesystem::exists(options.model_path) &&
      !std::filesystem::is_regular_file(options.model_path))
    throw InputError(
        fmt::format("--output: {} is not a regular file; a model needs one.", options.model_path));
  validate(options.settings);
  if (options.memory) parse_memory(*options.memory);
  const Casting casting = casting_of(options);
  Stopwatch watch;
  Phases phases;
  const bool limited = std::isfinite(options.time_limit_seconds);
  Monitor monitor(options.output.quiet,
                  limited ? std::optional(options.time_limit_seconds) : std::nullopt);

  monitor.phase("reading " + file_list(options.data.paths));
  Dataset data = cast_into_tasks(read_data(options.data), casting);
  const TrainExtras extras = read_extras(options, data);
  const double budget = options.memory ? parse_memory(*options.memory) : 0.9 * memory_of_machine();
  const MemoryPlan memory = plan_memory(data, options.settings, extras, options.threads, budget);
  if (memory.keeps_all())
    keep_freed_memory();
  else
    return_freed_memory();
  if (!memory.keeps_all() && !options.output.quiet)
    fmt::print(stderr,
               "note: the kernel values of all samples would take {}; within {} there is room for "
               "{} of them. Those that are used most are kept, others are computed when they are "
               "needed.\n",
               bytes_text(memory.all), bytes_text(budget), bytes_text(memory.kernels));
  std::string mark = fingerprint(data);
  phases.read = watch.lap();

  monitor.phase(fmt::format("preparing kernels of {}", plural(std::ssize(data.tasks), "task")));
  const Prepared prepared = prepare(std::move(data), options.settings, extras, options.threads);
  phases.gram = watch.lap();
  std::vector<std::string> bounded;
  for (const Index m : prepared.grams.bounded)
    bounded.push_back(to_string(prepared.kernels[static_cast<std::size_t>(m)]));
  if (!bounded.empty() && !options.output.quiet)
    fmt::print(stderr,
               "note: {} {} no tail beyond the main directions of --normalise {}; the divisor is "
               "1/1000 of the variance.\n",
               list_names(bounded), bounded.size() == 1 ? "has" : "have",
               options.settings.normalise);

  monitor.phase("fitting");
  set_stage(Stage::stoppable);
  const Fitted fitted =
      fit_prepared(prepared, options.settings, options.threads, monitor.callback(), memory.kernels);
  set_stage(Stage::writing);
  const Model model = make_model(prepared, options.settings, fitted, std::move(mark));
  phases.fit = watch.lap();
  write_model(model, options.model_path);
  phases.write = watch.lap();

  monitor.clear();
  print_result(options, model, fitted, phases, watch.seconds());
  if (fitted.fit.status == Status::converged) return exit_done;
  const bool lambda_changed =
      std::isinf(fitted.lambda) && parse_lambda(options.settings.lambda).relative;
  fmt::print(stderr, "warning: {} Written to {} with status '{}'.\n",
             advice(model, monitor, lambda_changed, fitted.fit.cycle), options.model_path,
             model.certificate.status);
  return exit_short;
}

}  // namespace

void add_train(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App& command = add_command(
      program, "train", "Fit one model and prove how close it is to the optimum",
      "coterie train digits --one-vs-one --lambda 0.1max -o model.h5", options, run_train, chosen);
  add_paths(command, options->data);
  command.add_option("-o,--output", options->model_path, "where the model goes (needed)")
      ->type_name("FILE");
  add_columns(command, options->data);
  add_column_choice(command, options->data);
  command.add_flag("--one-vs-one", options->one_vs_one,
                   "more than two classes: a task per pair (default: off)");
  command.add_flag("--one-vs-rest", options->one_vs_rest,
                   "more than two classes: a task per class (default: off)");
  add_settings(command, options->settings);
  command
      .add_option("--task-graph", options->task_graph,
                  "CSV task_a,task_b[,weight]: the pairs drawn together (default: all)")
      ->type_name("FILE");
  command
      .add_option("--task-C", options->task_C,
                  "CSV task,C: a C of their own for some tasks (default: none)")
      ->type_name("FILE");
  add_number(command, "--time-limit", options->time_limit_seconds,
             "seconds after which the fit stops and is kept", "a number >= 0", 0.0);
  command
      .add_option("--memory", options->memory,
                  "memory to stay within, such as 512MB, 1.5GB or a number of bytes; less of it "
                  "means more computing, "
                  "not another answer (default: 9/10 of the machine's)")
      ->type_name("SIZE");
  add_threads(command, options->threads);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
