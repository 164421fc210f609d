#include "coterie/baseline/method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "coterie/baseline/loss.hpp"
#include "coterie/data/names.hpp"

namespace coterie {

namespace {

// Of penalties: squares of them, and quotients with squares of features, stay numbers.
constexpr double least_strength = 1e-40, most_strength = 1e40;
const std::string powers = "2^-10..2^10";

Parameter positive(const std::string& name, double value, const std::string& help,
                   const std::string& grid = "") {
  return {name,  value, help, "a number from 1e-40 to 1e40", least_strength, most_strength,
          false, grid,  true};
}

Parameter count(const std::string& name, double value, const std::string& help,
                const std::string& grid = "") {
  return {name, value, help, "a whole number from 1 to 1000000", 1, 1e6, true, grid};
}

const Parameter seed = {"seed", 1, "of everything random", "a whole number >= 0", 0, 1e15,
                        true,   ""};

std::vector<Method> make_methods() {
  using Family = Method::Family;
  return {
      {"coterie",
       "kernel weights of tasks drawn together in pairs",
       "the 2015 paper that this program is about",
       Family::kernel,
       true,
       "Every task has its own kernel weights; a sum of distances between all pairs of weight "
       "vectors makes some of them equal. Its options are -C, --lambda, --norm, --normalise and "
       "--task-graph.",
       {}},
      {"stl",
       "every task alone, with its own kernel weights",
       "multiple kernel learning; coterie at lambda = 0",
       Family::kernel,
       true,
       "The main solver at lambda = 0, with its proof.",
       {}},
      {"mtl",
       "one kernel for all tasks",
       "multiple kernel learning; coterie at lambda = inf",
       Family::kernel,
       true,
       "The main solver at lambda = inf, with its proof.",
       {}},
      {"uniform",
       "equal kernel weights, every task alone",
       "a plain reference",
       Family::kernel,
       true,
       "Weights of 1/M are not learnt; one SVM per task.",
       {}},
      {"pooled",
       "one model for the samples of all tasks",
       "a plain reference",
       Family::kernel,
       true,
       "All samples in one task whose kernel weights are learnt; every task gets that model. It "
       "asks that a positive label means the same in all tasks, which pairs of classes do not "
       "grant.",
       {}},
      {"tang",
       "kernel weights with a common and an own part",
       "Tang, Chen and Ye (IJCAI 2009)",
       Family::kernel,
       true,
       "Weights mu + lambda_t, the sum of mu fixed to `share` and that of every lambda_t to the "
       "rest: 0 is stl, 1 is mtl. The constraint set is from memory of the article; with one bound "
       "on both sums together nothing would ever be shared.",
       {{"share", 0.5, "sum of the common weights", "a number between 0 and 1", 0, 1, false,
         "0,0.25,0.5,0.75,1", true}}},
      {"pareto",
       "one kernel for all tasks, hard tasks weighing more or less",
       "Li, Georgiopoulos and Anagnostopoulos (arXiv 1404.3190)",
       Family::kernel,
       false,
       "Minimises the p-norm of the tasks' objectives: p = 1 is mtl, p > 1 favours hard tasks, p "
       "< 1 easy ones. Below 1 the problem is not convex; the answer is a local one, and its gap "
       "is that of the weighted problem at hand. Read from the article's abstract, not its text.",
       {{"power", 2, "p", "a number between 0.01 and 100", 0.01, 100, false, "0.5,1,2,4", true}}},
      {"cmtl",
       "clusters of weight vectors, convex relaxation",
       "Jacob, Bach and Vert (NIPS 2008)",
       Family::linear,
       true,
       "Penalises the mean of all weight vectors (mean), how cluster centres differ from it "
       "(between) and tasks from their centre (within); the unknown clusters are relaxed to a "
       "matrix that is eliminated exactly. The trace constraint and the constants are from memory "
       "of the article. centred = 0 gives the form that MALSAR has (Zhou, Chen and Ye 2011), "
       "whose gradient in that matrix is wrong there; here it is not needed. Clusters are read by "
       "k-means from the leading directions: a reading, not part of the optimum.",
       {positive("lambda", 0.1, "strength of the penalty", powers),
        count("clusters", 2, "number of clusters", "1,2,4,8"),
        positive("mean", 1, "weight of the mean vector"),
        positive("between", 1, "weight of differences between clusters"),
        {"within", 10, "weight of differences within a cluster", "a number from between to 1e40",
         least_strength, most_strength, false, "", true},
        {"centred", 1, "1: differences are from the mean; 0: MALSAR's form, without a mean",
         "0 or 1", 0, 1, true, ""},
        seed}},
      {"whom",
       "groups of tasks, each in a small subspace",
       "Kang, Grauman and Sha (ICML 2011)",
       Family::linear,
       false,
       "A squared trace norm for every group of tasks, and the groups themselves. The article "
       "relaxes groups to shares and descends by gradients from random starts; for given weights "
       "hard groups lose nothing, so groups are searched by moving single tasks, from several "
       "starts, and weights are solved exactly for each. The gap proves the weights optimal for "
       "the groups found; other groups may be better.",
       {positive("lambda", 0.1, "strength of the penalty", powers),
        count("clusters", 2, "number of groups", "1,2,4,8"),
        count("restarts", 10, "starts of the search for groups"), seed}},
      {"flexclus",
       "clusters of tasks, another for every feature",
       "Zhong and Kwok (ICML 2012)",
       Family::linear,
       true,
       "Weights U + V: values of a feature in U are drawn together in pairs and become equal, V "
       "is each task's own. The problem is from memory of the article's abstract. Clusters of "
       "tasks are a summary: tasks that share a value in more than half of the features are "
       "joined.",
       {positive("lambda1", 0.01, "strength with which values of a feature are drawn together",
                 powers),
        positive("lambda2", 0.1, "ridge of the shared part U", "2^-7,2^-3,2"),
        positive("lambda3", 0.1, "ridge of the own part V", "2^-10,2^-7,2^-4,2^-1,2^2")}},
      {"coclus",
       "co-clusters of tasks and features",
       "Xu, Huang, Chen and Chen (AAAI 2015)",
       Family::linear,
       false,
       "Weights P + Q: rows of P are near their mean, Q is near rank `clusters`. The terms are "
       "from memory of summaries. As published, the mean of P and the leading part of Q are free, "
       "and separable data has no optimum: a small ridge is added to both. The problem is not "
       "convex; the answer is a stationary point, and its gap measures how nearly it is one.",
       {count("clusters", 2, "number of co-clusters", "1,2,4,8"),
        positive("lambda1", 0.1, "strength with which P is drawn to its mean", powers),
        positive("lambda2", 0.1, "strength with which Q is drawn to its rank",
                 "2^-10,2^-7,2^-4,2^-1,2^2"),
        positive("ridge", 1e-3, "of P and Q"), seed}},
      {"metag",
       "groups of equal weight vectors",
       "Han and Zhang (AAAI 2015)",
       Family::linear,
       true,
       "Distances between all pairs of weight vectors are penalised, so that some become equal. "
       "The article adds levels, each with its own strength; all levels have the same seminorm, "
       "so the optimum is that of the smallest strength alone: levels > 1 only make lambda that "
       "(tested). Without a ridge separable data has no optimum; a small one is added.",
       {positive("lambda", 0.01, "strength of the penalty, of the first level", powers),
        positive("ridge", 1e-3, "of all weights"),
        count("levels", 1, "number of levels"),
        {"ratio", 2, "strength of a level over that of the next", "a number > 1, at most 1e40",
         1 + 1e-9, most_strength, false, ""}}},
  };
}

std::vector<std::string> names_of(const Method& method) {
  std::vector<std::string> names;
  for (const Parameter& parameter : method.parameters) names.push_back(parameter.name);
  return names;
}

}  // namespace

const std::vector<Method>& methods() {
  static const std::vector<Method> all = make_methods();
  return all;
}

const Method& method_named(const std::string& name) {
  const auto found = std::ranges::find(methods(), name, &Method::name);
  if (found != methods().end()) return *found;
  std::vector<std::string> names;
  for (const Method& method : methods()) names.push_back(method.name);
  throw InputError(
      fmt::format("--method is '{}'; it must be one of {}. `coterie methods` tells of each.", name,
                  fmt::join(names, ", ")));
}

const Parameter& parameter_named(const Method& method, const std::string& name) {
  const auto found = std::ranges::find(method.parameters, name, &Parameter::name);
  if (found != method.parameters.end()) return *found;
  if (method.parameters.empty())
    throw InputError(
        fmt::format("--parameters names '{}', but --method {} has none.", name, method.name));
  throw InputError(
      fmt::format("--parameters names '{}', which --method {} does not have. It has {}.", name,
                  method.name, list_names(names_of(method))));
}

void check_parameter(const Method& method, const Parameter& parameter, double value,
                     const std::string& text) {
  if (value >= parameter.least && value <= parameter.most && std::isfinite(value) &&
      (!parameter.whole || value == std::floor(value)))
    return;
  throw InputError(fmt::format("--parameters: {} of --method {} is '{}'; it must be {}.",
                               parameter.name, method.name, text, parameter.rule));
}

std::vector<std::pair<std::string, std::string>> split_parameters(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> parts;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == word.size())
      throw InputError(fmt::format(
          "--parameters has '{}'; it must be a list such as 'lambda=0.1 clusters=3'.", word));
    const std::string name = word.substr(0, equals);
    if (std::ranges::find(parts, name, &std::pair<std::string, std::string>::first) != parts.end())
      throw InputError(fmt::format("--parameters names '{}' twice.", name));
    parts.emplace_back(name, word.substr(equals + 1));
  }
  return parts;
}

