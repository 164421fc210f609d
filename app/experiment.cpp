// coterie experiment: a study by plan, methods x data sets x splits, which goes on where it was ended.
#include "coterie/experiment/experiment.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "command.hpp"
#include "comparison_json.hpp"
#include "coterie/experiment/figure.hpp"
#include "coterie/experiment/readings.hpp"
#include "coterie/experiment/tables.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/table.hpp"
#include "coterie/page/page.hpp"
#include "coterie/report/study.hpp"
#include "messages.hpp"
#include "options.hpp"
#include "page_output.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace coterie::app {
namespace {

namespace fs = std::filesystem;

constexpr double kStudyAlpha = 0.05;

struct ExperimentOptions {
  std::string plan, folder, data, only, page_path;
  bool quick = false, dry_run = false, tables_only = false;
  std::optional<std::string> memory;
  int threads = 0;
  OutputOptions output;
};

// Where the files of data sets are: --data, the plan's own word (beside the plan), COTERIE_DATA, or beside the plan.
fs::path data_folder_of(const ExperimentOptions& options, const Plan& plan) {
  if (!options.data.empty()) return options.data;
  const fs::path beside = fs::path(options.plan).parent_path();
  if (plan.data) return beside / *plan.data;
  const char* everywhere = std::getenv("COTERIE_DATA");
  return everywhere != nullptr && *everywhere != '\0' ? fs::path(everywhere) : beside;
}

Samples read_planned(const ExperimentOptions& options, const fs::path& folder,
                     const DatasetPlan& dataset) {
  DataOptions data;
  for (const std::string& file : dataset.files) {
    const std::string path = (folder / file).lexically_normal().string();
    const std::vector<std::string> behind = files_behind(path);
    const bool there = fs::exists(behind.front());
    if (!there && file != "digits")  // which is in the program
      throw InputError(
          fmt::format("there is no file {}. Files of a plan are looked for in the folder that "
                      "--data names, else in the plan's 'data', else in the folder of the "
                      "environment variable COTERIE_DATA, else beside the plan.",
                      behind.front()));
    data.paths.push_back(there ? path : file);
  }
  data.label = dataset.label;
  data.task = dataset.task;
  data.drop = fmt::format("{}", fmt::join(dataset.drop, ","));
  ReadRule rule;
  rule.memory = memory_of_table(options.memory);
  try {
    return read_data(data, rule);
  } catch (const InputError& error) {  // whose settings are keys of the plan, not options
    throw InputError(replace_all(error.what(), "`", "'"));
  }
}

void make_folder(const std::string& folder) {
  if (folder.empty()) throw InputError("--output is missing: the folder for journal and tables.");
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (!fs::is_directory(folder))
    throw InputError(fmt::format("--output: {} cannot be made a folder{}.", folder,
                                 problem ? ": " + problem.message() : ""));
}

int list_cells(const ExperimentOptions& options, const Plan& plan) {
  Json names = Json::array();
  for (const Cell& cell : cells_of(plan, options.only)) names.push_back(name_of(plan, cell));
  if (options.output.json) {
    print_json({{"cells", names}});
  } else {
    for (const auto& name : names) fmt::print("{}\n", name.get<std::string>());
    fmt::print("{}\n", plural(std::ssize(names), "cell"));
  }
  return exit_done;
}

std::string readings_text(const Experiment& experiment) {
  return experiment.plan.protocol == Protocol::published ? readings_table(experiment) + "\n" : "";
}

void print_outcome(const ExperimentOptions& options, const Experiment& experiment, double seconds) {
  if (!options.output.json) {
    fmt::print("{}\n{}{} of {} done, {} by earlier runs, {}\nresults: {}\n",
               markdown_table(experiment), readings_text(experiment), experiment.done(),
               plural(std::ssize(experiment.cells), "cell"), experiment.earlier,
               seconds_text(seconds), options.folder);
    if (!options.page_path.empty()) fmt::print("page: {}\n", options.page_path);
    return;
  }
  Json results = Json::array();
  for (std::size_t i = 0; i < experiment.cells.size(); ++i) {
    if (!experiment.results[i]) continue;
    const Cell& cell = experiment.cells[i];
    const CellResult& result = *experiment.results[i];
    results.push_back({{"dataset", experiment.plan.datasets[cell.dataset].name},
                       {"share", cell.share},
                       {"repetition", cell.repetition},
                       {"method", experiment.plan.methods[cell.method].name},
                       {"score", json_number(result.score)},
                       {"validation_score", json_number(result.validation)},
                       {"chosen", result.chosen},
                       {"gap", json_number(result.gap)},
                       {"status", result.status},
                       {"seconds", result.seconds}});
    for (const Reading& reading : result.readings)
      results.back()["readings"][reading.name] = json_number(reading.score);
  }
  print_json({{"cells", experiment.cells.size()},
              {"done", experiment.done()},
              {"earlier", experiment.earlier},
              {"protocol", to_string(experiment.plan.protocol)},
              {"quick", experiment.plan.quick},
              {"seconds", seconds},
              {"folder", options.folder},
              {"results", results}});
}

ExperimentRun run_of_study(const ExperimentOptions& options, const Plan& plan, Monitor& monitor) {
  ExperimentRun run;
  run.threads = options.threads;
  run.memory_bytes = memory_budget(options.memory);
  run.only = options.only;
  const fs::path folder = data_folder_of(options, plan);
  run.read = [&options, &monitor, folder](const DatasetPlan& dataset) {
    monitor.phase("reading " + dataset.name);
    return read_planned(options, folder, dataset);
  };
  run.progress = [&options, &monitor, begun = false](Index done, Index all) mutable {
    if (!begun) {
      begun = true;
      monitor.phase("running");
      set_stage_kept(fmt::format("stopped: finished cells are kept in {}. Go on with the same "
                                 "command.\n",
                                 options.folder),
                     exit_short, {});
    }
    if (done > 0) note_kept();
    return monitor.share(done, all, "cells");
  };
  if (options.tables_only) run.progress = [](Index, Index) { return false; };
  if (!options.output.quiet)
    run.note = [&monitor](const std::string& text) {
      monitor.clear();
      tell("note: {}\n", text);
    };
  return run;
}

// NAME.svg and NAME.csv of every figure. True when all are done.
bool draw_figures(const ExperimentOptions& options, const Plan& plan, Monitor& monitor) {
  if (plan.figures.empty()) return true;
  ExperimentRun run = run_of_study(options, plan, monitor);
  bool stopped = false;
  run.progress = [&](Index done, Index all) {
    stopped = stopped || !monitor.share(done, all, "figures");
    return !stopped;
  };
  for (const Figure& figure : run_figures(plan, run))
    for (const ReportFile& file : figure_files(figure))
      write_file_atomically(options.folder + "/" + file.name, file.text);
  return !stopped;
}

// Writes, or removes what an earlier run wrote where there is nothing now.
void put_file(const std::string& path, const std::string& text) {
  if (!text.empty()) return write_file_atomically(path, text);
  std::error_code none;
  fs::remove(path, none);
}

// What there is beside the tables: statistics, pictures, and one page with all of it.
void write_study(const ExperimentOptions& options, const Experiment& experiment) {
  const std::vector<StudyBlock> blocks = study_statistics(experiment, kStudyAlpha);
  const std::string plan = fs::path(options.plan).filename().string();
  for (const ReportFile& file : study_files(experiment, blocks, plan))
    put_file(options.folder + "/" + file.name, file.text);
  put_file(options.folder + "/statistics.json",
           json_study(experiment, blocks, kStudyAlpha).dump(2) + "\n");
}

int run_study(const ExperimentOptions& options) {
  const Plan plan = read_plan(options.plan, options.quick);
  if (cells_of(plan, options.only).empty() && plan.figures.empty())
    throw InputError(
        fmt::format("--only is '{}', which no cell has in its name; see --dry-run.", options.only));
  if (options.dry_run) return list_cells(options, plan);
  check_page_output(options.page_path, "--page", {options.plan});
  make_folder(options.folder);
  Stopwatch watch;
  Monitor monitor(options.output.quiet);
  Experiment experiment =
      run_experiment(plan, options.folder, run_of_study(options, plan, monitor));
  if (!experiment.stopped) experiment.stopped = !draw_figures(options, plan, monitor);
  set_stage(Stage::writing);
  monitor.clear();
  write_tables(experiment, options.folder);
  write_study(options, experiment);
  write_readings(experiment, options.folder);
  if (!options.page_path.empty())
    write_file_atomically(
        options.page_path,
        as_page(StudyPage{.title = "Study " + fs::path(options.plan).filename().string(),
                          .experiment = experiment}));
  set_stage(Stage::reading_only);
  print_outcome(options, experiment, watch.seconds());
  if (!experiment.stopped || options.tables_only) return exit_done;
  tell("stopped: {} of {} cells are kept in {}. Go on with the same command.\n", experiment.done(),
       experiment.cells.size(), options.folder);
  return exit_short;
}

}  // namespace

