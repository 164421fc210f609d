// coterie select: which C, lambda, norm and normalisation, or which parameters of another method.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "calibration.hpp"
#include "command.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/journal.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/model/train.hpp"
#include "coterie/mtmkl/range.hpp"
#include "coterie/search/choice.hpp"
#include "coterie/search/method_scores.hpp"
#include "messages.hpp"
#include "method_options.hpp"
#include "numbers.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "select_output.hpp"

namespace coterie::app {
namespace {

constexpr Index resamples = 1000;

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

struct Preset {
  const char *name, *C, *lambda, *norm, *normalise;
};
// paper: the grid of the paper. best: docs/choosing.md shows how good it is.
const Preset presets[] = {
    {"paper", "2^-10..2^10", "2^-10..2^10", "1", "cosine"},
    {"best", "2^-4..2^10:8", "0,0.01max..1max:5,inf", "1,2,inf", "cosine,variance,tail:4,tail:8"},
};

const Preset& preset_of(const SelectOptions& options) {
  for (const Preset& preset : presets)
    if (options.preset == preset.name) return preset;
  throw InputError(fmt::format("--preset is '{}'; it must be 'paper' or 'best'.", options.preset));
}

// What is given, over what the preset says.
struct Plan {
  Settings settings;
  Grid grid;
  Score score = Score::accuracy;
  bool coarse = false;
};

// Methods that the search along lambda serves.
bool is_main(const Settings& settings) { return settings.method->joint && !settings.method->pools; }

Plan plan_of(const SelectOptions& options) {
  const Preset& preset = preset_of(options);
  Plan plan;
  check_given(options.settings, *options.command);
  plan.settings = in_full(options.settings);
  validate(plan.settings);
  const Method& method = *plan.settings.method;
  if (method.is_linear() && options.command->count("--preset") > 0)
    throw InputError(fmt::format(
        "--preset has no meaning for --method {}; give lists in --parameters.", method.name));
  if (plan.settings.solver != Solver::newton)
    throw InputError(
        "--solver: select compares optima, which 'published' does not reach; it needs 'newton'.");
  plan.grid = parse_method_grid(
      plan.settings,
      {options.C.value_or(preset.C), options.lambda.value_or(preset.lambda),
       options.norm.value_or(preset.norm), options.normalise.value_or(preset.normalise)},
      options.parameters);
  const std::optional<Score> score = score_from(options.score);
  if (!score)
    throw InputError(fmt::format(
        "--score is '{}'; it must be 'accuracy', 'balanced', 'auc' or 'logloss'.", options.score));
  plan.score = *score;
  if (options.search != "grid" && options.search != "coarse")
    throw InputError(
        fmt::format("--search is '{}'; it must be 'grid' or 'coarse'.", options.search));
  plan.coarse = options.search == "coarse";
  if (plan.coarse && !is_main(plan.settings))
    throw InputError(
        fmt::format("--search coarse goes along C and lambda, which --method {} has not; it needs "
                    "--search grid.",
                    method.name));
  if (options.hold_out && options.command->count("--folds") > 0)
    throw InputError("--folds and --hold-out are both given; choose one.");
  if (options.hold_out && !(*options.hold_out > 0 && *options.hold_out < 1))
    throw InputError(
        fmt::format("--hold-out is {}; it must be between 0 and 1.", *options.hold_out));
  return plan;
}

std::string judged_by(const SelectOptions& options) {
  if (options.hold_out)
    return fmt::format("about {:.4g} % of the rows held out", 100 * *options.hold_out);
  return fmt::format("{}-fold cross-validation", options.folds);
}

// Rows of the search as records of the journal.
std::string encode(const RowKey& key, const RowScores& row) {
  Numbers out;
  for (const Index part : {key.round, key.norm, key.normalise, key.fold, key.C}) out.add(part);
  out.add(row.lambda_max);
  out.add(row.worst_gap);
  for (const Index count : {row.fits, row.outer_steps, row.reused, row.short_of_it}) out.add(count);
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
  RowShapes shapes{
      plan.score,
      std::ssize(plan.grid.norm),
      std::ssize(plan.grid.normalise),
      is_main(plan.settings) ? std::ssize(plan.grid.C) : std::ssize(all_points(plan.grid)),
      {}};
  for (const Split& split : splits) {
    Index held_out = 0;
    for (const std::vector<Index>& rest : split.rest) held_out += std::ssize(rest);
    shapes.widths.push_back(plan.score == Score::log_loss ? held_out : std::ssize(data.tasks));
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
  row.short_of_it = in.count("the number of fits that stopped short");
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
  run["settings"] = json_settings(plan.settings);
  for (const char* name : {"C", "lambda", "norm", "normalise", "parameters"})
    run["settings"].erase(name);
  run["C"] = plan.grid.C;
  for (const Lambda& lambda : plan.grid.lambda) run["lambda"].push_back(text_of(lambda));
  for (const double norm : plan.grid.norm) run["norm"].push_back(json_number(norm));
  for (const Normalisation& one : plan.grid.normalise) run["normalise"].push_back(text_of(one));
  for (const ParameterList& list : plan.grid.parameters) run["parameters"][list.name] = list.values;
  run["score"] = to_string(plan.score);
  run["search"] = options.search;
  run["folds"] = options.folds;
  run["hold_out"] = options.hold_out.value_or(0);
  run["seed"] = options.seed;
  return run.dump();
}

GridScores search_grid(const SearchData& search, const std::vector<Split>& splits, const Plan& plan,
                       const SearchHooks& hooks) {
  GridScores scores;
  scores.score = plan.score;
  GramCache cache;
  if (!is_main(plan.settings))
    score_method(search, splits, plan.grid, hooks, scores);
  else if (plan.coarse)
    score_coarse_to_fine(search, splits, plan.grid, cache, hooks, scores);
  else
    score_points(search, splits, plan.grid, all_points(plan.grid), 0, cache, hooks, scores);
  return scores;
}

void check_extra_output(const std::string& path, const std::string& option,
                        const std::vector<std::string>& endings,
                        const std::vector<std::string>& others) {
  if (path.empty()) return;
  const bool known = std::ranges::any_of(
      endings, [&](const std::string& ending) { return path.ends_with(ending); });
  if (!known)
    throw InputError(fmt::format("{} is '{}'; the name must end in {}.", option, path,
                                 fmt::join(endings, " or ")));
  check_output(path, option, others, option + ": ");
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

// What cannot be computed at some point of the grid is said before the search.
void check_grid(const Plan& plan, const Dataset& data, const Extras& extras) {
  if (plan.settings.method->is_linear()) return;
  Settings settings = plan.settings;
  for (const double C : plan.grid.C) {
    settings.C = C;
    check_costs(sample_costs(data, settings, extras), data.tasks);
  }
  if (!is_main(plan.settings)) return;
  const TaskGraph graph = extras.complete ? complete_graph(std::ssize(data.tasks)) : extras.graph;
  for (const Lambda& lambda : plan.grid.lambda) {
    if (!lambda.relative) check_penalty(graph, lambda.value, names_in(data.tasks));
  }
}

int run_select(const SelectOptions& options) {
  check_outputs(options);
  check_problem(options.problem);
  check_calibration(options.calibration);
  Plan plan = plan_of(options);
  const std::string journal_path = journal_of(options);
  Stopwatch watch;
  Monitor monitor(options.output.quiet);
  monitor.aim(plan.settings.tolerance);

  monitor.phase("reading " + file_list(options.problem.data.paths));
  const Dataset data = read_problem(options.problem);
  const Extras extras = read_extras(options.problem, plan.settings, data);
  check_dataset(data);
  limit_clusters(plan.grid, std::ssize(data.tasks));
  check_grid(plan, data, extras);
  const std::string mark = fingerprint(data);
  const auto seed = static_cast<std::uint64_t>(options.seed);
  const std::vector<Split> splits =
      options.hold_out ? std::vector<Split>{hold_out_tasks(data, *options.hold_out, seed)}
                       : fold_tasks(data, options.folds, seed);
  if (options.calibration.wanted() && options.hold_out)
    fold_tasks(data, options.folds, seed);  // what cannot be folded is said before the search
  SearchData search{
      data, plan.settings, extras, plan.grid.C.back(), Storage::on_demand, options.problem.threads};
  search.storage = storage_within(search, std::ssize(splits), 0.5 * memory_budget(options.problem));
  Settings largest = plan.settings;  // what is too large is said before the search
  largest.C = plan.grid.C.back();
  search.memory =
      0.5 * plan_fit(options.problem, largest, extras, data, options.output.quiet).kernels;
  if (plan.settings.method->is_linear()) {
    const double folds = static_cast<double>(splits.size()) * linear_bytes(data, plan.settings);
    if (folds > memory_budget(options.problem))
      throw InputError(fmt::format(
          "the folds of --method {} need about {}, more than the {} there are. Use fewer --folds, "
          "or --hold-out.",
          plan.settings.method->name, bytes_text(folds),
          bytes_text(memory_budget(options.problem))));
  }
  const double read_seconds = watch.lap();

  const bool earlier = Journal::exists(journal_path);
  Journal journal(journal_path, description(options, plan, mark, extras), options.resume);
  const std::map<RowKey, KnownRow> known = decode(journal, shapes_of(plan, data, splits));
  if (!options.output.quiet) {
    monitor.clear();
    if (options.resume)
      tell("{}\n", known.empty() ? "note: there is nothing to resume; starting from the beginning."
                                 : fmt::format("going on after {} kept in {}",
                                               plural(std::ssize(known), "row"), journal_path));
    else if (earlier)
      tell("note: an interrupted run is forgotten; --resume would have gone on.\n");
  }

  monitor.phase(fmt::format("searching {}", size_text(plan.grid)));
  const std::string kept_text = fmt::format(
      "stopped: no model was written; the search is kept in {}. Go on with the same "
      "command and --resume.\n",
      journal_path);
  set_stage_kept(kept_text, exit_failed);
  Index rows_kept = std::ssize(known);
  SearchHooks hooks;
  hooks.progress = [&](Index done, Index rows) { return monitor.share(done, rows, "rows"); };
  hooks.known = [&](const RowKey& key, Index points) -> const RowScores* {
    const auto found = known.find(key);
    if (found == known.end()) return nullptr;
    const auto& [record, scores] = found->second;
    if (scores.values.rows() != points)
      journal.refuse(
          record, fmt::format("the number of points is {}, not {}", scores.values.rows(), points));
    return &scores;
  };
  hooks.keep = [&](const RowKey& key, const RowScores& row) {
    journal.append(encode(key, row));
    ++rows_kept;
  };
  GridScores scores;
  try {
    scores = search_grid(search, splits, plan, hooks);
  } catch (const InputError&) {  // of kernels on the data
    if (rows_kept == 0) journal.remove();
    throw;
  }
  if (scores.stopped) {
    set_stage(Stage::writing);
    monitor.clear();
    tell(
        "stopped: no model was written; {} in {}. Go on with the same command and "
        "--resume.\n",
        rows_kept == 1 ? "1 row is kept" : fmt::format("{} rows are kept", rows_kept),
        journal_path);
    return exit_failed;
  }
  const double search_seconds = watch.lap();

  Selection selection;
  selection.grid = plan.grid;
  selection.score = plan.score;
  selection.judged_by = judged_by(options);
  selection.coarse = plan.coarse;
  selection.one_se = options.one_se;
  selection.ranked = rank_points(scores);
  if (std::isnan(selection.ranked.front().score))
    throw InputError(fmt::format(
        "--score {} is not defined on any held-out part: no task has both classes there. Use fewer "
        "--folds, or --score accuracy.",
        options.score));
  selection.chosen = options.one_se ? one_standard_error(selection.ranked, plan.score)
                                    : selection.ranked.front().point;
  selection.confidence = judge_choice(scores, selection.ranked, selection.chosen, resamples, seed);
  selection.saved = std::ssize(all_points(plan.grid)) - std::ssize(selection.ranked);

  const Matrix& cells = scores.cells.begin()->second;  // what is undefined depends on labels alone
  Index unjudged = 0;
  for (Index t = 0; t < cells.cols(); ++t)
    unjudged += std::ranges::all_of(cells.col(t), [](double value) { return std::isnan(value); });
  if (unjudged > 0 && !options.output.quiet) {
    monitor.clear();
    tell(
        "note: {} of {} tasks had no part in the choice: no held-out part of theirs has both "
        "classes.\n",
        unjudged, cells.cols());
  }

  selection.scores = std::move(scores);
  const Settings settings = settings_at(plan.settings, plan.grid, selection.chosen);
  monitor.phase("fitting the choice on all rows");
  const MemoryPlan memory = plan_fit(options.problem, settings, extras, data, true);
  const int threads = options.problem.threads;
  const MethodProblem prepared = prepare_method(data, settings, extras, threads);
  monitor.clear();
  note_bounded(grams_of(prepared), settings, options.output.quiet);
  const MethodFit fit =
      fit_method(prepared, settings, threads, monitor.callback(), nullptr, memory.kernels);
  Model model = make_model(prepared, settings, fit, mark);
  const auto stopped = [&] {
    set_stage(Stage::writing);
    monitor.clear();
    write_message(kept_text);
    return exit_failed;
  };
  if (interrupted()) return stopped();
  CalibrationOptions calibration = options.calibration;
  calibration.folds = options.folds;
  calibration.seed = options.seed;
  if (calibration.wanted() &&
      !calibrate_model(model, data, settings, extras, calibration, options.problem, monitor))
    return stopped();
  const double fit_seconds = watch.lap();
  set_stage(Stage::writing);
  write_model(model, options.model_path);
  if (!options.table_path.empty())
    write_file_atomically(options.table_path, options.table_path.ends_with(".json")
                                                  ? json_grid(selection).dump(2) + "\n"
                                                  : csv_grid(selection));
  if (!options.picture_path.empty())
    write_file_atomically(options.picture_path, heat_map(selection));
  journal.remove();
  set_stage(Stage::reading_only);
  monitor.clear();

  if (options.output.json) {
    Json out = json_selection(selection);
    out["fit"] = json_fit(model);
    out["seconds"] = watch.seconds();
    out["phases"] = {{"read", read_seconds}, {"search", search_seconds}, {"fit", fit_seconds}};
    out["model"] = options.model_path;
    print_json(out);
  } else {
    print_selection(selection);
    fmt::print("\n{}, {}, status {}\n\n{}\n", strength_text(model), proof_text(model.certificate),
               model.certificate.status, groups_text(model));
    fmt::print("read {}, search {}, fit {}\n", seconds_text(read_seconds),
               seconds_text(search_seconds), seconds_text(fit_seconds));
    fmt::print("model: {}\n", options.model_path);
  }
  if (!options.output.quiet) tell("{}", edges_text(selection, model.groups.size() == 1));
  if (fit.status() == Status::converged) return exit_done;
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
