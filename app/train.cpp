// coterie train: one fit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "calibration.hpp"
#include "command.hpp"
#include "coterie/data/split.hpp"
#include "coterie/front/files.hpp"
#include "coterie/mtmkl/group_list.hpp"
#include "messages.hpp"
#include "method_options.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace coterie::app {
namespace {

struct TrainOptions {
  ProblemOptions problem;
  Settings settings;
  OutputOptions output;
  std::string model_path;
  CalibrationOptions calibration;
  Index bootstrap = 0;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  const CLI::App* command = nullptr;  // to tell what was given from what is a default
};

// Why the fit ended short of its tolerance, and what to do.
std::string advice(const Model& model, const Monitor& monitor, bool lambda_changed, Index cycle,
                   double coarseness) {
  const Certificate& proof = model.certificate();
  const std::string reached =
      fmt::format("relative gap {:.1e}, asked for {:.1e}", proof.gap, model.settings.tolerance);
  if (interrupted() && proof.gap <= model.settings.tolerance)
    return "stopped by a signal while better clusters were searched for. What was found was kept.";
  std::string why = fmt::format("stopped after {}", plural(proof.outer_steps, "outer step"));
  std::string what = "Train again with a larger --max-steps or a larger --tolerance.";
  if (interrupted()) {
    why = "stopped by a signal";
    what = "The model reached so far was kept.";
  } else if (monitor.timed_out()) {
    why = "stopped at the time limit";
    what = "The model reached so far was kept; for a better one raise --time-limit.";
  } else if (model.settings.solver == Solver::published) {
    what =
        "The published algorithm does not converge in general: it alternates between best "
        "responses, and may go round in a cycle for ever. Use --solver newton.";
    if (cycle > 0) why = fmt::format("{}, going round a cycle of {} steps", why, cycle);
  } else if (proof.status == Status::stalled) {
    why = "the solver found no step that lowers the objective further";
    what = fmt::format("Train again with a larger --tolerance{}.",
                       model.scaling.kind == Scaling::Kind::none
                           ? ", or scale the features (--scale standard)"
                           : "");
  } else if (proof.status == Status::precision) {
    why = fmt::format(
        "rounding errors are too large for this tolerance (the numbers of the fit are known to "
        "{:.1e} of the objective)",
        std::max(proof.bound, coarseness));
    what = model.settings.method->is_linear() ? kLinearPrecisionAdvice : kPrecisionAdvice;
  }
  if (lambda_changed)
    what += " It has lambda = inf: the first fit, which finds lambda_max, was not yet done.";
  return fmt::format("{}: {}. {}", why, reached, what);
}

struct Phases {
  double read = 0, gram = 0, fit = 0, calibrate = 0, write = 0, resample = 0;
};

Json json_stability(const Model& model, const Stability& stability) {
  Json out = {{"resamples", stability.resamples.size()}, {"support", Json::array()}};
  for (const std::vector<Index>& group : listed(model.groups()))
    out["support"].push_back(support(stability, group));
  const Matrix together = share_together(stability, std::ssize(model.tasks));
  for (const auto& row : together.rowwise())
    out["together"].push_back(std::vector<double>(row.begin(), row.end()));
  return out;
}

// How surely a task is with the rest of its group: the mean share of resamples over them.
double belonging(const Matrix& together, const std::vector<Index>& group, Index t) {
  double sum = 0;
  for (const Index s : group)
    if (s != t) sum += together(t, s);
  return sum / static_cast<double>(group.size() - 1);
}

void print_stability(const Model& model, const Stability& stability) {
  const Matrix together = share_together(stability, std::ssize(model.tasks));
  fmt::print("groups in {} of the data (1: found again in each):\n",
             plural(std::ssize(stability.resamples), "resample"));
  Index number = 0;
  for (const std::vector<Index>& group : listed(model.groups())) {
    fmt::print("  group {}, {}: {:.2f}", ++number, plural(std::ssize(group), "task"),
               support(stability, group));
    if (group.size() > 1) {
      const Index least = *std::ranges::min_element(
          group, {}, [&](Index t) { return belonging(together, group, t); });
      fmt::print("; least sure: {}, with the others in {:.0f} %",
                 model.tasks[static_cast<std::size_t>(least)].name,
                 100 * belonging(together, group, least));
    }
    fmt::print("\n");
  }
  fmt::print("\n");
}

void print_result(const TrainOptions& options, const Model& model, const Fitted& fitted,
                  const std::optional<Stability>& stability, const Phases& phases, double seconds) {
  if (options.output.json) {
    Json out = json_fit(model);
    if (fitted.lambda_max > 0) out["lambda_max"] = json_number(fitted.lambda_max);
    if (fitted.fit.cycle > 0) out["cycle"] = fitted.fit.cycle;
    if (!model.kernels.empty()) out["theta_iterations"] = fitted.fit.theta_iterations;
    out["seconds"] = seconds;
    out["phases"] = {
        {"read", phases.read}, {"gram", phases.gram}, {"fit", phases.fit}, {"write", phases.write}};
    if (options.calibration.wanted()) out["phases"]["calibrate"] = phases.calibrate;
    if (options.bootstrap > 0) out["phases"]["resample"] = phases.resample;
    if (stability) out["bootstrap"] = json_stability(model, *stability);
    out["model"] = options.model_path;
    return print_json(out);
  }
  std::string how = strength_text(model);
  if (!model.settings.method->is_linear())
    how = fmt::format("{}; C {}, {}", plural(std::ssize(model.kernels), "kernel"),
                      short_number(model.settings.C), how);
  fmt::print("{}, {}, {}, {}\n", plural(std::ssize(model.tasks), "task"),
             plural(model.training_rows, "row"),
             plural(std::ssize(model.features_of_data()), "feature"), how);
  fmt::print("{}, {}, status {}\n\n", proof_text(model.certificate()),
             plural(model.certificate().outer_steps, "outer step"),
             to_string(model.certificate().status));
  fmt::print("{}\n", groups_text(model));
  if (stability) print_stability(model, *stability);
  fmt::print("read {}, prepare {}, fit {}, write {}\n", seconds_text(phases.read),
             seconds_text(phases.gram), seconds_text(phases.fit), seconds_text(phases.write));
  const std::string size = model.kernels.empty()
                               ? ""
                               : fmt::format("{} support vectors; ", model.support_vectors.rows());
  fmt::print("model: {} ({}look at it with: coterie inspect {})\n", options.model_path, size,
             options.model_path);
}

// Fits, and times it: what a signal does depends on how far it is.
Trained fit(const TrainOptions& options, Dataset data, const Settings& settings,
            const Extras& extras, Monitor& monitor, Stopwatch& watch, Phases& phases) {
  Run run = run_of(options.problem, monitor, options.output.quiet);
  const std::string tasks = plural(std::ssize(data.tasks), "task");
  run.phase = [&](Work work) {
    if (work == Work::preparing) {
      phases.read = watch.lap();
      return monitor.phase("preparing " + tasks);
    }
    phases.gram = watch.lap();
    monitor.phase("fitting");
    set_stage(Stage::stoppable);
  };
  Trained trained = train_in_detail(std::move(data), settings, run, extras);
  phases.fit = watch.lap();
  return trained;
}

// The model with probabilities, which is first written without: it may take long, or end early. False: it was stopped.
bool add_probabilities(const TrainOptions& options, const Dataset& data, const Extras& extras,
                       Monitor& monitor, Stopwatch& watch, Phases& phases, Model& model) {
  set_stage(Stage::writing);
  save(model, options.model_path);
  phases.write = watch.lap();
  set_stage_kept(
      fmt::format("warning: {} The model is in {}.\n", without_probabilities, options.model_path),
      exit_short);
  if (interrupted() || monitor.timed_out()) return false;
  Run run = run_of(options.problem, monitor, true);
  run.share = [&](Index done, Index folds) { return monitor.share(done, folds, "folds"); };
  run.phase = [&](Work) { monitor.phase("calibrating"); };
  std::optional<Model> found =
      calibrate(model, data, settings_of(options.calibration), run, extras);
  if (found) model = std::move(*found);
  phases.calibrate = watch.lap();
  return found.has_value();
}

// The model is written already: this may take long, or end early.
std::optional<Stability> resample(const TrainOptions& options, Dataset data,
                                  const Settings& settings, const Extras& extras,
                                  Monitor& monitor) {
  set_stage_kept(fmt::format("warning: stopped before the groups of all resamples were found. The "
                             "model is in {}.\n",
                             options.model_path),
                 exit_short);
  if (interrupted() || monitor.timed_out()) return {};
  Run run = run_of(options.problem, monitor, true);
  run.share = [&](Index done, Index all) { return monitor.share(done, all, "resamples"); };
  monitor.phase("resampling");
  Stability found =
      resample_groups(std::move(data), settings, options.bootstrap,
                      static_cast<std::uint64_t>(settings.parameters.at("seed")), run, extras);
  if (found.stopped) return {};
  return found;
}

int run_train(const TrainOptions& options) {
  check_given(options.settings, *options.command);
  const Settings settings = in_full(options.settings);
  validate(settings);
  if (options.bootstrap > 0) check_groups_are_searched(settings);
  check_model_output(options.model_path, input_files(options.problem, settings.kernels));
  check_problem(options.problem);
  check_calibration(options.calibration);
  Stopwatch watch;
  Phases phases;
  const bool limited = std::isfinite(options.time_limit_seconds);
  Monitor monitor(options.output.quiet,
                  limited ? std::optional(options.time_limit_seconds) : std::nullopt);
  if (limited) end_after(options.time_limit_seconds);
  monitor.aim(settings.tolerance);
  monitor.phase("reading " + file_list(options.problem.data.paths));
  Dataset data = read_problem(options.problem);
  const Extras extras = read_extras(options.problem, settings, data);
  Dataset raw;
  if (options.calibration.wanted() || options.bootstrap > 0) raw = data;
  if (options.calibration.wanted()) {
    fold_tasks(raw, options.calibration.folds,  // what cannot be folded is said before the fit
               static_cast<std::uint64_t>(options.calibration.seed));
  }
  auto [model, found] = fit(options, std::move(data), settings, extras, monitor, watch, phases);
  const bool calibrated = !options.calibration.wanted() ||
                          add_probabilities(options, raw, extras, monitor, watch, phases, model);
  set_stage(Stage::writing);
  if (calibrated) save(model, options.model_path);
  phases.write += watch.lap();
  std::optional<Stability> stability;
  if (options.bootstrap > 0) {
    stability = resample(options, std::move(raw), settings, extras, monitor);
    phases.resample = watch.lap();
  }
  set_stage(Stage::reading_only);

  monitor.clear();
  const Fitted fitted = found.kernel() ? *found.kernel() : Fitted();
  print_result(options, model, fitted, stability, phases, watch.seconds());
  if (!calibrated) tell("warning: {}\n", without_probabilities);
  const bool resampled = options.bootstrap == 0 || stability;
  if (!resampled) tell("warning: stopped before the groups of all resamples were found.\n");
  if (found.status() == Status::converged) return calibrated && resampled ? exit_done : exit_short;
  const bool lambda_changed =
      found.status() == Status::stopped && std::isinf(fitted.lambda) && settings.lambda.relative;
  tell("warning: {} Written to {} with status '{}'.\n",
       advice(model, monitor, lambda_changed, fitted.fit.cycle, found.coarseness()),
       options.model_path, to_string(model.certificate().status));
  return exit_short;
}

}  // namespace

void add_train(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App& command = add_command(
      program, "train", "Fit one model; its certificate says how close it is to the optimum",
      "coterie train digits --one-vs-one --lambda 0.1max -o model.h5", options, run_train, chosen);
  options->command = &command;
  add_paths(command, options->problem.data);
  command.add_option("-o,--output", options->model_path, "where the model goes (needed)")
      ->type_name("FILE");
  add_problem(command, options->problem);
  add_settings(command, options->settings);
  add_calibration(command, options->calibration);
  add_number(command, "--bootstrap", options->bootstrap,
             "resamples that show how stable the groups are that --method groups finds",
             "a whole number >= 0", Index{0});
  add_number(command, "--time-limit", options->time_limit_seconds,
             "stop after so many seconds, and keep what was reached", "a number >= 0", 0.0);
  add_resources(command, options->problem);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
