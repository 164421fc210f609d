#include "select_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "coterie/front/alternatives.hpp"
#include "method_options.hpp"
#include "page_output.hpp"

namespace coterie::app {
namespace {

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

void add_candidates_to(SelectPlan& plan, const SelectOptions& options) {
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

void add_lists(CLI::App& command, SelectOptions& options) {
  const std::string numbers = "numbers, 2^-10..2^10, or 0.1..10:5 for five points";
  const auto add_list = [&](const std::string& names, std::optional<std::string>& list,
                            const std::string& help) {
    command.add_option(names, list, help + " (default: by the preset)")->type_name("LIST");
  };
  command
      .add_option(
          "--preset", options.preset,
          "the lists that you do not give: 'paper' (C and lambda of 2^-10..2^10, norm 1, cosine) "
          "or 'best' (also tries norms and normalisations and, with many features, smoothing them)")
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
          "how many features each becomes the mean of: itself, and those that rise and fall with "
          "it most; several, such as 1,5, are compared like methods (default: 1; with --preset "
          "best 1,5)")
      ->type_name("LIST");
  command
      .add_option_function<std::string>(
          "--method", [&options](const std::string& text) { options.methods = read_methods(text); },
          "what is learnt: coterie, a method to compare it with, or several, such as "
          "'coterie,stl,cmtl' or 'all': the one with the best score on the same folds is then "
          "fitted (`coterie methods` lists the names)")
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
                  "what decides, as a mean over tasks: 'accuracy', 'balanced', 'auc' or 'logloss'")
      ->type_name("TEXT")
      ->capture_default_str();
  add_number(command, "--folds", options.folds,
             "parts of the cross-validation; the classes of every task are spread over all of them",
             "a whole number >= 2", Index{2});
  command
      .add_option_function<double>(
          "--hold-out", [&options](double share) { options.hold_out = share; },
          "judge on this share of the rows, instead of by cross-validation")
      ->type_name("NUMBER");
  command
      .add_option("--validation", options.validation,
                  "judge on the rows of this table, which has the same columns and is not trained "
                  "on (default: none)")
      ->type_name("FILE");
  command.add_flag(
      "--one-se", options.one_se,
      "among the points within one standard error of the best, take the strongest sharing and the "
      "smallest C, or the simplest parameters of another method (default: take the best)");
  command
      .add_option("--search", options.search,
                  "'grid' tries every point, 'coarse' every second C and fourth lambda, then those "
                  "around the best")
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
                  "write every point with its scores, .csv or .json (default: no)")
      ->type_name("FILE");
  command
      .add_option("--picture", options.picture_path,
                  "draw the scores as a heat map, .svg (default: no)")
      ->type_name("FILE");
  add_page_option(command, options.page_path,
                  "the scores of the search and the model that it gives");
  command.add_flag("--resume", options.resume,
                   "continue an interrupted run of the same command (default: start from scratch)");
}

}  // namespace

SelectPlan plan_of(const SelectOptions& options) {
  SelectPlan plan;
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

Kernels all_kernels(const SelectOptions& options) {
  std::vector<Kernel> all;
  for (const Kernels& set : options.kernels)
    all.insert(all.end(), set.list().begin(), set.list().end());
  return Kernels(std::move(all));
}

void add_select_options(CLI::App& command, SelectOptions& options) {
  options.command = &command;
  add_paths(command, options.problem.data);
  command.add_option("-o,--output", options.model_path, "where the model goes (needed)")
      ->type_name("FILE");
  add_lists(command, options);
  add_judgement(command, options);
  add_alternatives(command, options);
  add_outputs(command, options);
  add_problem(command, options.problem);
  add_candidates(command, options);
  add_settings(command, options.settings,
               {"C", "lambda", "norm", "normalise", "parameters", "method", "kernels", "smooth"});
  add_calibrate(command, options.calibration);
  add_seed(command, options.seed);
  add_resources(command, options.problem);
  add_quiet(command, options.output);
  add_json(command, options.output);
}

}  // namespace coterie::app
