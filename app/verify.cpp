// coterie verify: the certificate, recomputed from raw data by separate code.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "command.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/io/task_costs.hpp"
#include "coterie/io/task_graph.hpp"
#include "coterie/model/method.hpp"
#include "coterie/model/verify_method.hpp"
#include "messages.hpp"
#include "options.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

struct VerifyOptions {
  std::string model_path;
  DataOptions data;
  OutputOptions output;
  std::vector<std::string> precomputed;
  std::string task_C, task_graph;
};

// The part of a model that data belongs to: what was trained first, or an extension.
struct Part {
  std::optional<std::size_t> extension;
  const Certificate& stated;
  const std::string& fingerprint;
};

std::string name_of(const Part& part) {
  return part.extension ? fmt::format("extension {}", *part.extension + 1) : "the training";
}

// The part that a task belongs to; what was trained first, where the model does not know it.
Part part_of(const Model& model, const std::string& task) {
  const Index t = std::ranges::find(model.tasks, task, &TaskModel::name) - model.tasks.begin();
  for (std::size_t k = 0; k < model.extensions.size(); ++k) {
    const Extension& added = model.extensions[k];
    if (t >= added.base_tasks && t < added.base_tasks + added.tasks)
      return {k, added.certificate, added.fingerprint};
  }
  return {{}, model.certificate(), model.fingerprint};
}

// The part that all tasks of the data belong to.
Part part_of(const Model& model, const Dataset& data, const std::string& source) {
  const Part part = part_of(model, data.tasks.front().name);
  for (const Task& task : data.tasks)
    if (const Part other = part_of(model, task.name); other.extension != part.extension)
      throw InputError(fmt::format(
          "{}: task '{}' is of {}, task '{}' of {}. Each has a certificate of its own: give the "
          "data of one at a time.",
          source, data.tasks.front().name, name_of(part), task.name, name_of(other)));
  return part;
}

Json json_verification(const Part& part, const Verification& check) {
  Json out = {{"holds", check.findings.empty()},
              {"objective", json_number(check.primal)},
              {"dual", json_number(check.dual)},
              {"gap", json_number(check.gap)},
              {"bound", json_number(check.bound)},
              {"stated_objective", json_number(part.stated.primal)},
              {"stated_dual", json_number(part.stated.dual)},
              {"stated_gap", json_number(part.stated.gap)},
              {"stated_bound", json_number(part.stated.bound)},
              {"objective_difference", json_number(check.primal_difference)},
              {"dual_difference", json_number(check.dual_difference)},
              {"infeasibility", json_number(check.infeasibility)},
              {"groups_exact", check.groups_exact},
              {"fingerprint", part.fingerprint},
              {"taken_from_model", check.taken},
              {"findings", check.findings}};
  if (part.extension) out["extension"] = *part.extension + 1;
  return out;
}

// `weights_are_shared`: groups are tasks of equal weights, not a reading of them.
void print_verification(const Part& part, const Verification& check, bool weights_are_shared) {
  const auto value = [](double x) { return fmt::format("{:.10g}", x); };
  const auto small = [](double x) { return fmt::format("{:.1e}", x); };
  if (part.extension) fmt::print("extension {}\n", *part.extension + 1);
  Table table({"", "in the model", "recomputed", "relative difference"}, "l");
  table.add({"objective", value(part.stated.primal), value(check.primal),
             small(check.primal_difference)});
  table.add(
      {"dual value", value(part.stated.dual), value(check.dual), small(check.dual_difference)});
  table.add({"relative gap", small(part.stated.gap), small(check.gap), ""});
  fmt::print("{}", table.text());
  fmt::print("  largest violation of a constraint {}", small(check.infeasibility));
  if (weights_are_shared)
    fmt::print("; groups share their weights exactly: {}", check.groups_exact ? "yes" : "no");
  fmt::print("\n");
  fmt::print("  the rounding of this check can change the relative gap by {} at most\n",
             small(check.bound));
  for (const std::string& taken : check.taken)
    fmt::print("  taken from the model, not checked: {}\n", taken);
  if (check.findings.empty())
    fmt::print("the certificate holds{}: {}\n",
               part.stated.status == Status::converged
                   ? ""
                   : ", of a fit that stopped short of its tolerance",
               proof_text(check.primal, check.gap, check.bound, part.stated.claim));
  for (const std::string& finding : check.findings) fmt::print("  finding: {}\n", finding);
}

