// coterie path: how tasks come together as lambda grows.
#include "coterie/front/path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "command.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/front/files.hpp"
#include "coterie/io/journal.hpp"
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

void print_group_model(const PathOptions& options, const PathResult& result, const Model& model) {
  const PathPoint& point = result.path.points[*result.chosen];
  const Index found = std::ssize(point.fit.groups);
  const Index groups = std::ssize(model.groups);
  fmt::print("\nmodel with {} at lambda {:.6g} ({:.4f} of lambda_max): {}\n",
             plural(groups, "group"), point.lambda, result.share(point.lambda), options.model_path);
  if (options.hold_out)
    fmt::print("  trained on all rows, at the lambda found on those not held out\n");
  if (found != options.groups)
    fmt::print("  no point of the path has {}; {} is the nearest number\n",
               plural(options.groups, "group"), found);
  if (groups != found)
    fmt::print("  on all rows it has {} instead of the path's {}\n", groups, found);
  fmt::print("\n{}", groups_text(model));
}

// All that path may write into its folder.
std::vector<std::string> folder_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const char* name : path_files) files.push_back((fs::path(folder) / name).string());
  files.push_back(journal_of(folder));
  return files;
}

TraceSettings trace_of(const PathOptions& options) {
  return {options.path, options.hold_out, static_cast<std::uint64_t>(options.seed)};
}

