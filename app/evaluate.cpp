// coterie evaluate: accuracy on labelled rows.
#include <fmt/format.h>

#include "command.hpp"
#include "coterie/io/model_file.hpp"
#include "options.hpp"
#include "prediction.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

struct EvaluateOptions {
  std::string model_path;
  DataOptions data;
  OutputOptions output;
  std::vector<std::string> precomputed;
  std::string new_task;
  int threads = 0;
};

double accuracy_of(const Evaluation& result) {
  return 1 - static_cast<double>(result.errors) / static_cast<double>(result.n);
}

Json json_evaluation(const Model& model, const Evaluation& result) {
  Json out = {
      {"n", result.n}, {"errors", result.errors}, {"accuracy", json_number(accuracy_of(result))}};
  out["mean_accuracy"] = json_number(result.mean_accuracy);
  out["mean_balanced_accuracy"] = json_number(result.mean_balanced_accuracy);
  out["tasks"] = Json::array();
  for (const TaskScore& task : result.tasks)
    out["tasks"].push_back({{"name", task.name},
                            {"n", task.n},
                            {"errors", task.errors},
                            {"accuracy", json_number(task.accuracy)},
                            {"balanced_accuracy", json_number(task.balanced_accuracy)}});
  if (model.classes.empty()) return out;
  out["classes"] = model.classes;
  out["confusion"] = Json::array();
  for (Index i = 0; i < result.confusion.rows(); ++i) {
    Json row = Json::array();
    for (const double count : result.confusion.row(i)) row.push_back(static_cast<Index>(count));
    out["confusion"].push_back(std::move(row));
  }
  return out;
}

void print_confusion(const Model& model, const Evaluation& result) {
  std::vector<std::string> header = {"true \\ said"};
  header.insert(header.end(), model.classes.begin(), model.classes.end());
  header.emplace_back("recall");
  Table table(header, "l");
  for (std::size_t i = 0; i < model.classes.size(); ++i) {
    const Vector row = result.confusion.row(static_cast<Index>(i));
    std::vector<std::string> cells = {model.classes[i]};
    for (const double count : row) cells.push_back(count == 0 ? "." : fmt::format("{:.0f}", count));
    cells.push_back(percent(row[static_cast<Index>(i)] / row.sum()));
    table.add(std::move(cells));
  }
  fmt::print("\n{}", table.text());
}

void print_evaluation(const Model& model, const Evaluation& result) {
  Table table({"task", "n", "errors", "accuracy", "balanced"}, "l");
  for (const TaskScore& task : result.tasks)
    table.add({task.name, fmt::to_string(task.n), fmt::to_string(task.errors),
               percent(task.accuracy), percent(task.balanced_accuracy)});
  table.add({"mean over tasks", "", "", percent(result.mean_accuracy),
             percent(result.mean_balanced_accuracy)});
  fmt::print("{}", table.text());
  if (!model.classes.empty()) print_confusion(model, result);
  fmt::print("\n{} of {} rows right: {}{}\n", result.n - result.errors, result.n,
             percent(accuracy_of(result)),
             model.casting == Casting::one_vs_one ? " (by vote)" : "");
}

int run_evaluate(const EvaluateOptions& options) {
  const Model model = read_model(options.model_path);
  const std::string source = file_list(options.data.paths);
  Monitor monitor(options.output.quiet);
  monitor.phase("reading " + source);
  const Samples samples = read_data(options.data, {model.features, true});
  const PrecomputedMatrices cross = read_precomputed(model.kernels, options.precomputed, false);
  monitor.phase("predicting");
  const Predictions predictions =
      predict_rows(model, samples, cross, options.threads, source, options.new_task);
  const Evaluation result = evaluate_predictions(model, samples, predictions, source);
  monitor.clear();
  if (options.output.json)
    print_json(json_evaluation(model, result));
  else
    print_evaluation(model, result);
  return exit_done;
}

}  // namespace

void add_evaluate(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<EvaluateOptions>();
  CLI::App& command =
      add_command(program, "evaluate", "Accuracy per task on labelled rows; confusion of classes",
                  "coterie evaluate model.h5 test.csv", options, run_evaluate, chosen);
  command.add_option("MODEL", options->model_path, "model file of `coterie train`")
      ->required()
      ->type_name("");
  add_paths(command, options->data);
  add_columns(command, options->data);
  command
      .add_option("--precomputed", options->precomputed,
                  "values of a precomputed kernel, new rows x training rows; once per kernel "
                  "(default: none)")
      ->type_name("NAME=FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_new_task(command, options->new_task);
  add_threads(command, options->threads);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
