// The subcommands, each in a file of its own: it declares its options, and its action parses, calls and prints.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

namespace coterie::app {

enum ExitCode : int { exit_done = 0, exit_failed = 1, exit_bad_input = 2, exit_short = 3 };

// What the command line asks for; main runs it after all options are read.
using Action = std::function<int()>;

void add_train(CLI::App& program, Action& chosen);
void add_select(CLI::App& program, Action& chosen);
void add_path(CLI::App& program, Action& chosen);
void add_predict(CLI::App& program, Action& chosen);
void add_evaluate(CLI::App& program, Action& chosen);
void add_bound(CLI::App& program, Action& chosen);
void add_extend(CLI::App& program, Action& chosen);
void add_methods(CLI::App& program, Action& chosen);
void add_stats(CLI::App& program, Action& chosen);
void add_inspect(CLI::App& program, Action& chosen);
void add_verify(CLI::App& program, Action& chosen);
void add_page(CLI::App& program, Action& chosen);
void add_experiment(CLI::App& program, Action& chosen);
void add_demo(CLI::App& program, Action& chosen);
void add_data(CLI::App& program, Action& chosen);  // the five below

void add_data_list(CLI::App& data, Action& chosen);
void add_data_describe(CLI::App& data, Action& chosen);
void add_data_generate(CLI::App& data, Action& chosen);
void add_data_convert(CLI::App& data, Action& chosen);
void add_data_fetch(CLI::App& data, Action& chosen);

// A subcommand whose action is run(options); `options` lives as long as the action.
template <typename Options>
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      const std::string& example, const std::shared_ptr<Options>& options,
                      int (*run)(const Options&), Action& chosen) {
  CLI::App& command = *parent.add_subcommand(name, description);
  command.footer("Example:\n  " + example);
  command.callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
  return command;
}

}  // namespace coterie::app
