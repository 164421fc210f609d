// coterie path: how tasks come together as lambda grows.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "command.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/io/journal.hpp"
#include "coterie/io/model_file.hpp"
#include "messages.hpp"
#include "path_journal.hpp"
#include "path_output.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace coterie::app {
namespace {

namespace fs = std::filesystem;

constexpr Index ladder_of_resample = 40;

struct PathOptions {
  ProblemOptions problem;
  Settings settings;
  PathSettings path;
  std::optional<double> hold_out;
  Index groups = 0;  // 0: no model is asked for
  Index bootstrap = 0;
  Index seed = 1;
  std::string folder, model_path;
  bool resume = false;
  OutputOptions output;
};

std::string journal_of(const std::string& folder) {
  return (fs::path(folder) / "journal").string();
}

std::string description(const PathOptions& options, const std::string& mark, const Extras& extras) {
  Json run = {{"command", "path"}, {"problem", json_problem(mark, extras)}};
  run["settings"] = json_settings(options.settings);
  run["path"] = {options.path.smallest, options.path.ratio, options.path.resolution};
  run["hold_out"] = options.hold_out.value_or(0);
  run["seed"] = options.seed;
  return run.dump();
}

// The fit at a point's lambda on the training side, as a model.
Model fit_group_model(const PathOptions& options, const PathResult& result, const Split& split,
                      const Extras& extras, Monitor& monitor) {
  Settings settings = options.settings;
  settings.lambda = result.path.points[*result.chosen].lambda;
  monitor.phase("fitting the model");
  monitor.aim(settings.tolerance);
  Dataset data = options.hold_out ? subset(result.data, split.train) : result.data;
  std::string mark = fingerprint(data);
  const MemoryPlan memory = plan_fit(options.problem, settings, extras, data, true);
  const Prepared prepared = prepare(std::move(data), settings, extras, options.problem.threads);
  const Fitted fitted =
      fit_prepared(prepared, settings, options.problem.threads, monitor.callback(), memory.kernels);
  return make_model(prepared, settings, fitted, std::move(mark));
}

void print_group_model(const PathOptions& options, const PathResult& result, const Model& model) {
  const PathPoint& point = result.path.points[*result.chosen];
  const Index found = std::ssize(point.fit.groups);
  const Index groups = std::ssize(model.groups);
  fmt::print("\nmodel with {} at lambda {:.6g} ({:.4f} of lambda_max): {}\n",
             plural(groups, "group"), point.lambda, result.share(point.lambda), options.model_path);
  if (options.hold_out) fmt::print("  trained without the held-out rows\n");
  if (found != options.groups)
    fmt::print("  no point of the path has {}; {} is the nearest number\n",
               plural(options.groups, "group"), found);
  if (groups != found)
    fmt::print(
        "  fitted from nothing it has {} instead of the path's {}: two groups are within the "
        "tolerance of joining\n",
        groups, found);
  fmt::print("\n{}", groups_text(model));
}

// All that path may write into its folder.
std::vector<std::string> folder_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const char* name : path_files) files.push_back((fs::path(folder) / name).string());
  files.push_back(journal_of(folder));
  return files;
}

void check_options(const PathOptions& options) {
  validate(options.settings);
  check_problem(options.problem);
  if (options.settings.solver != Solver::newton)
    throw InputError(
        "--solver: the path needs optima, which 'published' does not reach; it needs 'newton'.");
  if (std::isinf(options.settings.norm))
    throw InputError("--norm is inf: with equal weights there is nothing to share, and no path.");
  const auto inside = [](double value, double most, const char* name) {
    if (!(value > 0 && value < most))
      throw InputError(
          fmt::format("{} is {}; it must be above 0 and below {}.", name, value, most));
  };
  inside(options.path.smallest, 1, "--smallest");
  inside(options.path.resolution, 1, "--resolution");
  if (options.hold_out) inside(*options.hold_out, 1, "--hold-out");
  if ((options.groups > 0) != !options.model_path.empty())
    throw InputError(
        "--groups and --model belong together: how many groups, and where the model goes.");
  if (options.resume && options.folder.empty())
    throw InputError("--resume needs -o FOLDER, where the interrupted run kept its points.");
  const std::vector<std::string> inputs = input_files(options.problem, options.settings.kernels);
  if (!options.model_path.empty()) check_model_output(options.model_path, inputs, "--model");
  if (options.folder.empty()) return;
  if (fs::exists(options.folder) && !fs::is_directory(options.folder))
    throw InputError(fmt::format("--output: {} is a file; path writes a folder.", options.folder));
  std::error_code error;
  fs::create_directory(options.folder, error);
  if (!fs::is_directory(options.folder))
    throw InputError(
        fmt::format("--output: the folder {} does not exist and cannot be made.", options.folder));
  std::vector<std::string> outputs = folder_files(options.folder);
  for (const std::string& file : outputs) check_output(file, "the path", inputs);
  outputs.push_back(options.model_path);
  check_distinct_outputs(outputs, "the files of --output and --model");
}