Parameters parameters_of(const TrainSettings& settings) {
  const Method& method = method_named(settings.method);
  Parameters values;
  for (const Parameter& parameter : method.parameters) values[parameter.name] = parameter.value;
  for (const auto& [name, text] : split_parameters(settings.parameters)) {
    const Parameter& parameter = parameter_named(method, name);
    double value = 0;
    const bool power = text.starts_with("2^");  // as `select` prints them
    const char* last = text.data() + text.size();
    const auto [end, problem] = std::from_chars(text.data() + (power ? 2 : 0), last, value);
    if (problem != std::errc{} || end != last) value = std::numeric_limits<double>::quiet_NaN();
    if (power) value = std::exp2(value);
    check_parameter(method, parameter, value, text);
    values[name] = value;
  }
  return values;
}

MapChoice parse_map(const std::string& text) {
  if (text == "none") return {};
  MapChoice choice{true, 300};
  if (text == "kernels") return choice;
  const std::string_view prefix = "kernels:";
  if (text.starts_with(prefix)) {
    const char* end = text.data() + text.size();
    const auto [at, problem] = std::from_chars(text.data() + prefix.size(), end, choice.rank);
    if (problem == std::errc{} && at == end && choice.rank >= 1) return choice;
  }
  throw InputError(fmt::format(
      "map is '{}'; it must be 'none', or 'kernels[:rank]' with a whole rank >= 1.", text));
}

void validate_method(const TrainSettings& settings) {
  validate(settings);
  parameters_of(settings);
  if (!loss_from(settings.loss))
    throw InputError(fmt::format(
        "loss is '{}'; it must be 'squared-hinge', 'logistic' or 'square'.", settings.loss));
  parse_map(settings.map);
}

std::string usual_scale(const TrainSettings& settings) {
  const bool linear = method_named(settings.method).family == Method::Family::linear;
  return linear && settings.map == "none" ? "standard" : "none";
}

bool is_convex(const TrainSettings& settings) {
  if (settings.method == "pareto") return parameters_of(settings).at("power") >= 1;
  return method_named(settings.method).convex;
}

std::string parameters_text(const Parameters& parameters) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : parameters) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace coterie
