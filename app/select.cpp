// coterie select: which C, lambda, norm and normalisation, or which parameters of another method.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "calibration.hpp"
#include "command.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/front/files.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/journal.hpp"
#include "messages.hpp"
#include "method_options.hpp"
#include "numbers.hpp"
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
  if (options.hold_out && options.command->count("--folds") > 0)
    throw InputError("--folds and --hold-out are both given; choose one.");
  how.folds = options.folds;
  how.hold_out = options.hold_out;
  how.score = *score;
  how.coarse = options.search == "coarse";
  how.one_se = options.one_se;
  how.seed = static_cast<std::uint64_t>(options.seed);
  check_selection(how);
  return plan;
}

// Rows of the search as records of the journal.
std::string encode(const RowKey& key, const RowScores& row) {
  Numbers out;
  for (const Index part : {key.round, key.norm, key.normalise, key.fold, key.C}) out.add(part);
  out.add(row.lambda_max);
  out.add(row.worst_gap);
  for (const Index count : {row.fits, row.outer_steps, row.reused, row.unconverged}) out.add(count);
  out.add(row.values.rows());
  out.add(row.values.cols());
  out.add(row.values.data(), row.values.size());
  return out.bytes();
}

// What the records of a journal must agree with.
struct RowShapes {
  Score score;
  Index norms, normalisations, rows;  // rows: C, or the rows of other methods
  std::vector<Index> widths;          // numbers per point, of every fold
};

RowShapes shapes_of(const Plan& plan, const Dataset& data, const std::vector<Split>& splits) {
  RowShapes shapes{plan.how.score,
                   std::ssize(plan.grid.norm),
                   std::ssize(plan.grid.normalise),
                   plan.grid.method->walks_lambda() ? std::ssize(plan.grid.C)
                                                    : std::ssize(all_points(plan.grid)),
                   {}};
  for (const Split& split : splits) {
    Index held_out = 0;
    for (const std::vector<Index>& rest : split.rest) held_out += std::ssize(rest);
    shapes.widths.push_back(plan.how.score == Score::log_loss ? held_out : std::ssize(data.tasks));
  }
  return shapes;
}

struct KnownRow {
  std::size_t record = 0;
  RowScores scores;
};

RowScores decode_scores(NumberReader& in, Score score, Index width) {
  RowScores row;
  row.lambda_max = in.between(0, 1e200, "lambda_max");
  row.worst_gap = in.between(-1e200, std::numeric_limits<double>::infinity(), "a gap");
  row.fits = in.count("the number of fits");
  row.outer_steps = in.count("the number of steps");
  row.reused = in.count("the number of fits that were saved");
  row.unconverged = in.count("the number of fits that stopped short");
  const Index points = in.count("the number of points");
  in.expect(width, "the number of scores");
  if (score == Score::log_loss) {
    row.values = in.matrix(points, width, -1e200, 1e200, "a decision value");
  } else {
    in.need(points, width);
    row.values.resize(points, width);
    for (Index i = 0; i < row.values.size(); ++i)
      row.values.data()[i] = in.share_or_none("a score");
  }
  in.expect_end();
  return row;
}

std::map<RowKey, KnownRow> decode(const Journal& journal, const RowShapes& shapes) {
  std::map<RowKey, KnownRow> rows;
  read_journal(journal, [&](std::size_t record, const std::string& bytes) {
    NumberReader in(bytes);
    RowKey key;
    key.round = in.count("the round");
    key.norm = in.whole(0, shapes.norms - 1, "the number of a norm");
    key.normalise = in.whole(0, shapes.normalisations - 1, "the number of a normalisation");
    key.fold = in.whole(0, std::ssize(shapes.widths) - 1, "the number of a fold");
    key.C = in.whole(0, shapes.rows - 1, "the number of a row");
    rows[key] = {
        record, decode_scores(in, shapes.score, shapes.widths[static_cast<std::size_t>(key.fold)])};
  });
  return rows;
}

// All that the rows of the search depend on.
std::string description(const SelectOptions& options, const Plan& plan, const std::string& mark,
                        const Extras& extras) {
  Json run = {{"command", "select"}, {"problem", json_problem(mark, extras)}};
  run["settings"] = json_settings(plan.how.settings);
  for (const char* name : {"C", "lambda", "norm", "normalise", "parameters"})
    run["settings"].erase(name);
  run["C"] = plan.grid.C;
  for (const Lambda& lambda : plan.grid.lambda) run["lambda"].push_back(text_of(lambda));
  for (const double norm : plan.grid.norm) run["norm"].push_back(json_number(norm));
  for (const Normalisation& one : plan.grid.normalise) run["normalise"].push_back(text_of(one));
  for (const ParameterList& list : plan.grid.parameters) run["parameters"][list.name] = list.values;
  run["score"] = to_string(plan.how.score);
  run["search"] = options.search;
  run["folds"] = options.folds;
  run["hold_out"] = options.hold_out.value_or(0);
  run["seed"] = options.seed;
  return run.dump();
}