void add_experiment(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ExperimentOptions>();
  CLI::App& command = add_command(program, "experiment",
                                  "Compare methods on many splits of data sets, as a plan says; "
                                  "repeat the command to go on after an interruption",
                                  "coterie experiment experiments/quick.toml -o results/quick",
                                  options, run_study, chosen);
  command.add_option("PLAN", options->plan, "the plan, a TOML file (docs/experiments.md)")
      ->required()
      ->type_name("");
  command
      .add_option("-o,--output", options->folder,
                  "folder of the journal and the tables (needed but for --dry-run)")
      ->type_name("DIR");
  add_page_option(command, options->page_path, "scores, ranks and differences");
  command
      .add_option("--data", options->data,
                  "folder of the data files (default: as the plan says, else COTERIE_DATA, else "
                  "beside the plan)")
      ->type_name("DIR");
  command.add_flag("--quick", options->quick,
                   "a trial: what the plan's [quick] says, or one repetition and at most three "
                   "values of a list (default: off)");
  command
      .add_option("--only", options->only,
                  "only the cells (a cell is one method on one split) whose name has this text, "
                  "such as 'letter 10 "
                  "%' (default: all)")
      ->type_name("TEXT");
  command.add_flag("--dry-run", options->dry_run, "list the cells and end (default: off)");
  command.add_flag("--tables-only", options->tables_only,
                   "run no cell; write tables, statistics and pictures of those that are done "
                   "(default: off)");
  add_memory(command, options->memory);
  add_threads(command, options->threads);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
