// Options that several commands share: numbers with rules, where data comes from and where results go.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coterie/data/dataset.hpp"
#include "coterie/io/write_table.hpp"
#include "coterie/kernel/gram.hpp"
#include "coterie/model/prediction.hpp"
#include "coterie/model/settings.hpp"

namespace coterie::app {

// Options whose value is checked against a rule in words; a wrong one is an InputError that quotes it.
CLI::Option& add_number(CLI::App& command, const std::string& flags, double& value,
                        const std::string& help, const std::string& rule,
                        double smallest = std::numeric_limits<double>::lowest());
CLI::Option& add_number(CLI::App& command, const std::string& flags, Index& value,
                        const std::string& help, const std::string& rule,
                        Index smallest = std::numeric_limits<Index>::lowest());

// All fields of a settings struct, by its visit_fields, but those in `others`.
template <typename AnySettings>
void add_settings(CLI::App& command, AnySettings& settings,
                  const std::vector<std::string>& others = {}) {
  visit_fields(settings, [&](const char* name, auto& value, const char* help, const char* rule) {
    if (std::ranges::find(others, name) != others.end()) return;
    const std::string flags = std::string_view(name).size() == 1 ? fmt::format("-{0},--{0}", name)
                                                                 : fmt::format("--{}", name);
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
      add_number(command, flags, value, help, rule);
    else
      command
          .add_option_function<std::string>(
              flags,
              [&value, name, rule](const std::string& text) {
                read_field(name, text, rule, value);
              },
              fmt::format("{} ({})", help, rule))
          ->type_name("TEXT")
          ->default_str(text_of(value));
  });
}

std::string replace_all(std::string text, const std::string& from, const std::string& to);

// What reads the file of an option; its errors name the option.
template <typename Read>
auto read_for(const std::string& option, Read read) {
  try {
    return read();
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", option, error.what()));
  }
}

struct DataOptions {
  std::vector<std::string> paths;
  std::optional<std::string> label, task;
  std::string drop, features;  // names joined by commas
};
void add_paths(CLI::App& command, DataOptions& options);
void add_model(CLI::App& command, std::string& path);
// The model of a command that names data behind it. Throws InputError, which says so where they are the wrong way round.
Model read_model_before(const std::vector<std::string>& data, const std::string& path);
// --precomputed: files of precomputed kernels, with what they hold.
inline constexpr const char* kOfNewRows =
    "values of a precomputed kernel between new rows and training rows; once for every such kernel "
    "of the model";
inline constexpr const char* kWhereItIsNow =
    "where the matrix of a precomputed kernel is now; once per kernel (default: where it was)";
void add_precomputed(CLI::App& command, std::vector<std::string>& files, const char* help);
void add_columns(CLI::App& command, DataOptions& options);  // --label, --task
void add_model_columns(CLI::App& command,
                       DataOptions& options);  // the same, with the model's as defaults
void add_column_choice(CLI::App& command, DataOptions& options);  // --drop, --features

struct ReadRule {
  std::vector<std::string> features = {};  // those of a model, before the options
  ColumnNames trained = {};                // of a model, behind the options
  bool label_required = true;
  std::optional<double> memory = {};  // bytes that the table may take
  bool blank_labels = false;          // a label may be blank
};
// The name of the embedded data stands for it when no such file exists.
Samples read_data(const DataOptions& options, const ReadRule& rule = {});

struct OutputOptions {
  bool json = false;
  bool quiet = false;
};
void add_json(CLI::App& command, OutputOptions& options);
void add_quiet(CLI::App& command, OutputOptions& options);
void add_threads(CLI::App& command, int& threads);
void add_new_task(CLI::App& command, std::string& text);
NewTask new_task_of(const std::string& text);
void add_seed(CLI::App& command, Index& seed);

// The files that the options name, for check_output: those of the data, of precomputed kernels, and others; empty names are left out.
std::vector<std::string> input_files(const DataOptions& data,
                                     const std::vector<std::string>& others = {});
std::vector<std::string> kernel_files(const Kernels& kernels);
std::vector<std::string> matrix_files(const std::vector<std::string>& precomputed);  // NAME=FILE

// Whether both names lead to one file, through whatever links, or would once it is made.
bool same_place(const std::string& a, const std::string& b);

// Throws InputError unless a file can be made at `path`: before the work, not after. `what` is what goes there, `option` says where the
// name is from; it starts the message.
void check_output(const std::string& path, const std::string& what,
                  const std::vector<std::string>& inputs, const std::string& option = "--output: ");
// The same of a file that may be left out (an empty name), whose name must have one of the endings.
void check_extra_output(const std::string& path, const std::string& option,
                        const std::vector<std::string>& endings,
                        const std::vector<std::string>& inputs);
// Throws InputError when the file is one of the inputs.
void check_not_input(const std::string& path, const std::vector<std::string>& inputs,
                     const std::string& option);
// Throws InputError when two outputs go to one place; empty names are left out. `options` are those that name them, in words.
void check_distinct_outputs(const std::vector<std::string>& outputs, const std::string& options);

// Matrices for the precomputed kernels: from NAME=FILE options, or (with own_files) from the files that the kernels name.
PrecomputedMatrices read_precomputed(const std::vector<Kernel>& kernels,
                                     const std::vector<std::string>& given, bool own_files);

std::string file_list(const std::vector<std::string>& paths);  // for messages
// A line that says so when every task went to a file of its own; nothing otherwise.
std::string note_on_tasks(const WrittenFiles& written, const Samples& samples);
std::vector<std::string> split_names(const std::string& text);

}  // namespace coterie::app