std::string journal_of(const SelectOptions& options) { return options.model_path + ".journal"; }

void check_outputs(const SelectOptions& options) {
  const std::vector<std::string> inputs = input_files(options.problem, options.settings.kernels);
  check_model_output(options.model_path, inputs);
  check_extra_output(options.table_path, "--table", {".csv", ".json"}, inputs);
  check_extra_output(options.picture_path, "--picture", {".svg"}, inputs);
  check_output(journal_of(options), "the journal", inputs, "the journal of the search: ");
  check_distinct_outputs(
      {options.model_path, options.table_path, options.picture_path, journal_of(options)},
      "--output, --table and --picture");
}

// What a search keeps: rows of an earlier run, and those of this one as they are done.
class KeptRows {
 public:
  KeptRows(const SelectOptions& options, const Plan& plan, const Dataset& data,
           const Extras& extras)
      : path_(journal_of(options)),
        earlier_(Journal::exists(path_)),
        journal_(path_, description(options, plan, fingerprint(data), extras), options.resume),
        known_(decode(journal_, shapes_of(plan, data, splits_of(data, plan.how)))),
        count_(std::ssize(known_)) {}

  void tell_earlier(bool resume) const {
    if (resume)
      tell("{}\n", known_.empty() ? "note: there is nothing to resume; starting from the beginning."
                                  : fmt::format("going on after {} kept in {}",
                                                plural(std::ssize(known_), "row"), path_));
    else if (earlier_)
      tell("note: an interrupted run is forgotten; --resume would have gone on.\n");
  }
  SearchHooks hooks(Monitor& monitor) {
    SearchHooks out;
    out.progress = [&monitor](Index done, Index rows) { return monitor.share(done, rows, "rows"); };
    out.known = [this](const RowKey& key, Index points) -> const RowScores* {
      const auto found = known_.find(key);
      if (found == known_.end()) return nullptr;
      const auto& [record, scores] = found->second;
      if (scores.values.rows() != points)
        journal_.refuse(record, fmt::format("the number of points is {}, not {}",
                                            scores.values.rows(), points));
      return &scores;
    };
    out.keep = [this](const RowKey& key, const RowScores& row) {
      journal_.append(encode(key, row));
      ++count_;
    };
    return out;
  }
  Index count() const { return count_; }
  void remove() { journal_.remove(); }

 private:
  std::string path_;
  bool earlier_;
  Journal journal_;
  std::map<RowKey, KnownRow> known_;
  Index count_;
};

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
  fmt::print("\n{}, {}, status {}\n\n{}\n", strength_text(model), proof_text(model.certificate),
             model.certificate.status, groups_text(model));
  fmt::print("read {}, search {}, fit {}\n", seconds_text(phases.read), seconds_text(phases.search),
             seconds_text(phases.fit));
  fmt::print("model: {}\n", options.model_path);
}

