// coterie select: which C, lambda, norm and normalisation, or which parameters of another method.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "calibration.hpp"
#include "command.hpp"
#include "coterie/front/files.hpp"
#include "coterie/front/journals.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/journal.hpp"
#include "messages.hpp"
#include "method_options.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "select_output.hpp"

namespace coterie::app {
namespace {

struct SelectOptions {
  ProblemOptions problem;
  Settings settings;
  std::optional<std::string> C, lambda, norm, normalise;
  std::string parameters;
  std::string preset = "paper";
  Index folds = 5;
  std::optional<double> hold_out;
  std::string validation;
  std::string score = "accuracy";
  std::string search = "grid";
  bool one_se = false, resume = false;
  Index seed = 1;
  CalibrationOptions calibration;
  std::string model_path, table_path, picture_path;
  OutputOptions output;
  const CLI::App* command = nullptr;  // to tell what was given from what is a default
};

GridText preset_of(const SelectOptions& options) {
  if (options.preset == "paper") return grid::paper_text();
  if (options.preset == "best") return grid::best_text();
  throw InputError(fmt::format("--preset is '{}'; it must be 'paper' or 'best'.", options.preset));
}

// Folds, a share held out, or rows of their own.
void check_one_way(const SelectOptions& options) {
  std::vector<std::string> given;
  for (const char* option : {"--folds", "--hold-out", "--validation"})
    if (options.command->count(option) > 0) given.emplace_back(option);
  // With --calibrate, --folds are also those of its cross-validation.
  if (options.calibration.wanted() && !options.validation.empty()) std::erase(given, "--folds");
  if (given.size() > 1)
    throw InputError(fmt::format("{} are both given; choose one.", fmt::join(given, " and ")));
}

// What is given, over what the preset says.
struct Plan {
  SelectSettings how;
  Grid grid;
};

Plan plan_of(const SelectOptions& options) {
  Plan plan;
  check_given(options.settings, *options.command);
  SelectSettings& how = plan.how;
  how.settings = in_full(options.settings);
  validate(how.settings);
  const Method& method = *how.settings.method;
  if (method.is_linear() && options.command->count("--preset") > 0)
    throw InputError(fmt::format(
        "--preset has no meaning for --method {}; give lists in --parameters.", method.name));
  GridText text = preset_of(options);
  text.C = options.C.value_or(text.C);
  text.lambda = options.lambda.value_or(text.lambda);
  text.norm = options.norm.value_or(text.norm);
  text.normalise = options.normalise.value_or(text.normalise);
  plan.grid = parse_method_grid(how.settings, text, options.parameters);
  const std::optional<Score> score = score_from(options.score);
  if (!score)
    throw InputError(fmt::format(
        "--score is '{}'; it must be 'accuracy', 'balanced', 'auc' or 'logloss'.", options.score));
  if (options.search != "grid" && options.search != "coarse")
    throw InputError(
        fmt::format("--search is '{}'; it must be 'grid' or 'coarse'.", options.search));
  check_one_way(options);
  how.folds = options.folds;
  how.hold_out = options.hold_out;
  how.score = *score;
  how.coarse = options.search == "coarse";
  how.one_se = options.one_se;
  how.seed = static_cast<std::uint64_t>(options.seed);
  check_selection(how);
  return plan;
}

std::string journal_of(const SelectOptions& options) { return options.model_path + ".journal"; }

void check_outputs(const SelectOptions& options) {
  std::vector<std::string> inputs = input_files(options.problem, options.settings.kernels);
  if (!options.validation.empty()) inputs.push_back(options.validation);
  check_model_output(options.model_path, inputs);
  check_extra_output(options.table_path, "--table", {".csv", ".json"}, inputs);
  check_extra_output(options.picture_path, "--picture", {".svg"}, inputs);
  check_output(journal_of(options), "the journal", inputs, "the journal of the search: ");
  check_distinct_outputs(
      {options.model_path, options.table_path, options.picture_path, journal_of(options)},
      "--output, --table and --picture");
}

void tell_earlier(const SearchJournal& journal, const SelectOptions& options, bool forgotten) {
  if (options.resume)
    tell("{}\n", journal.earlier() == 0
                     ? "note: there is nothing to resume; starting from the beginning."
                     : fmt::format("going on after {} kept in {}", plural(journal.earlier(), "row"),
                                   journal_of(options)));
  else if (forgotten)
    tell("note: an interrupted run is forgotten; --resume would have gone on.\n");
}

void write_results(const SelectOptions& options, const Selection& selection, const Model& model) {
  save(model, options.model_path);
  if (!options.table_path.empty())
    write_file_atomically(options.table_path, options.table_path.ends_with(".json")
                                                  ? json_grid(selection).dump(2) + "\n"
                                                  : csv_grid(selection));
  if (!options.picture_path.empty())
    write_file_atomically(options.picture_path, heat_map(selection));
}

struct SelectPhases {
  double read = 0, search = 0, fit = 0;
};

void print_result(const SelectOptions& options, const Selection& selection, const Model& model,
                  const SelectPhases& phases, double seconds) {
  if (options.output.json) {
    Json out = json_selection(selection);
    out["fit"] = json_fit(model);
    out["seconds"] = seconds;
    out["phases"] = {{"read", phases.read}, {"search", phases.search}, {"fit", phases.fit}};
    out["model"] = options.model_path;
    return print_json(out);
  }
  print_selection(selection);
  fmt::print("\n{}, {}, status {}\n\n{}\n", strength_text(model), proof_text(model.certificate()),
             to_string(model.certificate().status), groups_text(model));
  fmt::print("read {}, search {}, fit {}\n", seconds_text(phases.read), seconds_text(phases.search),
             seconds_text(phases.fit));
  fmt::print("model: {}\n", options.model_path);
}

// The table of --validation, with the features of the data.
Samples read_validation(const SelectOptions& options, const Dataset& data) {
  TableOptions columns;
  columns.label = options.problem.data.label;
  columns.task = options.problem.data.task;
  columns.features = data.features;
  columns.memory = memory_of_table(options.problem.memory);
  return read_samples({options.validation}, columns);
}

// What a selection works on, and with whom it talks.
struct SelectSession {
  const SelectOptions& options;
  Plan plan;
  Stopwatch watch = {};
  SelectPhases phases = {};
  Monitor monitor;
  Dataset data = {};
  Extras extras = {};
  Run run = {};