void check_options(const PathOptions& options) {
  check_problem(options.problem);
  check_trace(options.settings, trace_of(options));
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

// What a run keeps: points and resamples of an earlier one, and those of this one as they are done. Nothing without a folder.
class KeptPath {
 public:
  KeptPath(const PathOptions& options, const Dataset& data, const Extras& extras) {
    if (options.folder.empty()) return;
    path_ = journal_of(options.folder);
    journal_.emplace(path_, description(options, fingerprint(data), extras), options.resume);
    const Dataset train = subset(data, path_split(data, trace_of(options)).train);
    known_ = decode_path(*journal_,
                         {sample_costs(train, options.settings, extras),
                          extras.complete ? complete_graph(std::ssize(data.tasks)) : extras.graph,
                          std::ssize(options.settings.kernels.list()), ladder_of_resample});
    if (!options.resume || options.output.quiet) return;
    tell("{}\n", known_.points.empty()
                     ? "note: there is nothing to resume; starting from the beginning."
                     : fmt::format("going on after {} kept in {}",
                                   plural(std::ssize(known_.points), "point"), path_));
  }

  bool is_kept() const { return journal_.has_value(); }
  std::string stopped_text() const {
    if (!journal_) return "stopped: nothing was written.\n";
    return fmt::format(
        "stopped: what was done is kept in {}; go on with the same command and --resume.\n", path_);
  }
  PathHooks hooks(Monitor& monitor, double smallest) {
    PathHooks out;
    out.progress = [&monitor, smallest](Index points, double share, double left) {
      return monitor.path(points, share, smallest, left);
    };
    out.known = [this](double lambda) -> std::optional<PathPoint> {
      const auto found = known_.points.find(lambda);
      if (found == known_.points.end()) return {};
      return found->second;
    };
    out.keep = [this](const PathPoint& point) {
      if (journal_) journal_->append(encode(point));
    };
    return out;
  }
  StabilityHooks resample_hooks(Monitor& monitor) {
    StabilityHooks out;
    out.progress = [&monitor](Index done, Index all) {
      return monitor.share(done, all, "resamples");
    };
    out.known = [this](Index b) -> const ResampledPath* {
      const auto found = known_.resamples.find(b);
      return found == known_.resamples.end() ? nullptr : &found->second;
    };
    out.keep = [this](Index b, const ResampledPath& path) {
      if (journal_) journal_->append(encode(b, path));
    };
    return out;
  }
  void remove() {
    if (journal_) journal_->remove();
  }

 private:
  std::string path_;
  std::optional<Journal> journal_;
  KnownPath known_;
};

struct PathPhases {
  double prepare = 0, path = 0, resample = 0;
};

// Nothing when it was stopped.
std::optional<PathResult> find_path(const PathOptions& options, const Dataset& data,
                                    const Extras& extras, const Run& run, Monitor& monitor,
                                    Stopwatch& watch, PathPhases& phases,
                                    std::optional<KeptPath>& kept) {
  const TraceSettings trace = trace_of(options);
  monitor.clear();
  path_memory(data, options.settings, run,
              extras);  // what has no room is said before a journal is made
  Run quiet = run;
  quiet.note = {};
  kept.emplace(options, data, extras);
  if (kept->is_kept()) set_stage_kept(kept->stopped_text(), exit_failed);
  monitor.phase("preparing kernels");
  const Fold fold = path_fold(data, options.settings, trace, run, extras);
  note_bounded(fold.train.grams, options.settings, run);
  phases.prepare = watch.lap();

  monitor.phase("walking the path");
  PathResult result{data,
                    trace_path(fold, data, options.settings, trace, quiet, extras,
                               kept->hooks(monitor, options.path.smallest)),
                    {},
                    {},
                    {},
                    {}};
  if (result.path.stopped) return {};
  for (const Kernel& kernel : fold.train.grams.kernels) result.kernels.push_back(to_string(kernel));
  result.tree = merge_tree(result.path);
  phases.path = watch.lap();
  if (options.groups > 0) result.chosen = point_with_groups(result.path, options.groups);
  if (options.bootstrap == 0) return result;

  monitor.phase("resampling");
  double smallest = options.path.smallest;  // of the path, but for its end at 0
  for (const PathPoint& point : result.path.points)
    if (point.lambda > 0 && std::isfinite(point.lambda)) smallest = result.share(point.lambda);
  result.stability =
      resample_paths(fold, options.settings, std::min(smallest, 0.5), ladder_of_resample,
                     options.bootstrap, trace.seed, run.threads, kept->resample_hooks(monitor),
                     path_memory(data, options.settings, quiet, extras));
  phases.resample = watch.lap();
  if (result.stability->stopped) return {};
  return result;
}

void print_result(const PathOptions& options, const PathResult& result,
                  const std::optional<Model>& model, const std::vector<std::string>& files,
                  const PathPhases& phases, double seconds) {
  if (options.output.json) {
    Json out = json_path(result, options.settings);
    if (model) {
      out["model"] = options.model_path;
      out["groups_asked"] = options.groups;
      out["model_groups"] = model->groups.size();
      out["model_lambda"] = json_number(result.path.points[*result.chosen].lambda);
    }
    out["seconds"] = seconds;
    out["phases"] = {
        {"prepare", phases.prepare}, {"path", phases.path}, {"resample", phases.resample}};
    return print_json(out);
  }
  double worst_gap = 0;
  for (const PathPoint& point : result.path.points) worst_gap = std::max(worst_gap, point.fit.gap);
  fmt::print("{}, {}; lambda_max {:.6g}; {} points, relative gaps at most {:.1e}\n\n",
             plural(std::ssize(result.data.tasks), "task"),
             plural(std::ssize(result.kernels), "kernel"), result.path.lambda_max,
             result.path.points.size(), worst_gap);
  print_path_points(result, options.folder.empty());
  fmt::print("\n");
  print_merge_tree(result);
  if (model) print_group_model(options, result, *model);
  if (!options.folder.empty()) fmt::print("\n{}: {}\n", options.folder, fmt::join(files, " "));
  fmt::print("prepare {}, path {}", seconds_text(phases.prepare), seconds_text(phases.path));
  if (result.stability) fmt::print(", resamples {}", seconds_text(phases.resample));
  fmt::print("\n");
}

int run_path(const PathOptions& options) {
  check_options(options);
  Stopwatch watch;
  PathPhases phases;
  Monitor monitor(options.output.quiet);
  monitor.phase("reading " + file_list(options.problem.data.paths));
  const Dataset data = read_problem(options.problem);
  check_dataset(data);
  const Extras extras = read_extras(options.problem, options.settings, data);
  if (options.groups > std::ssize(data.tasks))
    throw InputError(fmt::format("--groups is {}, but there are only {}.", options.groups,
                                 plural(std::ssize(data.tasks), "task")));
  Run run = run_of(options.problem, monitor, options.output.quiet);
  std::optional<KeptPath> kept;
  const std::optional<PathResult> found =
      find_path(options, data, extras, run, monitor, watch, phases, kept);
  std::optional<Model> model;
  if (found && found->chosen) {
    monitor.phase("making the model");
    monitor.aim(options.settings.tolerance);
    run.note = {};
    model = model_at(found->path.points[*found->chosen], data, options.settings, trace_of(options),
                     run, extras);
  }
  if (!found || (model && interrupted())) {
    set_stage(Stage::writing);
    monitor.clear();
    write_message(kept->stopped_text());
    return exit_failed;
  }
  set_stage(Stage::writing);
  std::vector<std::string> files;
  if (!options.folder.empty()) files = write_path_folder(options.folder, *found);
  if (model) save(*model, options.model_path);
  kept->remove();
  set_stage(Stage::reading_only);
  monitor.clear();
  print_result(options, *found, model, files, phases, watch.seconds());
  const LambdaPath& path = found->path;
  if (!path.resolved)
    tell(
        "warning: after {} points some merges are not yet told apart; use a larger "
        "--resolution or fewer tasks.\n",
        path.points.size());
  const Index unconverged = std::ranges::count_if(
      path.points, [](const PathPoint& point) { return point.fit.status != Status::converged; });
  if (unconverged > 0)
    tell("warning: {} of {} points stopped short of the tolerance {:.1e}.\n", unconverged,
         path.points.size(), options.settings.tolerance);
  const bool converged = !model || model->certificate.status == to_string(Status::converged);
  return unconverged == 0 && converged ? exit_done : exit_short;
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
