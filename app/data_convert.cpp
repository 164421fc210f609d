// coterie data convert: from one format to another.
#include <fmt/format.h>

#include "command.hpp"
#include "coterie/io/write_table.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

struct ConvertOptions {
  DataOptions data;  // the last path is the output
  OutputOptions output;
};

int run_convert(const ConvertOptions& options) {
  DataOptions data = options.data;
  if (data.paths.size() < 2)
    throw InputError("convert needs at least two files: the data, and where it goes.");
  const std::string target = data.paths.back();
  data.paths.pop_back();
  check_table_name(target);
  const std::vector<std::string> inputs = input_files(data);
  check_output(target, "the data", inputs, "");
  const Samples samples = read_data(data, {.label_required = false});
  for (const std::string& file : files_to_write(samples, target)) check_not_input(file, inputs, "");
  set_stage(Stage::replaceable);
  const WrittenFiles written = write_samples(samples, target);
  if (options.output.json) {
    print_json({{"rows", samples.X.rows()},
                {"features", samples.features.size()},
                {"files", written.files},
                {"file_per_task", written.file_per_task}});
  } else {
    fmt::print("{}, {}: {}\n", plural(samples.X.rows(), "row"),
               plural(std::ssize(samples.features), "feature"), file_list(written.files));
    fmt::print("{}", note_on_tasks(written, samples));
  }
  return exit_done;
}

}  // namespace

void add_data_convert(CLI::App& data, Action& chosen) {
  const auto options = std::make_shared<ConvertOptions>();
  CLI::App& command = add_command(data, "convert",
                                  "Read files and write them in the format that the last name says",
                                  "coterie data convert site1.svm site2.svm all.csv.gz\n  coterie "
                                  "data convert landmine.mat landmine.csv",
                                  options, run_convert, chosen);
  command
      .add_option(
          "FILES", options->data.paths,
          "the data, then the file to write: .csv, .tsv, .svm, .npy or .idx, or with .gz, or .mat")
      ->required()
      ->type_name("");
  add_columns(command, options->data);
  add_column_choice(command, options->data);
  add_json(command, options->output);
}

}  // namespace coterie::app
