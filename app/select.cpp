// coterie select: which C, lambda, norm and normalisation, or which parameters of another method; and which method.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "calibration.hpp"
#include "command.hpp"
#include "coterie/front/alternatives.hpp"
#include "coterie/front/contest.hpp"
#include "coterie/front/files.hpp"
#include "coterie/front/journals.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/journal.hpp"
#include "coterie/page/page.hpp"
#include "messages.hpp"
#include "method_options.hpp"
#include "page_output.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "select_output.hpp"

namespace coterie::app {
namespace {

struct SelectOptions {
  ProblemOptions problem;
  Settings settings;
  std::vector<MethodRef> methods = {MethodRef()};
  std::vector<Kernels> kernels = {Settings().kernels};  // sets of them
  std::vector<Index> smooth = {};                       // none given: by the preset
  std::optional<std::string> C, lambda, norm, normalise;
  std::string parameters;
  std::string preset = "paper";
  Index folds = 5;
  std::optional<double> hold_out;
  std::string validation;
  std::string score = "accuracy";
  std::string search = "grid";
  bool one_se = false, resume = false;
  std::string alternatives = "cheap";
  Index seed = 1;
  CalibrationOptions calibration;
  std::string model_path, table_path, picture_path, page_path;
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

std::vector<Index> smooth_of(const SelectOptions& options) {
  if (!options.smooth.empty()) return options.smooth;
  return options.preset == "best" ? std::vector<Index>{1, kSmooth} : std::vector<Index>{1};
}

// Who is to be judged: every method, with every set of kernels if it has any, on features smoothed in every way.
std::vector<Settings> candidate_settings(const SelectOptions& options) {
  std::vector<Settings> out;
  for (const MethodRef& method : options.methods)
    for (const Kernels& kernels : options.kernels)
      for (const Index smooth : smooth_of(options)) {
        Settings one = options.settings;
        one.method = method;
        one.kernels = kernels;
        one.smooth = smooth;
        const std::vector<std::string> unused = unused_fields(one);
        const bool has_kernels = std::ranges::find(unused, "kernels") == unused.end();
        if (has_kernels || kernels == options.kernels.front()) out.push_back(std::move(one));
      }
  return out;
}

// What is given, over what the preset says.
GridText lists_of(const SelectOptions& options) {
  GridText text = preset_of(options);
  text.C = options.C.value_or(text.C);
  text.lambda = options.lambda.value_or(text.lambda);
  text.norm = options.norm.value_or(text.norm);
  text.normalise = options.normalise.value_or(text.normalise);
  return text;
}

// Of several methods each takes the parameters that it has; one that none has is a slip.
std::string parameters_for(const Method& method, const SelectOptions& options) {
  if (options.methods.size() == 1) return options.parameters;
  const auto has = [](const Method& some, const std::string& name) {
    return std::ranges::find(some.parameters, name, &Parameter::name) != some.parameters.end();
  };
  std::string own;
  for (const auto& [name, values] : split_parameters(options.parameters)) {
    if (has(method, name)) own += fmt::format("{}={} ", name, values);
    if (std::ranges::none_of(options.methods,
                             [&](const MethodRef& other) { return has(*other, name); }))
      throw InputError(
          fmt::format("--parameters names '{}', which none of the methods has.", name));
  }
  return own;
}

struct Plan {
  SelectSettings how;
  std::vector<Candidate> candidates;
  bool several() const { return candidates.size() > 1; }
};

void add_candidates_to(Plan& plan, const SelectOptions& options) {
  const std::vector<Settings> all = candidate_settings(options);
  check_given(all, *options.command);
  const bool linear = std::ranges::all_of(
      options.methods, [](const MethodRef& method) { return method->is_linear(); });
  if (linear && options.command->count("--preset") > 0)
    throw InputError(
        fmt::format("--preset has no meaning for --method {}; give lists in --parameters.",
                    options.methods.front()->name));
  const GridText lists = lists_of(options);
  for (const Settings& one : all) {
    validate(in_full(one));
    plan.candidates.push_back(
        {one, parse_method_grid(one, lists, parameters_for(*one.method, options))});
  }
  plan.how.settings = in_full(all.front());
}

Plan plan_of(const SelectOptions& options) {
  Plan plan;
  add_candidates_to(plan, options);
  SelectSettings& how = plan.how;
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
  if (options.alternatives != "cheap" && options.alternatives != "none")
    throw InputError(
        fmt::format("--alternatives is '{}'; it must be 'cheap' or 'none'.", options.alternatives));
  how.alternatives = options.alternatives == "cheap";
  how.seed = static_cast<std::uint64_t>(options.seed);
  check_selection(how);
  for (const Candidate& one : plan.candidates) check_selection(how_of(one, how));
  return plan;
}

// Of all sets, to find the files that they name.
Kernels all_kernels(const SelectOptions& options) {
  std::vector<Kernel> all;
  for (const Kernels& set : options.kernels)
    all.insert(all.end(), set.list().begin(), set.list().end());
  return Kernels(std::move(all));
}

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
    write_file_atomically(options.picture_path, heat_map(result.chosen()));
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

// What cannot be searched is said before a journal is made.
void check_session(const SelectSession& session) {
  const auto& [how, candidates] = session.plan;
  if (session.plan.several())
    check_candidates(session.data, candidates, how, session.run, session.extras);
  else
    check_search(session.data, candidates.front().grid, how, session.run, session.extras);
}

// A single candidate is a contest of one.
Contest search_one(SelectSession& session, SearchJournal& journal) {
  const auto& [how, candidates] = session.plan;
  Contest out;
  out.candidates = candidates;
  Selection found = select(session.data, candidates.front().grid, how, session.run, session.extras,
                           journal.hooks());
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
                          return journal.hooks(candidate);
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

void add_lists(CLI::App& command, SelectOptions& options) {
  const std::string numbers = "numbers, 2^-10..2^10, or 0.1..10:5 for five points";
  const auto add_list = [&](const std::string& names, std::optional<std::string>& list,
                            const std::string& help) {
    command.add_option(names, list, help + " (default: by the preset)")->type_name("LIST");
  };
  command
      .add_option("--preset", options.preset,
                  "the lists that are not given: 'paper' (C and lambda of 2^-10..2^10, norm 1, "
                  "cosine) or 'best' (norms and normalisations too, and of many features whether "
                  "to smooth them)")
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

// "coterie,stl,cmtl", or "all".
std::vector<MethodRef> read_methods(const std::string& text) {
  if (text == "all") return {methods().begin(), methods().end()};
  std::vector<MethodRef> out;
  for (const std::string& name : split_names(text)) {
    out.emplace_back(name);
    if (std::ranges::count(out, out.back()) > 1)
      throw InputError(fmt::format("--method lists '{}' twice.", name));
  }
  if (out.empty()) out.emplace_back(text);  // throws, with the names
  return out;
}

// Sets of kernels, with a '|' between two.
std::vector<Kernels> read_kernel_sets(const std::string& text) {
  std::vector<Kernels> out;
  std::istringstream words(text);
  std::string set;
  const auto add = [&] {
    out.emplace_back(set);
    set.clear();
    if (std::ranges::count(out, out.back()) > 1)
      throw InputError(fmt::format("--kernels lists the set '{}' twice.", text_of(out.back())));
  };
  for (std::string word; words >> word;) {
    if (word == "|")
      add();
    else
      set += word + " ";
  }
  add();
  return out;
}

// "1,5".
std::vector<Index> read_smooth(const std::string& text) {
  std::vector<Index> out;
  for (const std::string& word : split_names(text)) {
    Index value = 0;
    if (!read_text(word, value) || value < 1 || std::ranges::count(out, value) > 0)
      throw InputError(fmt::format(
          "--smooth is '{}'; it must be a list of different whole numbers >= 1.", text));
    out.push_back(value);
  }
  return out;
}

void add_candidates(CLI::App& command, SelectOptions& options) {
  command
      .add_option_function<std::string>(
          "--smooth", [&options](const std::string& text) { options.smooth = read_smooth(text); },
          "list of numbers of features that are averaged, itself and those that rise and fall with "
          "it most; several, such as 1,5, are judged as methods are (default: 1; with --preset "
          "best 1,5)")
      ->type_name("LIST");
  command
      .add_option_function<std::string>(
          "--method", [&options](const std::string& text) { options.methods = read_methods(text); },
          "what is learnt: coterie, a method to compare it with, a list such as "
          "'coterie,stl,cmtl' or 'all'; of several, that of the best score on the same folds is "
          "fitted (names as `coterie methods` lists them)")
      ->type_name("TEXT")
      ->default_str("coterie");
  command
      .add_option_function<std::string>(
          "--kernels",
          [&options](const std::string& text) { options.kernels = read_kernel_sets(text); },
          fmt::format("{}; several sets with ' | ' between them are judged as methods are",
                      help_of_kernels()))
      ->type_name("TEXT")
      ->default_str("paper");
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

void add_alternatives(CLI::App& command, SelectOptions& options) {
  command
      .add_option(
          "--alternatives", options.alternatives,
          "'cheap': with --method coterie, also look at cheap methods, for about a tenth of "
          "the time, and say when one would do better; 'none': do not")
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
  add_page_option(command, options.page_path,
                  "the scores of the search and the model that it gives");
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
  add_alternatives(command, *options);
  add_outputs(command, *options);
  add_problem(command, options->problem);
  add_candidates(command, *options);
  add_settings(command, options->settings,
               {"C", "lambda", "norm", "normalise", "parameters", "method", "kernels", "smooth"});
  add_calibrate(command, options->calibration);
  add_seed(command, options->seed);
  add_resources(command, options->problem);
  add_quiet(command, options->output);
  add_json(command, options->output);
}

}  // namespace coterie::app
