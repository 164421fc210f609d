// coterie bound: what a model is guaranteed on new data.
#include "coterie/front/bound.hpp"

#include <fmt/format.h>

#include <limits>

#include "command.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/report/score_plot.hpp"
#include "messages.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

struct BoundOptions {
  std::string model_path, svg_path;
  DataOptions data;
  BoundSettings settings;
  OutputOptions output;
  std::vector<std::string> precomputed;
  int threads = 0;
};

// A line of the table, of the document and of the picture: a complexity, and the bound by it where there is one.
struct BoundFigure {
  const char* name;
  const char* title;
  Estimate complexity;
  const Guarantee* guarantee;
};

std::vector<BoundFigure> figures_of(const Bound& found) {
  return {{"published", "published formula", {found.published, 0}, &found.by_published},
          {"corrected_closed",
           "corrected, closed form",
           {found.complexity.closed, 0},
           &found.by_closed},
          {"corrected_data", "corrected, by the data", found.complexity.data, &found.by_data},
          {"monte_carlo", "Monte Carlo", found.complexity.monte_carlo, &found.by_monte_carlo},
          {"common", "one kernel for all tasks", found.common.monte_carlo, nullptr},
          {"separate", "a kernel for every task", found.separate.monte_carlo, nullptr}};
}

Json json_of_estimate(const Estimate& estimate) {
  return {{"value", json_number(estimate.value)}, {"stderr", json_number(estimate.standard_error)}};
}

Json json_of_complexity(const Complexity& complexity) {
  Json monte_carlo = json_of_estimate(complexity.monte_carlo);
  monte_carlo["gap"] = json_number(complexity.gap);
  return {{"corrected_closed", json_number(complexity.closed)},
          {"corrected_data", json_number(complexity.data.value)},
          {"corrected_data_stderr", json_number(complexity.data.standard_error)},
          {"monte_carlo", std::move(monte_carlo)}};
}

Json json_of_guarantee(const Guarantee& one) {
  return {{"bound", json_number(one.bound)},
          {"interval", {json_number(one.low), json_number(one.high)}},
          {"margin", json_number(one.margin)},
          {"margin_error", json_number(one.margin_error)},
          {"complexity", json_number(one.complexity)},
          {"deviation", json_number(one.deviation)}};
}

Json json_bound(const Bound& found, const BoundSettings& settings, double seconds) {
  Json complexity = {{"published", json_number(found.published)}};
  complexity.update(json_of_complexity(found.complexity));
  complexity["bias"] = json_number(found.bias_complexity);
  const Guarantee& best = found.by_monte_carlo;
  Json out = {{"complexity", std::move(complexity)},
              {"bound", json_number(best.bound)},
              {"interval", {json_number(best.low), json_number(best.high)}},
              {"margin", json_number(best.margin)},
              {"margin_error", json_number(best.margin_error)},
              {"training_error", json_number(found.training_error)},
              {"bounds", Json::object()},
              {"common", json_of_complexity(found.common)},
              {"separate", json_of_complexity(found.separate)}};
  for (const BoundFigure& figure : figures_of(found))
    if (figure.guarantee) out["bounds"][figure.name] = json_of_guarantee(*figure.guarantee);
  out["R"] = json_number(found.R);
  out["gamma"] = json_number(found.gamma);
  out["bias"] = json_number(found.largest_bias);
  out["norms"] = json_vector(found.norms);
  out["n"] = found.samples;
  out["rows"] = found.rows;
  out["tasks"] = found.tasks;
  out["kernels"] = found.kernels;
  out["rounds"] = found.rounds;
  out["settings"] = json_settings(settings);
  out["notes"] = found.notes;
  out["seconds"] = seconds;
  return out;
}

std::string figure_text(const Estimate& estimate) {
  return estimate.standard_error > 0
             ? fmt::format("{:.4f} ± {:.4f}", estimate.value, estimate.standard_error)
             : fmt::format("{:.4f}", estimate.value);
}

