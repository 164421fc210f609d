// The options that say what is to be learnt from, shared by the commands that train: data, tasks, costs, memory.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "coterie/front/train.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace coterie::app {

struct ProblemOptions {
  DataOptions data;
  bool one_vs_one = false, one_vs_rest = false;
  std::string task_graph, task_C;
  std::optional<std::string> memory;
  int threads = 0;
};

void add_problem(CLI::App& command, ProblemOptions& options);    // before the settings
void add_resources(CLI::App& command, ProblemOptions& options);  // after them: --memory, --threads

// Throws InputError for what is wrong before any data is read.
void check_problem(const ProblemOptions& options);

Dataset read_problem(const ProblemOptions& options);
Extras read_extras(const ProblemOptions& options, const Settings& settings, const Dataset& data);

// --memory, and what it means: bytes that a command may use, and those that a table may take of them.
void add_memory(CLI::App& command, std::optional<std::string>& memory);
double memory_budget(const std::optional<std::string>& memory);
std::optional<double> memory_of_table(const std::optional<std::string>& memory);

// How the front door runs for these options: progress by the monitor, notes to standard error.
Run run_of(const ProblemOptions& options, Monitor& monitor, bool quiet);
Run run_of(int threads, const std::optional<std::string>& memory, Monitor& monitor, bool quiet);
void tune_memory(bool keeps_all);  // tells the allocator

// All files that the options name, to tell outputs from; `kernels` is a list of them.
std::vector<std::string> input_files(const ProblemOptions& options, const Kernels& kernels);

// Throws InputError unless a model can go there.
void check_model_output(const std::string& path, const std::vector<std::string>& inputs,
                        const std::string& option = "--output");

}  // namespace coterie::app
