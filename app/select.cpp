// coterie select: which C, lambda, norm and normalisation, or which parameters of another method.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "calibration.hpp"
#include "command.hpp"
#include "coterie/baseline/train_method.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/journal.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/search/choice.hpp"
#include "coterie/search/method_scores.hpp"
#include "method_options.hpp"
#include "numbers.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "select_output.hpp"

namespace coterie::app {
namespace {

namespace fs = std::filesystem;

constexpr Index resamples = 1000;

struct SelectOptions {
  ProblemOptions problem;
  TrainSettings settings;
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
  TrainSettings settings;
  Grid grid;
  Score score = Score::accuracy;
  bool coarse = false;
};

// Methods that the search along lambda serves.
bool is_main(const TrainSettings& settings) {
  return settings.method == "coterie" || settings.method == "stl" || settings.method == "mtl";
}

Plan plan_of(const SelectOptions& options) {
  const Preset& preset = preset_of(options);
  Plan plan;
  plan.settings = resolve_method(options.settings, *options.command);
  validate_method(plan.settings);
  const Method& method = method_named(plan.settings.method);
  if (method.family == Method::Family::linear && options.command->count("--preset") > 0)
    throw InputError(fmt::format(
        "--preset has no meaning for --method {}; give lists in --parameters.", method.name));
  if (plan.settings.solver != "newton")
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

std::map<RowKey, RowScores> decode(const std::vector<std::string>& records) {
  std::map<RowKey, RowScores> rows;
  for (const std::string& record : records) {
    NumberReader in(record);
    RowKey key;
    for (Index* part : {&key.round, &key.norm, &key.normalise, &key.fold, &key.C})
      *part = in.whole();
    RowScores& row = rows[key];
    row.lambda_max = in.number();
    row.worst_gap = in.number();
    for (Index* count : {&row.fits, &row.outer_steps, &row.reused, &row.short_of_it})
      *count = in.whole();
    const Index lambdas = in.whole();
    row.values = in.matrix(lambdas, in.whole());
  }
  return rows;
}

// All that the rows of the search depend on.
std::string description(const SelectOptions& options, const Plan& plan, const std::string& mark,
                        const TrainExtras& extras) {
  Json run = {{"command", "select"}, {"problem", json_problem(mark, extras)}};
  run["settings"] = json_settings(plan.settings);
  for (const char* name : {"C", "lambda", "norm", "normalise", "parameters"})
    run["settings"].erase(name);
  run["C"] = plan.grid.C;
  run["lambda"] = plan.grid.lambda;
  for (const double norm : plan.grid.norm) run["norm"].push_back(json_number(norm));
  run["normalise"] = plan.grid.normalise;
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

bool same_place(const std::string& a, const std::string& b) {
  return fs::weakly_canonical(fs::absolute(a)) == fs::weakly_canonical(fs::absolute(b));
}

int run_select(const SelectOptions& options) {
  check_model_output(options.model_path, options.problem);
  check_extra_output(options.table_path, "--table", {".csv", ".json"}, options.problem.data.paths);
  check_extra_output(options.picture_path, "--picture", {".svg"}, options.problem.data.paths);
  const std::vector<std::string> outputs = {options.model_path, options.table_path,
                                            options.picture_path, options.model_path + ".journal"};
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!outputs[i].empty() && !outputs[j].empty() && same_place(outputs[i], outputs[j]))
        throw InputError(fmt::format(
            "two outputs would go to {}; --output, --table and --picture need names of their own.",
            outputs[i]));
  check_problem(options.problem);
  check_calibration(options.calibration);
  Plan plan = plan_of(options);
  const std::string journal_path = options.model_path + ".journal";
  Stopwatch watch;
  Monitor monitor(options.output.quiet);
  monitor.aim(plan.settings.tolerance);

  monitor.phase("reading " + file_list(options.problem.data.paths));
  const Dataset data = read_problem(options.problem);
  const TrainExtras extras = read_extras(options.problem, plan.settings, data);
  check_dataset(data);
  limit_clusters(plan.grid, std::ssize(data.tasks));
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
  TrainSettings largest = plan.settings;  // what is too large is said before the search
  largest.C = plan.grid.C.back();
  search.memory =
      0.5 * plan_fit(options.problem, largest, extras, data, options.output.quiet).kernels;
  if (method_named(plan.settings.method).family == Method::Family::linear) {
    const double folds = static_cast<double>(splits.size()) * linear_bytes(data, plan.settings);
    if (folds > memory_budget(options.problem))
      throw InputError(fmt::format(
          "the folds of --method {} need about {}, more than the {} there are. Use fewer --folds, "
          "or --hold-out.",
          plan.settings.method, bytes_text(folds), bytes_text(memory_budget(options.problem))));
  }
  const double read_seconds = watch.lap();

  const bool earlier = Journal::exists(journal_path);
  Journal journal(journal_path, description(options, plan, mark, extras), options.resume);
  const std::map<RowKey, RowScores> known = decode(journal.records());
  if (!options.output.quiet) {
    monitor.clear();
    if (options.resume)
      fmt::print(stderr, "{}\n",
                 known.empty() ? "note: there is nothing to resume; starting from the beginning."
                               : fmt::format("going on after {} kept in {}",
                                             plural(std::ssize(known), "row"), journal_path));
    else if (earlier)
      fmt::print(stderr, "note: an interrupted run is forgotten; --resume would have gone on.\n");
  }

  monitor.phase(fmt::format("searching {}", size_text(plan.grid)));
  set_stage(Stage::resumable);
  Index rows_kept = std::ssize(known);
  SearchHooks hooks;
  hooks.progress = [&](Index done, Index rows) { return monitor.share(done, rows, "rows"); };
  hooks.known = [&](const RowKey& key) -> const RowScores* {
    const auto found = known.find(key);
    return found == known.end() ? nullptr : &found->second;
  };
  hooks.keep = [&](const RowKey& key, const RowScores& row) {
    journal.append(encode(key, row));
    ++rows_kept;
  };
  GridScores scores = search_grid(search, splits, plan, hooks);
  if (scores.stopped) {
    monitor.clear();
    fmt::print(stderr,
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
    fmt::print(
        stderr,
        "note: {} of {} tasks had no part in the choice: no held-out part of theirs has both "
        "classes.\n",
        unjudged, cells.cols());
  }

  selection.scores = std::move(scores);
  const TrainSettings settings = settings_at(plan.settings, plan.grid, selection.chosen);
  monitor.phase("fitting the choice on all rows");
  const MemoryPlan memory = plan_fit(options.problem, settings, extras, data, true);
  const int threads = options.problem.threads;
  const MethodProblem prepared = prepare_method(data, settings, extras, threads);
  monitor.clear();
  note_bounded(prepared.prepared, settings, options.output.quiet);
  const MethodFit fit =
      fit_method(prepared, settings, threads, monitor.callback(), nullptr, memory.kernels);
  Model model = make_model(prepared, settings, fit, mark);
  const auto stopped = [&] {
    monitor.clear();
    fmt::print(
        stderr,
        "stopped: no model was written; the search is kept in {}. Go on with the same command "
        "and --resume.\n",
        journal_path);
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
  if (!options.output.quiet)
    fmt::print(stderr, "{}", edges_text(selection, model.groups.size() == 1));
  if (fit.status() == Status::converged) return exit_done;
  fmt::print(stderr,
             "warning: the fit of the choice ended with status '{}', relative gap {:.1e}.\n",
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