void print_bound(const Bound& found, const BoundSettings& settings) {
  fmt::print(
      "{} of {}, {}; R {:.4g} (largest ||w||^2), gamma {:.4g} (spread of the weights), largest "
      "bias {:.3g}\n\n",
      plural(found.samples, "sample"), plural(found.tasks, "task"), plural(found.kernels, "kernel"),
      found.R, found.gamma, found.largest_bias);
  Table table({"", "complexity", "margin", "margin error", "bound", "interval"}, "l");
  for (const BoundFigure& figure : figures_of(found)) {
    std::vector<std::string> cells = {figure.title, figure_text(figure.complexity)};
    if (const Guarantee* one = figure.guarantee)
      cells.insert(cells.end(), {short_number(one->margin), percent(one->margin_error),
                                 fmt::format("{:.3f}", one->bound),
                                 fmt::format("{} to {}", percent(one->low), percent(one->high))});
    else
      cells.resize(6);
    table.add(std::move(cells));
  }
  fmt::print("{}\n", table.text());
  const Guarantee& best = found.by_monte_carlo;
  if (best.bound < 1)
    fmt::print("with probability {:g} the pooled error on new data is at most {}\n",
               1 - settings.delta, percent(best.bound));
  else
    fmt::print(
        "the bound is above 1 and says nothing about this model: it needs more samples, or larger "
        "margins (a smaller C)\n");
  fmt::print(
      "error on the training samples: {}; biases add {:.4f} to every corrected complexity in the "
      "bounds\n",
      percent(found.training_error), found.bias_complexity);
  for (const std::string& note : found.notes) fmt::print("note: {}\n", note);
}

std::string picture_of_bound(const Bound& found) {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const std::vector<BoundFigure> figures = figures_of(found);
  const Index count = std::ssize(figures);
  ScorePlot plot{
      .title = "Complexity and bound",
      .remark = fmt::format("{} of {}, {}", plural(found.samples, "sample"),
                            plural(found.tasks, "task"), plural(found.kernels, "kernel")),
      .marked = 3};
  ScorePanel complexity{"complexity", "bars: standard error", Vector(count), Vector(count)};
  ScorePanel errors{"bound on the pooled error", "above 1 it says nothing", Vector(count),
                    Vector::Constant(count, missing)};
  for (Index i = 0; i < count; ++i) {
    const BoundFigure& figure = figures[static_cast<std::size_t>(i)];
    plot.methods.emplace_back(figure.title);
    complexity.mean[i] = figure.complexity.value;
    complexity.error[i] =
        figure.complexity.standard_error > 0 ? figure.complexity.standard_error : missing;
    errors.mean[i] = figure.guarantee ? figure.guarantee->bound : missing;
  }
  plot.panels = {std::move(complexity), std::move(errors)};
  return as_svg(plot);
}

Bound compute_bound(const BoundOptions& options, const Model& model, Monitor& monitor) {
  const std::string source = file_list(options.data.paths);
  monitor.phase("reading " + source);
  const Dataset data = cast_into_tasks(
      read_data(options.data, {model.features_of_data(), model.columns, true}), model.casting);
  const PrecomputedMatrices matrices = read_precomputed(model.kernels, options.precomputed, true);
  Run run{.threads = options.threads};
  run.share = [&](Index done, Index all) { return monitor.share(done, all, "steps"); };
  monitor.phase("drawing signs");
  try {
    std::optional<Bound> found = bound(model, data, options.settings, run, matrices);
    if (found) return *std::move(found);
  } catch (const SettingError&) {
    throw;
  } catch (const InputError& error) {
    throw InputError(fmt::format("{} and {}: {}", options.model_path, source, error.what()));
  }
  throw InputError("stopped before the bound was known.");
}

int run_bound(const BoundOptions& options) {
  validate(options.settings);
  std::vector<std::string> inputs = input_files(options.data, {options.model_path});
  for (const std::string& file : matrix_files(options.precomputed)) inputs.push_back(file);
  check_extra_output(options.svg_path, "--svg", {".svg"}, inputs);
  set_stage(Stage::reading_only);
  Stopwatch watch;
  const Model model = read_model_before(options.data.paths, options.model_path);
  Monitor monitor(options.output.quiet);
  const Bound found = compute_bound(options, model, monitor);
  monitor.clear();
  if (!options.svg_path.empty()) {
    set_stage(Stage::writing);
    write_file_atomically(options.svg_path, picture_of_bound(found));
    set_stage(Stage::reading_only);
  }
  if (options.output.json)
    print_json(json_bound(found, options.settings, watch.seconds()));
  else
    print_bound(found, options.settings);
  return exit_done;
}

}  // namespace

void add_bound(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<BoundOptions>();
  CLI::App& command =
      add_command(program, "bound",
                  "Bound a model's error on new data, from its training data alone (docs/bound.md)",
                  "coterie bound model.h5 digits", options, run_bound, chosen);
  add_model(command, options->model_path);
  add_paths(command, options->data);
  add_model_columns(command, options->data);
  add_settings(command, options->settings);
  command.add_option("--svg", options->svg_path, "a picture of the figures (default: none)")
      ->type_name("FILE");
  add_precomputed(command, options->precomputed, kWhereItIsNow);
  add_threads(command, options->threads);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