int run_select(const SelectOptions& options) {
  check_outputs(options);
  check_problem(options.problem);
  check_calibration(options.calibration);
  Plan plan = plan_of(options);
  Stopwatch watch;
  SelectPhases phases;
  Monitor monitor(options.output.quiet);
  monitor.aim(plan.how.settings.tolerance);
  monitor.phase("reading " + file_list(options.problem.data.paths));
  const Dataset data = read_problem(options.problem);
  const Extras extras = read_extras(options.problem, plan.how.settings, data);
  check_dataset(data);
  limit_clusters(plan.grid, std::ssize(data.tasks));
  if (options.calibration.wanted())  // what cannot be folded is said before the search
    fold_tasks(data, options.folds, plan.how.seed);

  Run run = run_of(options.problem, monitor, options.output.quiet);
  std::optional<KeptRows> kept;
  const std::string kept_text = fmt::format(
      "stopped: no model was written; the search is kept in {}. Go on with the same "
      "command and --resume.\n",
      journal_of(options));
  run.phase = [&](Work work) {
    if (work == Work::searching) {
      phases.read = watch.lap();
      monitor.phase(fmt::format("searching {}", size_text(plan.grid)));
      set_stage_kept(kept_text, exit_failed);
    } else if (work == Work::preparing) {
      phases.search = watch.lap();
      monitor.phase("fitting the choice on all rows");
    } else if (work == Work::calibrating) {
      monitor.phase("calibrating");
    }
  };
  check_search(data, plan.grid, plan.how, run, extras);  // before a journal is made
  kept.emplace(options, plan, data, extras);
  monitor.clear();
  if (!options.output.quiet) kept->tell_earlier(options.resume);

  Selection selection;
  try {
    selection = select(data, plan.grid, plan.how, run, extras, kept->hooks(monitor));
  } catch (const InputError&) {  // of kernels on the data
    if (kept->count() == 0) kept->remove();
    throw;
  }
  const auto stopped = [&](const std::string& text) {
    set_stage(Stage::writing);
    monitor.clear();
    write_message(text);
    return exit_failed;
  };
  if (selection.scores.stopped)
    return stopped(fmt::format(
        "stopped: no model was written; {} in {}. Go on with the same command and --resume.\n",
        kept->count() == 1 ? "1 row is kept" : fmt::format("{} rows are kept", kept->count()),
        journal_of(options)));
  if (interrupted()) return stopped(kept_text);
  Model model = selection.model();
  if (options.calibration.wanted()) {
    run.share = [&](Index done, Index folds) { return monitor.share(done, folds, "folds"); };
    CalibrationSettings how = settings_of(options.calibration);
    how.folds = options.folds;
    how.seed = plan.how.seed;
    std::optional<Model> calibrated = calibrate(model, data, how, run, extras);
    if (!calibrated) return stopped(kept_text);
    model = std::move(*calibrated);
  }
  phases.fit = watch.lap();
  set_stage(Stage::writing);
  write_results(options, selection, model);
  kept->remove();
  set_stage(Stage::reading_only);
  monitor.clear();
  print_result(options, selection, model, phases, watch.seconds());
  if (!options.output.quiet) tell("{}", edges_text(selection, model.groups.size() == 1));
  if (selection.trained->fit.status() == Status::converged) return exit_done;
  tell("warning: the fit of the choice ended with status '{}', relative gap {:.1e}.\n",
       model.certificate.status, model.certificate.gap);
  return exit_short;
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
  const std::string numbers = "numbers, 2^-10..2^10, or 0.1..10:5 for five points";
  command
      .add_option("--preset", options->preset,
                  "the lists that are not given: 'paper' (C and lambda of 2^-10..2^10, norm 1, "
                  "cosine) or 'best' (norms and normalisations too)")
      ->type_name("TEXT")
      ->capture_default_str();
  command.add_option("-C,--C", options->C, "list of C: " + numbers + " (default: by the preset)")
      ->type_name("LIST");
  command
      .add_option("--lambda", options->lambda,
                  "list of lambda: " + numbers +
                      "; shares of lambda_max such as 0.01max..1max:5; "
                      "0 and inf (default: by the preset)")
      ->type_name("LIST");
  command
      .add_option("--norm", options->norm,
                  "list of norms, such as 1,2,inf (default: by the preset)")
      ->type_name("LIST");
  command
      .add_option("--normalise", options->normalise,
                  "list of normalisations, such as cosine,tail:4,tail:8 (default: by the preset)")
      ->type_name("LIST");
  command
      .add_option("--parameters", options->parameters,
                  "of methods other than coterie, lists such as 'lambda=2^-10..2^10 clusters=1..5' "
                  "(default: as `coterie methods` lists)")
      ->type_name("TEXT");
  command
      .add_option("--score", options->score,
                  "what the choice is judged by, mean over tasks: 'accuracy', 'balanced', 'auc' or "
                  "'logloss'")
      ->type_name("TEXT")
      ->capture_default_str();
  add_number(command, "--folds", options->folds,
             "parts of the cross-validation, stratified within tasks", "a whole number >= 2",
             Index{2});
  command
      .add_option_function<double>(
          "--hold-out", [options](double share) { options->hold_out = share; },
          "share of the rows to judge on, instead of cross-validation")
      ->type_name("NUMBER");
  command.add_flag("--one-se", options->one_se,
                   "the strongest sharing and smallest C within one standard error of the best; of "
                   "other methods the simplest parameters (default: the best)");
  command
      .add_option("--search", options->search,
                  "'grid' (every point) or 'coarse' (every second C and fourth lambda, then around "
                  "the best)")
      ->type_name("TEXT")
      ->capture_default_str();
  command
      .add_option("--table", options->table_path,
                  "write the whole grid, .csv or .json (default: no)")
      ->type_name("FILE");
  command.add_option("--picture", options->picture_path, "write a heat map, .svg (default: no)")
      ->type_name("FILE");
  command.add_flag("--resume", options->resume,
                   "go on with an interrupted run of the same command (default: start anew)");
  add_problem(command, options->problem);
  add_settings(command, options->settings, {"C", "lambda", "norm", "normalise", "parameters"});
  add_calibrate(command, options->calibration);
  add_seed(command, options->seed);
  add_resources(command, options->problem);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
