// coterie select: which C, lambda, norm and normalisation, or which parameters of another method; and which method.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "command.hpp"
#include "coterie/front/alternatives.hpp"
#include "coterie/front/files.hpp"
#include "coterie/front/journals.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/journal.hpp"
#include "coterie/page/page.hpp"
#include "messages.hpp"
#include "page_output.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "select_options.hpp"
#include "select_output.hpp"

namespace coterie::app {
namespace {

std::string journal_of(const SelectOptions& options) { return options.model_path + ".journal"; }

void check_outputs(const SelectOptions& options) {
  std::vector<std::string> inputs = input_files(options.problem, all_kernels(options));
  if (!options.validation.empty()) inputs.push_back(options.validation);
  check_model_output(options.model_path, inputs);
  check_extra_output(options.table_path, "--table", {".csv", ".json"}, inputs);
  check_extra_output(options.picture_path, "--picture", {".svg"}, inputs);
  check_page_output(options.page_path, "--page", inputs);
  check_output(journal_of(options), "the journal", inputs, "the journal of the search: ");
  check_distinct_outputs({options.model_path, options.table_path, options.picture_path,
                          options.page_path, journal_of(options)},
                         "--output, --table, --picture and --page");
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

void write_results(const SelectOptions& options, const Contest& result, const Model& model) {
  save(model, options.model_path);
  const bool several = result.candidates.size() > 1;
  if (options.table_path.ends_with(".json"))
    write_file_atomically(
        options.table_path,
        (several ? json_contest(result) : json_grid(result.chosen())).dump(2) + "\n");
  else if (!options.table_path.empty())
    write_file_atomically(options.table_path,
                          several ? csv_contest(result) : csv_grid(result.chosen()));
  if (!options.picture_path.empty())
    write_file_atomically(options.picture_path, as_svg(heat_map_of(result.chosen())));
  if (!options.page_path.empty())
    write_file_atomically(
        options.page_path,
        as_page(SelectionPage{
            .title = file_list(options.problem.data.paths), .contest = result, .model = model}));
}

struct SelectPhases {
  double read = 0, search = 0, fit = 0;
};

void print_result(const SelectOptions& options, const Contest& result, const Model& model,
                  const SelectPhases& phases, double seconds) {
  const bool several = result.candidates.size() > 1;
  if (options.output.json) {
    Json out = json_selection(result.chosen());
    if (several) out.update(json_contest(result));
    out["fit"] = json_fit(model);
    out["seconds"] = seconds;
    out["phases"] = {{"read", phases.read}, {"search", phases.search}, {"fit", phases.fit}};
    out["model"] = options.model_path;
    if (!options.page_path.empty()) out["page"] = options.page_path;
    return print_json(out);
  }
  if (several) print_contest(result);
  print_selection(result.chosen());
  fmt::print("\n{}, {}, status {}\n\n{}\n", strength_text(model), proof_text(model.certificate()),
             to_string(model.certificate().status), groups_text(model));
  fmt::print("read {}, search {}, fit {}\n", seconds_text(phases.read), seconds_text(phases.search),
             seconds_text(phases.fit));
  fmt::print("model: {}\n", options.model_path);
  if (!options.page_path.empty()) fmt::print("page: {}\n", options.page_path);
}

// What --label or --task says of the rows of --validation. A file that it names has values for the rows of the data alone.
std::optional<std::string> column_of_validation(const std::optional<std::string>& given) {
  const bool is_file = given && (given->ends_with(".npy") || given->ends_with(".npy.gz"));
  return is_file ? std::nullopt : given;
}

// The table of --validation, with the features of the data.
Samples read_validation(const SelectOptions& options, const Dataset& data) {
  TableOptions columns;
  columns.label = column_of_validation(options.problem.data.label);
  columns.task = column_of_validation(options.problem.data.task);
  columns.features = data.features;
  columns.memory = memory_of_table(options.problem.memory);
  try {
    return read_samples({options.validation}, columns);
  } catch (const InputError& error) {
    const std::string text = error.what();
    const std::size_t advice = text.find("Name the file of the labels");
    if (advice == std::string::npos) throw;
    throw InputError("--validation: " + text.substr(0, advice) + "Put the labels beside it, as " +
                     text.substr(text.rfind(' ') + 1));
  }
}

// What a selection works on, and with whom it talks.
struct SelectSession {
  const SelectOptions& options;
  SelectPlan plan;
  Stopwatch watch = {};
  SelectPhases phases = {};
  Monitor monitor;
  Dataset data = {};
  Extras extras = {};
  Run run = {};
  std::size_t searched = 0;  // which candidate

  explicit SelectSession(const SelectOptions& from)
      : options(from), plan(plan_of(from)), monitor(from.output.quiet) {
    monitor.aim(plan.how.settings.tolerance);
    monitor.phase("reading " + file_list(options.problem.data.paths));
    data = read_problem(options.problem);
    Settings with_all = plan.how.settings;
    with_all.kernels = all_kernels(options);
    extras = read_extras(options.problem, with_all, data);
    check_dataset(data);
    if (!options.validation.empty()) plan.how.validation = read_validation(options, data);
    if (options.smooth.empty() && data.X.cols() < kLeastToSmooth)
      std::erase_if(plan.candidates, [](const Candidate& one) { return one.settings.smooth > 1; });
    for (Candidate& one : plan.candidates) limit_clusters(one.grid, std::ssize(data.tasks));
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
      if (phases.read == 0) phases.read = watch.lap();
      const Candidate& now = plan.candidates[searched];
      monitor.phase(fmt::format("searching {}{}",
                                plan.several() ? name_of(now, plan.candidates) + ": " : "",
                                size_text(now.grid)));
      set_stage_kept(kept_text(), exit_failed, {.file = journal_of(options)});
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

// What cannot be searched is said before a journal is made.
void check_session(const SelectSession& session) {
  const auto& [how, candidates] = session.plan;
  if (session.plan.several())
    check_candidates(session.data, candidates, how, session.run, session.extras);
  else
    check_search(session.data, candidates.front().grid, how, session.run, session.extras);
}

// As the journal's, and a signal knows when there is something to go on from.
SearchHooks kept_hooks(SearchJournal& journal, std::size_t candidate = 0) {
  SearchHooks hooks = journal.hooks(candidate);
  if (journal.rows() > 0) note_kept();
  hooks.keep = [keep = std::move(hooks.keep)](const RowKey& row, const RowScores& scores) {
    keep(row, scores);
    note_kept();
  };
  return hooks;
}

// A single candidate is a contest of one.
Contest search_one(SelectSession& session, SearchJournal& journal) {
  const auto& [how, candidates] = session.plan;
  Contest out;
  out.candidates = candidates;
  Selection found = select(session.data, candidates.front().grid, how, session.run, session.extras,
                           kept_hooks(journal));
  out.stopped = found.scores.stopped;
  out.trained = std::move(found.trained);
  out.contenders.push_back({0, std::move(found)});
  return out;
}

Contest run_search(SelectSession& session, SearchJournal& journal) {
  const auto& [how, candidates] = session.plan;
  try {
    if (!session.plan.several()) return search_one(session, journal);
    return select_among(session.data, candidates, how, session.run, session.extras,
                        [&](std::size_t candidate) {
                          session.searched = candidate;
                          return kept_hooks(journal, candidate);
                        });
  } catch (const InputError&) {  // of kernels on the data
    if (journal.rows() == 0) journal.remove();
    throw;
  }
}

// Calibrated where that is wanted; nothing when it was stopped.
std::optional<Model> final_model(SelectSession& session, const Contest& result) {
  const SelectOptions& options = session.options;
  const Model& model = result.trained->model;
  if (!options.calibration.wanted()) return model;
  session.run.share = [&](Index done, Index folds) {
    return session.monitor.share(done, folds, "folds");
  };
  CalibrationSettings how = settings_of(options.calibration);
  how.folds = options.folds;
  how.seed = session.plan.how.seed;
  return calibrate(model, session.data, how, session.run,
                   extras_for(*model.settings.method, session.extras));
}

int run_select(const SelectOptions& options) {
  check_outputs(options);
  check_problem(options.problem);
  check_calibration(options.calibration);
  SelectSession session(options);
  check_session(session);
  const bool forgotten = Journal::exists(journal_of(options));
  SearchJournal journal(journal_of(options), options.resume ? Resume::yes : Resume::no,
                        session.data, session.plan.candidates, session.plan.how, session.extras);
  session.monitor.clear();
  if (!options.output.quiet) tell_earlier(journal, options, forgotten);

  const Contest result = run_search(session, journal);
  if (result.stopped && journal.rows() == 0) {
    journal.remove();
    return session.stopped(kNothingKept);
  }
  if (result.stopped)
    return session.stopped(fmt::format(
        "stopped: no model was written; {} in {}. Go on with the same command and --resume.\n",
        journal.rows() == 1 ? "1 row is kept" : fmt::format("{} rows are kept", journal.rows()),
        journal_of(options)));
  if (interrupted()) return session.stopped(session.kept_text());
  const std::optional<Model> model = final_model(session, result);
  if (!model) return session.stopped(session.kept_text());
  session.phases.fit = session.watch.lap();
  set_stage(Stage::writing);
  write_results(options, result, *model);
  journal.remove();
  set_stage(Stage::reading_only);
  session.monitor.clear();
  print_result(options, result, *model, session.phases, session.watch.seconds());
  if (!options.output.quiet) tell("{}", edges_text(result.chosen(), model->groups().size() == 1));
  if (result.trained->fit.status() == Status::converged) return exit_done;
  tell("warning: the fit of the choice ended with status '{}', relative gap {:.1e}.\n",
       to_string(model->certificate().status), model->certificate().gap);
  return exit_short;
}

}  // namespace

void add_select(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<SelectOptions>();
  CLI::App& command = add_command(
      program, "select", "Choose C, lambda and more by cross-validation, and fit the choice",
      "coterie select tasks.csv --preset best -o model.h5 --table grid.csv --picture grid.svg",
      options, run_select, chosen);
  add_select_options(command, *options);
}

}  // namespace coterie::app
