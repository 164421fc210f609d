// coterie page: a model as one HTML file to look at.
#include "coterie/page/page.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "command.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/model/prediction.hpp"
#include "options.hpp"
#include "page_output.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

struct PageOptions {
  std::string model_path, output_path;
  DataOptions data;
  OutputOptions output;
  std::vector<std::string> precomputed;
  std::string new_task;
  int threads = 0;
};

Evaluation judged(const PageOptions& options, const Model& model, Monitor& monitor) {
  const std::string source = file_list(options.data.paths);
  monitor.phase("reading " + source);
  const Samples samples = read_data(options.data, {model.features_of_data(), model.columns, true});
  monitor.phase("predicting");
  return evaluate(model, samples,
                  {.precomputed = read_precomputed(model.kernels, options.precomputed, false),
                   .new_task = new_task_of(options.new_task),
                   .source = source,
                   .threads = options.threads,
                   .progress = [&](Index done, Index all) { monitor.share(done, all, "pieces"); }});
}

int run_page(const PageOptions& options) {
  if (options.output_path.empty())
    throw InputError("--output is missing: the file for the page, such as report.html.");
  std::vector<std::string> inputs = input_files(options.data, {options.model_path});
  for (const std::string& file : matrix_files(options.precomputed)) inputs.push_back(file);
  check_page_output(options.output_path, "--output", inputs);
  const Model model = read_model(options.model_path);
  Monitor monitor(options.output.quiet);
  std::optional<Evaluation> held_out;
  if (!options.data.paths.empty()) held_out = judged(options, model, monitor);
  ModelPage page{.title = std::filesystem::path(options.model_path).filename().string(),
                 .model = model};
  if (held_out) {
    page.held_out = &*held_out;
    page.held_out_name = file_list(options.data.paths);
  }
  const std::string text = as_page(page);
  write_file_atomically(options.output_path, text);
  monitor.clear();
  if (options.output.json)
    print_json(
        {{"page", options.output_path}, {"bytes", text.size()}, {"tasks", model.tasks.size()}});
  else
    fmt::print("page: {} ({}; open it in a browser)\n", options.output_path,
               plural(std::ssize(model.tasks), "task"));
  return exit_done;
}

}  // namespace

void add_page(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<PageOptions>();
  CLI::App& command = add_command(
      program, "page", "A model as one HTML file to look at: tasks, groups, weights, certificate",
      "coterie page model.h5 test.csv -o report.html", options, run_page, chosen);
  command.add_option("MODEL", options->model_path, "model file of `coterie train`")
      ->required()
      ->type_name("");
  command
      .add_option("DATA", options->data.paths,
                  "labelled rows that the model did not see: scores of its tasks (default: none)")
      ->type_name("");
  command.add_option("-o,--output", options->output_path, "where the page goes (needed)")
      ->type_name("FILE");
  add_model_columns(command, options->data);
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
