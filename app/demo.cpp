// coterie demo: the 45 pairs of digits, learnt apart, with one kernel, and in groups.
#include <fmt/format.h>

#include "command.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/data/split.hpp"
#include "coterie/model/evaluation.hpp"
#include "coterie/model/prediction.hpp"
#include "coterie/model/train.hpp"
#include "embedded.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace coterie::app {
namespace {

struct DemoOptions {
  double train_share = 0.1;
  Index seed = 1;
  int threads = 0;
  OutputOptions output;
};

struct Contestant {
  std::string name, lambda, meaning;
};
const Contestant contestants[] = {{"STL", "0", "every task by itself"},
                                  {"MTL", "inf", "one kernel for all tasks"},
                                  {"coterie", "0.1max", "tasks drawn together"}};

struct Outcome {
  Contestant method;
  Model model;
  Evaluation held_out;
  double seconds = 0;
};

std::vector<Outcome> run_methods(const DemoOptions& options, const Samples& train,
                                 const Samples& test, Monitor& monitor) {
  Settings settings;
  settings.C = 10;
  settings.tolerance = 1e-8;  // groups settle later than accuracies do
  Dataset data = cast_into_tasks(train, Casting::one_vs_one);
  const std::string mark = fingerprint(data);
  monitor.phase("preparing kernels");
  const Prepared prepared = prepare(std::move(data), settings, {}, options.threads);
  std::vector<Outcome> outcomes;
  for (const Contestant& method : contestants) {
    monitor.phase("fitting " + method.name);
    settings.lambda = method.lambda;
    Stopwatch watch;
    const Fitted fitted = fit_prepared(prepared, settings, options.threads, monitor.callback());
    Outcome outcome{method, make_model(prepared, settings, fitted, mark), {}, watch.seconds()};
    outcome.held_out =
        evaluate(outcome.model, test, {.source = embedded_name, .threads = options.threads});
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

Json json_demo(const std::vector<Outcome>& outcomes, Index train_rows, Index test_rows,
               double seconds) {
  Json out = {{"data", embedded_name},
              {"train_rows", train_rows},
              {"test_rows", test_rows},
              {"methods", Json::array()}};
  for (const Outcome& outcome : outcomes) {
    Json method = json_fit(outcome.model);
    method["name"] = outcome.method.name;
    method["pair_accuracy"] = json_number(outcome.held_out.mean.accuracy);
    method["vote_accuracy"] = json_number(outcome.held_out.accuracy);
    method["seconds"] = outcome.seconds;
    out["methods"].push_back(std::move(method));
  }
  out["seconds"] = seconds;
  return out;
}

void print_demo(const std::vector<Outcome>& outcomes, Index train_rows, Index test_rows,
                double seconds) {
  const Model& model = outcomes.back().model;
  fmt::print("Handwritten digits (UCI): {} pairs of digits, a task each; {} kernels.\n",
             model.tasks.size(), model.kernels.size());
  fmt::print("Trained on {} rows, tested on the other {}.\n\n", train_rows, test_rows);
  Table table({"method", "", "pairs", "digits by vote", "groups", "relative gap", "time"}, "ll");
  for (const Outcome& outcome : outcomes)
    table.add({outcome.method.name, outcome.method.meaning, percent(outcome.held_out.mean.accuracy),
               percent(outcome.held_out.accuracy), fmt::to_string(outcome.model.groups().size()),
               fmt::format("{:.1e}", outcome.model.certificate().gap),
               seconds_text(outcome.seconds)});
  fmt::print("{}\n", table.text());
  fmt::print("coterie at {}: {}\n", strength_text(model), proof_text(model.certificate()));
  fmt::print("{}\n", groups_text(model));
  fmt::print("{} in all. Next, on your own table with a column 'label' (and 'task'):\n",
             seconds_text(seconds));
  fmt::print("  coterie train tasks.csv -o model.h5     then: coterie inspect model.h5\n");
  fmt::print("  coterie train --help                    every option, with its default\n");
}

int run_demo(const DemoOptions& options) {
  if (!(options.train_share > 0 && options.train_share < 1))
    throw InputError(fmt::format("--train-share is '{}'; it must be a number between 0 and 1.",
                                 options.train_share));
  Stopwatch watch;
  Monitor monitor(options.output.quiet);
  DataOptions data;
  data.paths = {embedded_name};
  const Samples samples = read_data(data);
  const RowSplit split =
      split_samples(samples, options.train_share, static_cast<std::uint64_t>(options.seed));
  const Samples train = select_rows(samples, split.train), test = select_rows(samples, split.rest);
  const std::vector<Outcome> outcomes = run_methods(options, train, test, monitor);
  monitor.clear();
  if (options.output.json)
    print_json(json_demo(outcomes, train.X.rows(), test.X.rows(), watch.seconds()));
  else
    print_demo(outcomes, train.X.rows(), test.X.rows(), watch.seconds());
  for (const Outcome& outcome : outcomes)
    if (outcome.model.certificate().status != Status::converged) return exit_short;
  return exit_done;
}

}  // namespace

void add_demo(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<DemoOptions>();
  CLI::App& command =
      add_command(program, "demo", "Train on the embedded digits; show groups and accuracies",
                  "coterie demo", options, run_demo, chosen);
  add_number(command, "--train-share", options->train_share, "share of the rows to train on",
             "a number between 0 and 1");
  add_seed(command, options->seed);
  add_threads(command, options->threads);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
