#include "problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "coterie/data/names.hpp"
#include "coterie/io/machine.hpp"
#include "coterie/io/table.hpp"
#include "coterie/io/task_costs.hpp"
#include "coterie/io/task_graph.hpp"
#include "coterie/model/train.hpp"
#include "memory.hpp"
#include "messages.hpp"

namespace coterie::app {
namespace {

// A smaller table is read whatever --memory says: the plan of the fit then tells how much is needed.
constexpr double small_table = 64e6;

Casting casting_of(const ProblemOptions& options) {
  if (options.one_vs_one && options.one_vs_rest)
    throw InputError("--one-vs-one and --one-vs-rest are both given; choose one.");
  if (options.one_vs_one) return Casting::one_vs_one;
  return options.one_vs_rest ? Casting::one_vs_rest : Casting::binary;
}

bool is_kernel(const std::string& text) {
  try {
    return !Kernels(text).list().empty();
  } catch (const InputError&) {
    return false;
  }
}

// `--kernels gauss:1 linear` without quotes: what stands behind the first kernel is taken for data.
void check_quotes(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (std::filesystem::exists(path) || !is_kernel(path)) continue;
    throw InputError(fmt::format(
        "there is no file '{0}'. If it belongs to --kernels, put the whole list in quotes, as in "
        "--kernels \"gauss:2 {0}\".",
        path));
  }
}

}  // namespace

void add_problem(CLI::App& command, ProblemOptions& options) {
  add_columns(command, options.data);
  add_column_choice(command, options.data);
  command.add_flag("--one-vs-one", options.one_vs_one,
                   "more than two classes: a task per pair (default: off)");
  command.add_flag("--one-vs-rest", options.one_vs_rest,
                   "more than two classes: a task per class (default: off)");
}

void add_resources(CLI::App& command, ProblemOptions& options) {
  command
      .add_option(
          "--task-graph", options.task_graph,
          "CSV task_a,task_b[,weight]: only these pairs of tasks are drawn together (default: all)")
      ->type_name("FILE");
  command
      .add_option("--task-C", options.task_C,
                  "CSV task,C: tasks that have a C of their own (default: none)")
      ->type_name("FILE");
  add_memory(command, options.memory);
  add_threads(command, options.threads);
}

void check_problem(const ProblemOptions& options) {
  casting_of(options);
  if (options.memory) parse_memory(*options.memory);
}

Dataset read_problem(const ProblemOptions& options) {
  check_quotes(options.data.paths);
  ReadRule rule;
  rule.memory = memory_of_table(options.memory);
  return cast_into_tasks(read_data(options.data, rule), casting_of(options));
}

Extras read_extras(const ProblemOptions& options, const Settings& settings, const Dataset& data) {
  Extras extras;
  extras.precomputed = read_precomputed(settings.kernels.list(), {}, true);
  if (!options.task_C.empty())
    extras.task_C = read_for("--task-C", [&] { return read_task_costs(options.task_C); });
  extras.complete = options.task_graph.empty();
  if (!extras.complete)
    extras.graph =
        read_for("--task-graph", [&] { return read_task_graph(options.task_graph, data); });
  return extras;
}

void add_memory(CLI::App& command, std::optional<std::string>& memory) {
  command
      .add_option("--memory", memory,
                  "memory to use at most, such as 512MB, 1.5GB or a number of bytes; with less it "
                  "takes longer and gives the same answer (default: nine tenths of the machine's)")
      ->type_name("SIZE");
}

double memory_budget(const std::optional<std::string>& memory) {
  return coterie::memory_budget(Run{.memory_bytes = memory ? parse_memory(*memory) : 0});
}

std::optional<double> memory_of_table(const std::optional<std::string>& memory) {
  if (!memory) return {};
  return std::clamp(parse_memory(*memory), small_table, memory_of_machine());
}

void tune_memory(bool keeps_all) {
  if (keeps_all)
    keep_freed_memory();
  else
    return_freed_memory();
}

Run run_of(int threads, const std::optional<std::string>& memory, Monitor& monitor, bool quiet) {
  Run run;
  run.threads = threads;
  run.memory_bytes = memory_budget(memory);
  run.progress = monitor.callback();
  run.kept = tune_memory;
  if (!quiet)
    run.note = [&monitor](const std::string& text) {
      monitor.clear();
      tell("note: {}\n", with_options(text));
    };
  return run;
}

Run run_of(const ProblemOptions& options, Monitor& monitor, bool quiet) {
  return run_of(options.threads, options.memory, monitor, quiet);
}

std::vector<std::string> input_files(const ProblemOptions& options, const Kernels& kernels) {
  std::vector<std::string> others = kernel_files(kernels);
  others.insert(others.end(), {options.task_graph, options.task_C});
  return input_files(options.data, others);
}

void check_model_output(const std::string& path, const std::vector<std::string>& inputs,
                        const std::string& option) {
  check_output(path, "the model", inputs, option + ": ");
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))
    throw InputError(fmt::format("{}: {} is not a regular file; a model needs one.", option, path));
}

}  // namespace coterie::app