// The C of tasks and the task graph against the files that they came from, where these are given.
std::vector<std::string> check_given(const VerifyOptions& options, const Model& model,
                                     const Dataset& data) {
  std::vector<std::string> findings;
  if (!options.task_C.empty()) {
    Extras extras;
    extras.task_C = read_for("--task-C", [&] { return read_task_costs(options.task_C); });
    const Vector expected = task_costs(data, model.settings, extras);
    for (Index t = 0; t < expected.size(); ++t) {
      const TaskModel& task = model.tasks[static_cast<std::size_t>(t)];
      if (task.C != expected[t])
        findings.push_back(fmt::format("the C of task '{}' is {}, not {} as stated", task.name,
                                       expected[t], task.C));
    }
  }
  if (!options.task_graph.empty() &&
      (model.certificate().complete || model.certificate().graph != read_for("--task-graph", [&] {
                                         return read_task_graph(options.task_graph, data);
                                       })))
    findings.push_back(fmt::format("the task graph is not that of {}", options.task_graph));
  return findings;
}

// The same of an extension: its links against the file that extend was given.
std::vector<std::string> check_given(const VerifyOptions& options, const Model& model,
                                     const Extension& added) {
  if (!options.task_C.empty())
    throw InputError(
        "--task-C: the tasks of an extension have no C of their own; give it with the training "
        "data.");
  if (options.task_graph.empty()) return {};
  std::vector<std::string> names;
  for (Index t = 0; t < added.base_tasks + added.tasks; ++t)
    names.push_back(model.tasks[static_cast<std::size_t>(t)].name);
  TaskGraph links;
  for (const TaskLink& link :
       read_for("--task-graph", [&] { return read_task_graph(options.task_graph, names); }))
    if (link.weight > 0)
      links.push_back({std::min(link.t, link.s), std::max(link.t, link.s), link.weight});
  if (!added.certificate.complete && added.certificate.graph == links) return {};
  return {fmt::format("the links are not those of {}", options.task_graph)};
}

void drop_taken(Verification& check, std::string_view what) {
  std::erase_if(check.taken, [&](const std::string& text) { return text.starts_with(what); });
}

int run_verify(const VerifyOptions& options) {
  set_stage(Stage::reading_only);
  const Model model = read_model(options.model_path);
  const std::string source = file_list(options.data.paths);
  Monitor monitor(options.output.quiet);
  monitor.phase("reading " + source);
  const Dataset data = cast_into_tasks(
      read_data(options.data, {model.features_of_data(), model.columns, true}), model.casting);
  const std::string mark = fingerprint(data);
  const Part part = part_of(model, data, source);
  const std::string what =
      part.extension ? fmt::format("data of extension {}", *part.extension + 1) : "training data";
  if (mark != part.fingerprint)
    throw InputError(
        fmt::format("{} is not the {} of {}: its fingerprint is {}, that of the {} {}. Give the "
                    "same files, in the same order, with the --label and --task of the training.",
                    source, what, options.model_path, mark, what, part.fingerprint));
  const PrecomputedMatrices matrices = read_precomputed(model.kernels, options.precomputed, true);
  const std::vector<std::string> given =
      part.extension ? check_given(options, model, model.extensions[*part.extension])
                     : check_given(options, model, data);
  monitor.phase("recomputing the certificate by plain loops");
  const auto progress = [&](Index done, Index samples) { monitor.share(done, samples, "samples"); };
  Verification check = part.extension ? verify_extension(model, *part.extension, data, progress)
                                      : verify(model, data, matrices, progress);
  monitor.clear();
  for (std::string& taken : check.taken) taken = with_options(taken);
  check.findings.insert(check.findings.end(), given.begin(), given.end());
  if (!options.task_C.empty()) drop_taken(check, "the C of");
  if (!options.task_graph.empty())
    drop_taken(check, part.extension ? "the links" : "the task graph");
  if (options.output.json)
    print_json(json_verification(part, check));
  else
    print_verification(part, check,
                       !model.settings.method->is_linear() || model.settings.method->exact_groups);
  if (check.holds()) return exit_done;
  tell("error: the certificate does not hold: {}.\n", fmt::join(check.findings, "; "));
  return exit_failed;
}

}  // namespace

void add_verify(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App& command = add_command(
      program, "verify",
      "Recompute the certificate from the training data, by separate code; of an extended model, "
      "that of the tasks in the data",
      "coterie verify model.h5 digits", options, run_verify, chosen);
  command.add_option("MODEL", options->model_path, "model file of `coterie train`")
      ->required()
      ->type_name("");
  add_paths(command, options->data);
  add_model_columns(command, options->data);
  command
      .add_option("--precomputed", options->precomputed,
                  "where the matrix of a precomputed kernel is now; once per kernel (default: "
                  "where it was)")
      ->type_name("NAME=FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--task-C", options->task_C,
                  "the file that train was given, to check the C of tasks against (default: not "
                  "checked)")
      ->type_name("FILE");
  command
      .add_option("--task-graph", options->task_graph,
                  "the file that train was given, or extend as --links, to check the pairs against "
                  "(default: "
                  "not checked)")
      ->type_name("FILE");
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