int run_path(const PathOptions& options) {
  check_options(options);
  Stopwatch watch;
  Monitor monitor(options.output.quiet);
  monitor.phase("reading " + file_list(options.problem.data.paths));
  const Dataset data = read_problem(options.problem);
  check_dataset(data);
  const Extras extras = read_extras(options.problem, options.settings, data);
  if (options.groups > std::ssize(data.tasks))
    throw InputError(fmt::format("--groups is {}, but there are only {}.", options.groups,
                                 plural(std::ssize(data.tasks), "task")));
  const auto seed = static_cast<std::uint64_t>(options.seed);
  Split split;
  if (options.hold_out) {
    split = hold_out_tasks(data, *options.hold_out, seed);
  } else {
    for (const Task& task : data.tasks) {
      std::vector<Index>& all = split.train.emplace_back();
      for (Index i = 0; i < task.size(); ++i) all.push_back(i);
      split.rest.emplace_back();
    }
  }
  const std::string mark = fingerprint(data);

  std::optional<Journal> journal;
  KnownPath known;
  if (!options.folder.empty()) {
    const std::string journal_path = journal_of(options.folder);
    journal.emplace(journal_path, description(options, mark, extras), options.resume);
    PathShape shape;
    shape.C = sample_costs(subset(data, split.train), options.settings, extras);
    shape.graph = extras.complete ? complete_graph(std::ssize(data.tasks)) : extras.graph;
    shape.kernels = std::ssize(options.settings.kernels.list());
    shape.ladder = ladder_of_resample;
    known = decode_path(*journal, shape);
    monitor.clear();
    if (options.resume && !options.output.quiet)
      tell("{}\n", known.points.empty()
                       ? "note: there is nothing to resume; starting from the beginning."
                       : fmt::format("going on after {} kept in {}",
                                     plural(std::ssize(known.points), "point"), journal_path));
  }

  const std::string kept_text =
      journal ? fmt::format(
                    "stopped: what was done is kept in {}; go on with the same command and "
                    "--resume.\n",
                    journal_of(options.folder))
              : "stopped: nothing was written.\n";
  if (journal) set_stage_kept(kept_text, exit_failed);
  monitor.phase("preparing kernels");
  SearchData search{data,
                    options.settings,
                    extras,
                    options.settings.C,
                    Storage::on_demand,
                    options.problem.threads};
  search.storage = storage_within(search, 1, 0.5 * memory_budget(options.problem));
  PathSettings path_settings = options.path;
  path_settings.memory =
      0.5 * plan_fit(options.problem, options.settings, extras, data, options.output.quiet).kernels;
  GramCache cache;
  const Fold fold =
      std::move(make_folds(search, {split}, options.settings.normalise, cache).front());
  note_bounded(fold.train.grams, options.settings, options.output.quiet);
  cache.clear();
  const double prepare_seconds = watch.lap();

  monitor.phase("walking the path");
  const auto stopped = [&] {
    set_stage(Stage::writing);
    monitor.clear();
    write_message(kept_text);
    return exit_failed;
  };
  PathHooks hooks;
  hooks.progress = [&](Index points, double share, double left) {
    return monitor.path(points, share, options.path.smallest, left);
  };
  hooks.known = [&](double lambda) -> std::optional<PathPoint> {
    const auto found = known.points.find(lambda);
    if (found == known.points.end()) return {};
    return found->second;
  };
  hooks.keep = [&](const PathPoint& point) {
    if (journal) journal->append(encode(point));
  };
  PathResult result{
      data, walk_path(fold, data, options.settings, path_settings, options.problem.threads, hooks),
      {},   {},
      {},   {}};
  if (result.path.stopped) return stopped();
  for (const Kernel& kernel : fold.train.grams.kernels) result.kernels.push_back(to_string(kernel));
  result.tree = merge_tree(result.path);
  const double path_seconds = watch.lap();

  if (options.bootstrap > 0) {
    monitor.phase("resampling");
    StabilityHooks stability;
    stability.progress = [&](Index done, Index all) {
      return monitor.share(done, all, "resamples");
    };
    stability.known = [&](Index b) -> const ResampledPath* {
      const auto found = known.resamples.find(b);
      return found == known.resamples.end() ? nullptr : &found->second;
    };
    stability.keep = [&](Index b, const ResampledPath& path) {
      if (journal) journal->append(encode(b, path));
    };
    double smallest = options.path.smallest;  // of the path, but for its end at 0
    for (const PathPoint& point : result.path.points)
      if (point.lambda > 0 && std::isfinite(point.lambda)) smallest = result.share(point.lambda);
    result.stability = resample_paths(fold, options.settings, std::min(smallest, 0.5),
                                      ladder_of_resample, options.bootstrap, seed,
                                      options.problem.threads, stability, path_settings.memory);
    if (result.stability->stopped) return stopped();
  }
  const double resample_seconds = watch.lap();
  if (options.groups > 0) result.chosen = point_with_groups(result.path, options.groups);

  std::optional<Model> model;
  if (result.chosen) {
    model = fit_group_model(options, result, split, extras, monitor);
    if (interrupted()) return stopped();
  }

  set_stage(Stage::writing);
  std::vector<std::string> files;
  if (!options.folder.empty()) files = write_path_folder(options.folder, result);
  if (model) write_model(*model, options.model_path);
  if (journal) journal->remove();
  set_stage(Stage::reading_only);
  monitor.clear();
  Index short_of_it = 0;
  double worst_gap = 0;
  for (const PathPoint& point : result.path.points) {
    short_of_it += point.fit.status != Status::converged;
    worst_gap = std::max(worst_gap, point.fit.gap);
  }
  if (!options.output.json) {
    fmt::print("{}, {}; lambda_max {:.6g}; {} points, relative gaps at most {:.1e}\n\n",
               plural(std::ssize(data.tasks), "task"), plural(std::ssize(result.kernels), "kernel"),
               result.path.lambda_max, result.path.points.size(), worst_gap);
    print_path_points(result, options.folder.empty());
    fmt::print("\n");
    print_merge_tree(result);
  }
  if (model && !options.output.json) print_group_model(options, result, *model);
  if (options.output.json) {
    Json out = json_path(result, options.settings);
    if (result.chosen) {
      out["model"] = options.model_path;
      out["groups_asked"] = options.groups;
      out["model_groups"] = model->groups.size();
      out["model_lambda"] = json_number(result.path.points[*result.chosen].lambda);
    }
    out["seconds"] = watch.seconds();
    out["phases"] = {
        {"prepare", prepare_seconds}, {"path", path_seconds}, {"resample", resample_seconds}};
    print_json(out);
  } else {
    if (!options.folder.empty()) fmt::print("\n{}: {}\n", options.folder, fmt::join(files, " "));
    fmt::print("prepare {}, path {}", seconds_text(prepare_seconds), seconds_text(path_seconds));
    if (result.stability) fmt::print(", resamples {}", seconds_text(resample_seconds));
    fmt::print("\n");
  }
  if (!result.path.resolved)
    tell(
        "warning: after {} points some merges are not yet told apart; use a larger "
        "--resolution or fewer tasks.\n",
        result.path.points.size());
  if (short_of_it > 0) {
    tell("warning: {} of {} points stopped short of the tolerance {:.1e}.\n", short_of_it,
         result.path.points.size(), options.settings.tolerance);
    return exit_short;
  }
  const bool converged = !model || model->certificate.status == to_string(Status::converged);
  return converged ? exit_done : exit_short;
}

}  // namespace

