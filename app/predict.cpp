// coterie predict: labels, scores and probabilities of new rows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration.hpp"
#include "command.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/model/prediction.hpp"
#include "messages.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

struct PredictOptions {
  std::string model_path, output_path;
  DataOptions data;
  OutputOptions output;
  std::vector<std::string> precomputed;
  std::string new_task;
  bool scores = false, probabilities = false;
  int threads = 0;
};

bool has_parts(const Predictions& predictions) {
  return predictions.parts.size() > 1 || !predictions.parts.front().name.empty();
}

// NaN where there is none.
double probability_of(const PartPredictions& part, Index position, Index label) {
  return has_probability(part) ? part.probability(position, label)
                               : std::numeric_limits<double>::quiet_NaN();
}

// The probability that stands beside the label: of a binary task's positive label, or of the class that is printed.
double printed_probability(const Model& model, const PartPredictions& part, Index position) {
  if (model.casting == Casting::binary) return probability_of(part, position, 1);
  const std::string& label = part.label[static_cast<std::size_t>(position)];
  return probability_of(part, position,
                        std::ranges::find(model.classes, label) - model.classes.begin());
}

std::string probability_cell(double p) { return std::isnan(p) ? "," : fmt::format(",{}", p); }

// Binary models: row, task, label, score. Others: row, (task,) label and, when asked for, the scores of all tasks. Calibrated ones:
// a probability behind these, and when asked for that of every class; empty for rows of tasks that are not.
void write_table(const Model& model, const Predictions& predictions, bool scores,
                 bool probabilities, const ByteSink& sink) {
  const bool binary = model.casting == Casting::binary;
  const bool with_task = has_parts(predictions);
  std::string header = with_task ? "row,task,label" : "row,label";
  if (binary) header += ",score";
  if (has_calibration(model)) header += ",probability";
  for (std::size_t c = 0; probabilities && c < model.classes.size(); ++c)
    header += "," + csv_field("probability:" + model.classes[c]);
  for (std::size_t t = 0; !binary && scores && t < model.tasks.size(); ++t)
    header += "," + csv_field(model.tasks[t].name);
  sink(header + "\n");
  fmt::memory_buffer line;
  for (std::size_t i = 0; i < predictions.place.size(); ++i) {
    const auto [p, position] = predictions.place[i];
    const PartPredictions& part = predictions.parts[static_cast<std::size_t>(p)];
    line.clear();
    const auto out = fmt::appender(line);
    fmt::format_to(out, "{}", i + 1);
    if (with_task) fmt::format_to(out, ",{}", csv_field(part.name));
    fmt::format_to(out, ",{}", csv_field(part.label[static_cast<std::size_t>(position)]));
    if (binary) fmt::format_to(out, ",{}", part.scores(position, 0));
    if (has_calibration(model))
      fmt::format_to(out, "{}", probability_cell(printed_probability(model, part, position)));
    for (Index c = 0; probabilities && c < std::ssize(model.classes); ++c)
      fmt::format_to(out, "{}", probability_cell(probability_of(part, position, c)));
    if (!binary && scores) {
      std::size_t next = 0;  // a row has no score by the tasks of other parts
      for (std::size_t t = 0; t < model.tasks.size(); ++t) {
        const bool mine = next < part.tasks.size() && part.tasks[next] == static_cast<Index>(t);
        if (mine)
          fmt::format_to(out, ",{}", part.scores(position, static_cast<Index>(next++)));
        else
          fmt::format_to(out, ",");
      }
    }
    line.push_back('\n');
    sink({line.data(), line.size()});
  }
}

Json json_predictions(const Model& model, const Predictions& predictions, bool scores,
                      bool probabilities) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < predictions.place.size(); ++i) {
    const auto [p, position] = predictions.place[i];
    const PartPredictions& part = predictions.parts[static_cast<std::size_t>(p)];
    Json row = {{"row", i + 1}};
    if (has_parts(predictions)) row["task"] = part.name;
    row["label"] = part.label[static_cast<std::size_t>(position)];
    if (model.casting == Casting::binary)
      row["score"] = json_number(part.scores(position, 0));
    else if (scores)
      for (std::size_t c = 0; c < part.tasks.size(); ++c)
        row["scores"][model.tasks[static_cast<std::size_t>(part.tasks[c])].name] =
            json_number(part.scores(position, static_cast<Index>(c)));
    if (has_calibration(model))
      row["probability"] = json_number(printed_probability(model, part, position));
    for (std::size_t c = 0; probabilities && c < model.classes.size(); ++c)
      row["probabilities"][model.classes[c]] =
          json_number(probability_of(part, position, static_cast<Index>(c)));
    rows.push_back(std::move(row));
  }
  return rows;
}

int run_predict(const PredictOptions& options) {
  const NewTask new_task = new_task_of(options.new_task);
  const bool to_file = !options.output_path.empty();
  std::vector<std::string> others = matrix_files(options.precomputed);
  others.push_back(options.model_path);
  if (to_file) check_output(options.output_path, "the table", input_files(options.data, others));
  const Model model = read_model_before(options.data.paths, options.model_path);
  if (options.probabilities) require_calibration(model, options.model_path, "--probabilities");
  Monitor monitor(options.output.quiet);
  monitor.phase("reading " + file_list(options.data.paths));
  const Samples samples =
      read_data(options.data, {model.features_of_data(), model.columns, false, {}, true});
  monitor.phase("predicting");
  const Predictions predictions =
      predict(model, samples,
              {.precomputed = read_precomputed(model.kernels, options.precomputed, false),
               .new_task = new_task,
               .source = file_list(options.data.paths),
               .threads = options.threads,
               .progress = [&](Index done, Index all) { monitor.share(done, all, "pieces"); }});
  monitor.clear();

  const auto write = [&](const ByteSink& sink) {
    write_table(model, predictions, options.scores, options.probabilities, sink);
  };
  set_stage(Stage::replaceable);
  if (to_file) write_file_atomically(options.output_path, write);
  if (options.output.json) {
    Json out = {{"model", options.model_path}, {"rows", samples.X.rows()}};
    if (to_file) out["output"] = options.output_path;
    out["predictions"] =
        json_predictions(model, predictions, options.scores, options.probabilities);
    print_json(out);
  } else if (!to_file) {
    set_stage(Stage::nothing_to_keep);
    write(print_text);
  } else {
    fmt::print("{} in {}\n", plural(samples.X.rows(), "prediction"), options.output_path);
  }
  return exit_done;
}

}  // namespace

void add_predict(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<PredictOptions>();
  CLI::App& command = add_command(
      program, "predict", "Predict labels, scores and probabilities of new rows, as CSV",
      "coterie predict model.h5 digits -o labels.csv", options, run_predict, chosen);
  add_model(command, options->model_path);
  add_paths(command, options->data);
  command
      .add_option("-o,--output", options->output_path,
                  "where the table goes (default: standard output)")
      ->type_name("FILE");
  add_model_columns(command, options->data);
  command.add_flag("--scores", options->scores,
                   "multi-class models: the score of every task too (default: off)");
  command.add_flag("--probabilities", options->probabilities,
                   "multi-class models with probabilities: that of every class too; the label "
                   "stays that of the vote, even if another class is more probable (default: off)");
  add_precomputed(command, options->precomputed, kOfNewRows);
  add_new_task(command, options->new_task);
  add_threads(command, options->threads);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
