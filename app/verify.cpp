// coterie verify: the certificate, recomputed from raw data by separate code.
#include "coterie/front/verify.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "coterie/io/task_costs.hpp"
#include "coterie/io/task_graph.hpp"
#include "coterie/model/method.hpp"
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

Json json_verification(const ModelPart& part, const Verification& check) {
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
void print_verification(const ModelPart& part, const Verification& check, bool weights_are_shared) {
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

// The files that train or extend was given, where they are given again.
VerifyInputs read_inputs(const VerifyOptions& options, const Model& model, const ModelPart& part) {
  VerifyInputs inputs;
  inputs.precomputed = read_precomputed(model.kernels, options.precomputed, true);
  if (!options.task_C.empty())
    inputs.task_C = read_for("--task-C", [&] { return read_task_costs(options.task_C); });
  if (options.task_graph.empty()) return inputs;
  std::vector<std::string> names;
  for (Index t = 0; t < part.tasks; ++t)
    names.push_back(model.tasks[static_cast<std::size_t>(t)].name);
  inputs.task_graph = as_graph(
      read_for("--task-graph", [&] { return read_task_graph(options.task_graph, names); }));
  return inputs;
}

int run_verify(const VerifyOptions& options) {
  set_stage(Stage::reading_only);
  const Model model = read_model_before(options.data.paths, options.model_path);
  const std::string source = file_list(options.data.paths);
  Monitor monitor(options.output.quiet);
  monitor.phase("reading " + source);
  const Dataset data = cast_into_tasks(
      read_data(options.data, {model.features_of_data(), model.columns, true}), model.casting);
  const ModelPart part = read_for(source, [&] { return part_of(model, data); });
  const VerifyInputs inputs = read_inputs(options, model, part);
  monitor.phase("recomputing the certificate by plain loops");
  Verification check = verify(model, data, inputs, [&](Index done, Index samples) {
    monitor.share(done, samples, "samples");
  });
  monitor.clear();
  for (std::string& taken : check.taken) taken = with_options(taken);
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
      "Check a model's certificate: recompute it from the training data, by separate code",
      "coterie verify model.h5 digits", options, run_verify, chosen);
  add_model(command, options->model_path);
  add_paths(command, options->data);
  add_model_columns(command, options->data);
  add_precomputed(command, options->precomputed, kWhereItIsNow);
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