void add_path(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<PathOptions>();
  options->settings.tolerance = 1e-8;  // groups settle later than objectives do
  CLI::App& command = add_command(
      program, "path", "Follow the optimum along lambda: which tasks join, and when",
      "coterie path tasks.csv -o path --groups 3 --model three.h5", options, run_path, chosen);
  add_paths(command, options->problem.data);
  command
      .add_option("-o,--output", options->folder,
                  "folder for path.csv, weights.csv, merges.csv and the pictures weights.svg, "
                  "tree.svg, affinity.svg (default: print only)")
      ->type_name("FOLDER");
  add_number(command, "--groups", options->groups,
             "how many groups the model of --model shall have, or the nearest number",
             "a whole number >= 1; 0 for no model", Index{0});
  command.add_option("--model", options->model_path, "where the model with --groups goes")
      ->type_name("FILE");
  command
      .add_option_function<double>(
          "--hold-out", [options](double share) { options->hold_out = share; },
          "share of the rows to judge every point on; the path is that of the others (default: "
          "none)")
      ->type_name("NUMBER");
  add_number(command, "--bootstrap", options->bootstrap,
             "resamples that show how stable the groups are", "a whole number >= 0", Index{0});
  add_number(command, "--smallest", options->path.smallest,
             "where the path ends if tasks still share, as a share of lambda_max",
             "a number between 0 and 1");
  add_number(command, "--resolution", options->path.resolution,
             "how closely merges are located, as a share of their lambda",
             "a number between 0 and 1");
  command.add_flag("--resume", options->resume,
                   "go on with an interrupted run of the same command (default: start anew)");
  add_problem(command, options->problem);
  add_settings(command, options->settings, {"lambda", "method", "parameters", "loss", "map"});
  add_seed(command, options->seed);
  add_resources(command, options->problem);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