  explicit SelectSession(const SelectOptions& from)
      : options(from), plan(plan_of(from)), monitor(from.output.quiet) {
    monitor.aim(plan.how.settings.tolerance);
    monitor.phase("reading " + file_list(options.problem.data.paths));
    data = read_problem(options.problem);
    extras = read_extras(options.problem, plan.how.settings, data);
    check_dataset(data);
    if (!options.validation.empty()) plan.how.validation = read_validation(options, data);
    limit_clusters(plan.grid, std::ssize(data.tasks));
    if (options.calibration.wanted())  // what cannot be folded is said before the search
      fold_tasks(data, options.folds, plan.how.seed);
    run = run_of(options.problem, monitor, options.output.quiet);
    run.share = [this](Index done, Index rows) { return monitor.share(done, rows, "rows"); };
    run.phase = [this](Work work) { enter(work); };
  }

  std::string kept_text() const {
    return fmt::format(
        "stopped: no model was written; the search is kept in {}. Go on with the same command and "
        "--resume.\n",
        journal_of(options));
  }
  void enter(Work work) {
    if (work == Work::searching) {
      phases.read = watch.lap();
      monitor.phase(fmt::format("searching {}", size_text(plan.grid)));
      set_stage_kept(kept_text(), exit_failed);
    } else if (work == Work::preparing) {
      phases.search = watch.lap();
      monitor.phase("fitting the choice on all rows");
    } else if (work == Work::calibrating) {
      monitor.phase("calibrating");
    }
  }
  int stopped(const std::string& text) {
    set_stage(Stage::writing);
    monitor.clear();
    write_message(text);
    return exit_failed;
  }
};

Selection run_search(SelectSession& session, SearchJournal& journal) {
  try {
    return select(session.data, session.plan.grid, session.plan.how, session.run, session.extras,
                  journal.hooks());
  } catch (const InputError&) {  // of kernels on the data
    if (journal.rows() == 0) journal.remove();
    throw;
  }
}

// Calibrated where that is wanted; nothing when it was stopped.
std::optional<Model> final_model(SelectSession& session, const Selection& selection) {
  const SelectOptions& options = session.options;
  if (!options.calibration.wanted()) return selection.model();
  session.run.share = [&](Index done, Index folds) {
    return session.monitor.share(done, folds, "folds");
  };
  CalibrationSettings how = settings_of(options.calibration);
  how.folds = options.folds;
  how.seed = session.plan.how.seed;
  return calibrate(selection.model(), session.data, how, session.run, session.extras);
}

int run_select(const SelectOptions& options) {
  check_outputs(options);
  check_problem(options.problem);
  check_calibration(options.calibration);
  SelectSession session(options);
  check_search(session.data, session.plan.grid, session.plan.how, session.run,
               session.extras);  // before a journal is made
  const bool forgotten = Journal::exists(journal_of(options));
  SearchJournal journal(journal_of(options), options.resume ? Resume::yes : Resume::no,
                        session.data, session.plan.grid, session.plan.how, session.extras);
  session.monitor.clear();
  if (!options.output.quiet) tell_earlier(journal, options, forgotten);

  const Selection selection = run_search(session, journal);
  if (selection.scores.stopped)
    return session.stopped(fmt::format(
        "stopped: no model was written; {} in {}. Go on with the same command and --resume.\n",
        journal.rows() == 1 ? "1 row is kept" : fmt::format("{} rows are kept", journal.rows()),
        journal_of(options)));
  if (interrupted()) return session.stopped(session.kept_text());
  const std::optional<Model> model = final_model(session, selection);
  if (!model) return session.stopped(session.kept_text());
  session.phases.fit = session.watch.lap();
  set_stage(Stage::writing);
  write_results(options, selection, *model);
  journal.remove();
  set_stage(Stage::reading_only);
  session.monitor.clear();
  print_result(options, selection, *model, session.phases, session.watch.seconds());
  if (!options.output.quiet) tell("{}", edges_text(selection, model->groups().size() == 1));
  if (selection.trained->fit.status() == Status::converged) return exit_done;
  tell("warning: the fit of the choice ended with status '{}', relative gap {:.1e}.\n",
       to_string(model->certificate().status), model->certificate().gap);
  return exit_short;
}

void add_lists(CLI::App& command, SelectOptions& options) {
  const std::string numbers = "numbers, 2^-10..2^10, or 0.1..10:5 for five points";
  const auto add_list = [&](const std::string& names, std::optional<std::string>& list,
                            const std::string& help) {
    command.add_option(names, list, help + " (default: by the preset)")->type_name("LIST");
  };
  command
      .add_option("--preset", options.preset,
                  "the lists that are not given: 'paper' (C and lambda of 2^-10..2^10, norm 1, "
                  "cosine) or 'best' (norms and normalisations too)")
      ->type_name("TEXT")
      ->capture_default_str();
  add_list("-C,--C", options.C, "list of C: " + numbers);
  add_list(
      "--lambda", options.lambda,
      "list of lambda: " + numbers + "; shares of lambda_max such as 0.01max..1max:5; 0 and inf");
  add_list("--norm", options.norm, "list of norms, such as 1,2,inf");
  add_list("--normalise", options.normalise,
           "list of normalisations, such as cosine,tail:4,tail:8");
  command
      .add_option("--parameters", options.parameters,
                  "of methods other than coterie, lists such as 'lambda=2^-10..2^10 clusters=1..5' "
                  "(default: as `coterie methods` lists)")
      ->type_name("TEXT");
}

void add_judgement(CLI::App& command, SelectOptions& options) {
  command
      .add_option("--score", options.score,
                  "what the choice is judged by, mean over tasks: 'accuracy', 'balanced', 'auc' or "
                  "'logloss'")
      ->type_name("TEXT")
      ->capture_default_str();
  add_number(command, "--folds", options.folds,
             "parts of the cross-validation, stratified within tasks", "a whole number >= 2",
             Index{2});
  command
      .add_option_function<double>(
          "--hold-out", [&options](double share) { options.hold_out = share; },
          "share of the rows to judge on, instead of cross-validation")
      ->type_name("NUMBER");
  command
      .add_option("--validation", options.validation,
                  "table of rows to judge on, with the same columns; nobody trains on them "
                  "(default: none)")
      ->type_name("FILE");
  command.add_flag("--one-se", options.one_se,
                   "the strongest sharing and smallest C within one standard error of the best; of "
                   "other methods the simplest parameters (default: the best)");
  command
      .add_option("--search", options.search,
                  "'grid' (every point) or 'coarse' (every second C and fourth lambda, then around "
                  "the best)")
      ->type_name("TEXT")
      ->capture_default_str();
}

void add_outputs(CLI::App& command, SelectOptions& options) {
  command
      .add_option("--table", options.table_path,
                  "write the whole grid, .csv or .json (default: no)")
      ->type_name("FILE");
  command.add_option("--picture", options.picture_path, "write a heat map, .svg (default: no)")
      ->type_name("FILE");
  command.add_flag("--resume", options.resume,
                   "continue an interrupted run of the same command (default: start from scratch)");
}

}  // namespace

void add_select(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<SelectOptions>();
  CLI::App& command = add_command(
      program, "select", "Choose C, lambda and more by cross-validation, and fit the choice",
      "coterie select tasks.csv --preset best -o model.h5 --table grid.csv --picture grid.svg",
      options, run_select, chosen);
  options->command = &command;
  add_paths(command, options->problem.data);
  command.add_option("-o,--output", options->model_path, "where the model goes (needed)")
      ->type_name("FILE");
  add_lists(command, *options);
  add_judgement(command, *options);
  add_outputs(command, *options);
  add_problem(command, options->problem);
  add_settings(command, options->settings, {"C", "lambda", "norm", "normalise", "parameters"});
  add_calibrate(command, options->calibration);
  add_seed(command, options->seed);
  add_resources(command, options->problem);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
