// coterie path: how tasks come together as lambda grows.
#include "coterie/front/path.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "command.hpp"
#include "coterie/front/files.hpp"
#include "coterie/front/journals.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/page/page.hpp"
#include "messages.hpp"
#include "page_output.hpp"
#include "path_output.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace coterie::app {
namespace {

namespace fs = std::filesystem;

struct PathOptions {
  ProblemOptions problem;
  Settings settings;
  PathSettings path;
  std::optional<double> hold_out;
  Index groups = 0;  // 0: no model is asked for
  Index bootstrap = 0;
  Index seed = 1;
  std::string folder, model_path, page_path;
  bool resume = false;
  OutputOptions output;
  const CLI::App* command = nullptr;  // to say how a model is made
};

std::string journal_of(const std::string& folder) {
  return (fs::path(folder) / "journal").string();
}

void print_group_model(const PathOptions& options, const TracedPath& result, const Model& model) {
  const PathPoint& point = result.path.points[*result.chosen];
  const Index found = std::ssize(point.fit.groups);
  const Index groups = std::ssize(model.groups());
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
  for (const char* name : kPathFiles) files.push_back((fs::path(folder) / name).string());
  files.push_back(journal_of(folder));
  return files;
}

TraceSettings trace_of(const PathOptions& options) {
  return {options.path, options.hold_out, static_cast<std::uint64_t>(options.seed)};
}

// Whether a folder of this name is there or could be made.
bool has_place(const std::string& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return true;
  fs::path path = fs::absolute(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "name/"
  const fs::path above = path.parent_path();
  return fs::is_directory(above, ignored) && access(above.c_str(), W_OK) == 0;
}

[[noreturn]] void refuse_folder(const std::string& folder) {
  throw InputError(
      fmt::format("--output: the folder {} does not exist and cannot be made.", folder));
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
  check_page_output(options.page_path, "--page", inputs);
  if (options.folder.empty())
    return check_distinct_outputs({options.model_path, options.page_path}, "--model and --page");
  if (fs::exists(options.folder) && !fs::is_directory(options.folder))
    throw InputError(fmt::format("--output: {} is a file; path writes a folder.", options.folder));
  if (!has_place(options.folder)) refuse_folder(options.folder);
  std::vector<std::string> outputs = folder_files(options.folder);
  if (fs::is_directory(options.folder))
    for (const std::string& file : outputs) check_output(file, "the path", inputs);
  outputs.insert(outputs.end(), {options.model_path, options.page_path});
  check_distinct_outputs(outputs, "the files of --output, --model and --page");
}

// The folder with the journal of the run, or nothing without a folder. It is made when all that can be wrong before a fit has been said;
// what still fails leaves neither, if nothing was done and the folder was not there before.
class KeptPath {
 public:
  KeptPath(const PathOptions& options, const Dataset& data, const Extras& extras)
      : folder_(options.folder) {
    if (folder_.empty()) return;
    std::error_code error;
    made_ = fs::create_directory(folder_, error);
    if (!fs::is_directory(folder_)) refuse_folder(folder_);
    journal_.emplace(journal_of(folder_), options.resume ? Resume::yes : Resume::no, data,
                     options.settings, trace_of(options), extras);
    if (!options.resume || options.output.quiet) return;
    tell("{}\n", journal_->earlier() == 0
                     ? "note: there is nothing to resume; starting from the beginning."
                     : fmt::format("going on after {} kept in {}",
                                   plural(journal_->earlier(), "point"), journal_of(folder_)));
  }

  bool is_kept() const { return journal_.has_value(); }
  bool is_empty() const { return !journal_ || journal_->records() == 0; }
  EmptyKeep made() const {
    return {.file = journal_of(folder_), .folder = made_ ? folder_ : std::string()};
  }
  std::string stopped_text() const {
    if (!journal_) return "stopped: nothing was written.\n";
    return fmt::format(
        "stopped: what was done is kept in {}; go on with the same command and --resume.\n",
        journal_of(folder_));
  }
  PathHooks hooks(Monitor& monitor, double smallest) {
    PathHooks out = journal_ ? journal_->hooks() : PathHooks{};
    if (journal_ && journal_->records() > 0) note_kept();
    if (out.keep)
      out.keep = [keep = std::move(out.keep)](const PathPoint& point) {
        keep(point);
        note_kept();
      };
    out.progress = [&monitor, smallest](Index points, double share, double left) {
      return monitor.path(points, share, smallest, left);
    };
    return out;
  }
  StabilityHooks resample_hooks(Monitor& monitor) {
    StabilityHooks out = journal_ ? journal_->resample_hooks() : StabilityHooks{};
    out.progress = [&monitor](Index done, Index all) {
      return monitor.share(done, all, "resamples");
    };
    return out;
  }
  void remove() {
    if (journal_) journal_->remove();
  }
  void remove_if_empty() {
    if (!journal_ || journal_->records() > 0) return;
    journal_->remove();
    std::error_code ignored;
    if (made_) fs::remove(folder_, ignored);
  }

 private:
  std::string folder_;
  bool made_ = false;
  std::optional<PathJournal> journal_;
};

struct PathPhases {
  double prepare = 0, path = 0, resample = 0;
};

// What a path is made from, and with whom it talks.
struct PathSession {
  const PathOptions& options;
  TraceSettings trace = trace_of(options);
  Stopwatch watch = {};
  PathPhases phases = {};
  Monitor monitor{options.output.quiet};
  Dataset data = {};
  Extras extras = {};
  Run run = {};
  std::optional<Fold> fold = {};

  explicit PathSession(const PathOptions& from) : options(from) {
    monitor.phase("reading " + file_list(options.problem.data.paths));
    data = read_problem(options.problem);
    check_dataset(data);
    extras = read_extras(options.problem, options.settings, data);
    if (options.groups > std::ssize(data.tasks))
      throw InputError(fmt::format("--groups is {}, but there are only {}.", options.groups,
                                   plural(std::ssize(data.tasks), "task")));
    run = run_of(options.problem, monitor, options.output.quiet);
    monitor.clear();
    check_path_memory(data, options.settings, trace, run, extras);
  }
};

// Nothing when it was stopped.
std::optional<TracedPath> find_path(PathSession& session, KeptPath& kept) {
  const auto& [options, trace, watch, phases, monitor, data, extras, run, fold] = session;
  if (kept.is_kept()) set_stage_kept(kept.stopped_text(), exit_failed, kept.made());
  session.monitor.phase("preparing kernels");
  session.fold = path_fold(data, options.settings, trace, run, extras);
  const Grams& grams = kernels_of(*fold).grams;
  note_bounded(grams, options.settings, run);
  session.run.note = {};  // all has been told
  session.phases.prepare = session.watch.lap();

  session.monitor.phase("walking the path");
  TracedPath result{data,
                    trace_path(*fold, data, options.settings, trace, run, extras,
                               kept.hooks(session.monitor, options.path.smallest)),
                    {},
                    {},
                    {},
                    {}};
  if (result.path.stopped) return {};
  for (const Kernel& kernel : grams.kernels) result.kernels.push_back(to_string(kernel));
  result.tree = merge_tree(result.path);
  session.phases.path = session.watch.lap();
  if (options.groups > 0) result.chosen = point_with_groups(result.path, options.groups);
  if (options.bootstrap == 0) return result;

  session.monitor.phase("resampling");
  result.stability =
      resample_path(*fold, result.path, data, options.settings, trace, options.bootstrap, run,
                    extras, kept.resample_hooks(session.monitor));
  session.phases.resample = session.watch.lap();
  if (result.stability->stopped) return {};
  return result;
}

std::optional<TracedPath> find_path_or_clean_up(PathSession& session, KeptPath& kept) {
  try {
    return find_path(session, kept);
  } catch (const InputError&) {  // of kernels on the data
    kept.remove_if_empty();
    throw;
  }
}

void print_result(const PathOptions& options, const TracedPath& result,
                  const std::optional<Model>& model, const std::vector<std::string>& files,
                  const PathPhases& phases, double seconds) {
  if (options.output.json) {
    Json out = json_path(result, options.settings);
    if (model) {
      out["model"] = options.model_path;
      out["groups_asked"] = options.groups;
      out["model_groups"] = model->groups().size();
      out["model_lambda"] = json_number(result.path.points[*result.chosen].lambda);
    }
    if (!options.page_path.empty()) out["page"] = options.page_path;
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
  if (!options.page_path.empty()) fmt::print("\npage: {}\n", options.page_path);
  fmt::print("prepare {}, path {}", seconds_text(phases.prepare), seconds_text(phases.path));
  if (result.stability) fmt::print(", resamples {}", seconds_text(phases.resample));
  fmt::print("\n");
}

void write_page(const PathOptions& options, const TracedPath& result) {
  std::string again =
      command_again(*options.command, "train",
                    {"--output", "--groups", "--model", "--page", "--hold-out", "--bootstrap",
                     "--smallest", "--resolution", "--resume", "--seed", "--json", "--quiet"});
  if (options.command->count("--tolerance") == 0)
    again += fmt::format(" --tolerance {}", options.settings.tolerance);
  write_file_atomically(
      options.page_path,
      as_page(PathPage{.title = file_list(options.problem.data.paths),
                       .data = result.data,
                       .settings = options.settings,
                       .kernels = result.kernels,
                       .path = result.path,
                       .tree = result.tree,
                       .stability = result.stability ? &*result.stability : nullptr,
                       .chosen = result.chosen,
                       .command = again,
                       .held_out = options.hold_out.has_value()}));
}

// Warnings about what the path could not do, and the exit code.
int judge_path(const PathOptions& options, const LambdaPath& path,
               const std::optional<Model>& model) {
  if (!path.resolved)
    tell(
        "warning: after {} points some merges could not be separated; use a larger "
        "--resolution or fewer tasks.\n",
        path.points.size());
  const Index unconverged = std::ranges::count_if(
      path.points, [](const PathPoint& point) { return point.fit.status != Status::converged; });
  if (unconverged > 0)
    tell("warning: {} of {} points stopped short of the tolerance {:.1e}.\n", unconverged,
         path.points.size(), options.settings.tolerance);
  const bool converged = !model || model->certificate().status == Status::converged;
  return unconverged == 0 && converged ? exit_done : exit_short;
}

int run_path(const PathOptions& options) {
  check_options(options);
  PathSession session(options);
  KeptPath kept(options, session.data, session.extras);
  const std::optional<TracedPath> found = find_path_or_clean_up(session, kept);
  std::optional<Model> model;
  if (found && found->chosen) {
    session.monitor.phase("making the model");
    session.monitor.aim(options.settings.tolerance);
    model = model_at(found->path.points[*found->chosen], *session.fold, session.data,
                     options.settings, session.trace, session.run, session.extras);
  }
  set_stage(Stage::writing);
  if (!found || (model && interrupted())) {
    session.monitor.clear();
    write_message(kept.is_empty() ? kNothingKept : kept.stopped_text());
    kept.remove_if_empty();
    return exit_failed;
  }
  std::vector<std::string> files;
  if (!options.folder.empty())
    for (const ReportFile& file : path_files(*found)) {
      write_file_atomically((fs::path(options.folder) / file.name).string(), file.text);
      files.push_back(file.name);
    }
  if (model) save(*model, options.model_path);
  if (!options.page_path.empty()) write_page(options, *found);
  kept.remove();
  set_stage(Stage::reading_only);
  session.monitor.clear();
  print_result(options, *found, model, files, session.phases, session.watch.seconds());
  return judge_path(options, found->path, model);
}

}  // namespace

void add_path(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<PathOptions>();
  options->settings.tolerance = 1e-8;  // groups settle later than objectives do
  CLI::App& command = add_command(
      program, "path", "Follow the optimum along lambda: which tasks join, and when",
      "coterie path tasks.csv -o path --groups 3 --model three.h5", options, run_path, chosen);
  options->command = &command;
  add_paths(command, options->problem.data);
  command
      .add_option("-o,--output", options->folder,
                  "folder for path.csv, weights.csv, merges.csv and the pictures weights.svg, "
                  "tree.svg, affinity.svg (default: print only)")
      ->type_name("FOLDER");
  add_number(command, "--groups", options->groups,
             "make a model with so many groups, or the nearest number there is",
             "a whole number >= 1; 0 for no model", Index{0});
  command.add_option("--model", options->model_path, "where that model goes")->type_name("FILE");
  add_page_option(command, options->page_path,
                  "tree, groups and weights with a slider over lambda");
  command
      .add_option_function<double>(
          "--hold-out", [options](double share) { options->hold_out = share; },
          "judge every point on this share of the rows; the path is that of the others (default: "
          "none)")
      ->type_name("NUMBER");
  add_number(command, "--bootstrap", options->bootstrap,
             "draw so many resamples of the rows, to show how stable the groups are",
             "a whole number >= 0", Index{0});
  add_number(command, "--smallest", options->path.smallest,
             "where the path ends even if tasks still share, as a part of lambda_max",
             "a number between 0 and 1");
  add_number(command, "--resolution", options->path.resolution,
             "how exactly the lambda of a merge is found, relative to it",
             "a number between 0 and 1");
  command.add_flag("--resume", options->resume,
                   "continue an interrupted run of the same command (default: start from scratch)");
  add_problem(command, options->problem);
  add_settings(command, options->settings, {"lambda", "method", "parameters", "loss", "map"});
  add_seed(command, options->seed);
  add_resources(command, options->problem);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
