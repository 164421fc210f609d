// coterie evaluate: how good a model is on labelled rows.
#include <fmt/format.h>

#include <cmath>

#include "calibration.hpp"
#include "command.hpp"
#include "coterie/model/evaluation.hpp"
#include "coterie/model/prediction.hpp"
#include "options.hpp"
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
  bool reliability = false;
  int threads = 0;
};

Json json_reliability(const std::vector<ReliabilityBin>& table) {
  Json bins = Json::array();
  for (const ReliabilityBin& bin : table)
    bins.push_back({{"low", bin.low},
                    {"high", bin.high},
                    {"count", bin.count},
                    {"mean_predicted", json_number(bin.mean_predicted)},
                    {"share_observed", json_number(bin.share_observed)}});
  return bins;
}

Json json_evaluation(const Model& model, const Evaluation& result) {
  Json out = {{"n", result.n},
              {"errors", result.errors},
              {"accuracy", json_number(result.accuracy)},
              {"balanced_accuracy", json_number(result.balanced_accuracy)},
              {"log_loss", json_number(result.log_loss)},
              {"uncalibrated_log_loss", json_number(result.uncalibrated_log_loss)}};
  for (const ScoreField& field : score_fields)
    out[std::string("mean_") + field.name] = json_number(result.mean.*field.value);
  out["rows_with_probability"] = result.rows_with_probability;
  out["calibrated"] = result.rows_with_probability == result.n;
  out["tasks"] = Json::array();
  for (const TaskScores& task : result.tasks) {
    Json scores = {{"name", task.name}, {"n", task.n}, {"errors", task.errors}};
    for (const ScoreField& field : score_fields)
      scores[field.name] = json_number(task.scores.*field.value);
    out["tasks"].push_back(std::move(scores));
  }
  out["reliability"] = has_calibration(model) ? json_reliability(result.reliability) : Json();
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

std::string decimals(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.4f}", value);
}

void print_confusion(const Model& model, const Evaluation& result) {
  std::vector<std::string> header = {"true \\ predicted"};
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

void print_tasks(const Model& model, const Evaluation& result) {
  std::vector<std::string> header = {"task", "n", "errors", "accuracy", "balanced", "AUC"};
  if (has_calibration(model)) header.insert(header.end(), {"log loss", "uncalibrated"});
  Table table(header, "l");
  const auto add = [&](std::vector<std::string> cells, const Scores& scores) {
    cells.insert(cells.end(), {percent(scores.accuracy), percent(scores.balanced_accuracy),
                               decimals(scores.auc)});
    if (has_calibration(model))
      cells.insert(cells.end(),
                   {decimals(scores.log_loss), decimals(scores.uncalibrated_log_loss)});
    table.add(std::move(cells));
  };
  for (const TaskScores& task : result.tasks)
    add({task.name, fmt::to_string(task.n), fmt::to_string(task.errors)}, task.scores);
  add({"mean over tasks", "", ""}, result.mean);
  fmt::print("{}", table.text());
}

void print_reliability(const std::vector<ReliabilityBin>& bins) {
  Table table({"probability", "n", "mean predicted", "share observed"}, "l");
  for (const ReliabilityBin& bin : bins)
    table.add({fmt::format("{:.1f} to {:.1f}", bin.low, bin.high), fmt::to_string(bin.count),
               decimals(bin.mean_predicted), decimals(bin.share_observed)});
  fmt::print("\n{}", table.text());
}

void print_evaluation(const Model& model, const Evaluation& result, bool reliability) {
  print_tasks(model, result);
  if (!model.classes.empty()) print_confusion(model, result);
  if (reliability) print_reliability(result.reliability);
  fmt::print("\n{} of {} rows right: {}{}; balanced {}\n", result.n - result.errors, result.n,
             percent(result.accuracy), model.casting == Casting::one_vs_one ? " (by vote)" : "",
             percent(result.balanced_accuracy));
  if (!has_calibration(model)) return;
  fmt::print("log loss {}; {} without calibration\n", decimals(result.log_loss),
             decimals(result.uncalibrated_log_loss));
  if (result.rows_with_probability < result.n)
    fmt::print("{} of {} rows have a probability: the others are of tasks without calibration\n",
               result.rows_with_probability, result.n);
}

int run_evaluate(const EvaluateOptions& options) {
  const NewTask new_task = new_task_of(options.new_task);
  const Model model = read_model_before(options.data.paths, options.model_path);
  if (options.reliability) require_calibration(model, options.model_path, "--reliability");
  const std::string source = file_list(options.data.paths);
  Monitor monitor(options.output.quiet);
  monitor.phase("reading " + source);
  const Samples samples = read_data(options.data, {model.features_of_data(), model.columns, true});
  monitor.phase("predicting");
  const Evaluation result =
      evaluate(model, samples,
               {.precomputed = read_precomputed(model.kernels, options.precomputed, false),
                .new_task = new_task,
                .source = source,
                .threads = options.threads,
                .progress = [&](Index done, Index all) { monitor.share(done, all, "pieces"); }});
  monitor.clear();
  if (options.output.json)
    print_json(json_evaluation(model, result));
  else
    print_evaluation(model, result, options.reliability);
  return exit_done;
}

}  // namespace

void add_evaluate(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<EvaluateOptions>();
  CLI::App& command =
      add_command(program, "evaluate",
                  "Measure accuracy, AUC and log loss per task on labelled rows, and which classes "
                  "are confused",
                  "coterie evaluate model.h5 test.csv", options, run_evaluate, chosen);
  add_model(command, options->model_path);
  add_paths(command, options->data);
  add_model_columns(command, options->data);
  add_precomputed(command, options->precomputed, kOfNewRows);
  command.add_flag("--reliability", options->reliability,
                   "models with probabilities: how often each probability came true, for the "
                   "positive label or every class (default: off; always in --json)");
  add_new_task(command, options->new_task);
  add_threads(command, options->threads);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
