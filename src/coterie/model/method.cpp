#include "coterie/model/method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "coterie/baseline/cmtl.hpp"
#include "coterie/baseline/coclus.hpp"
#include "coterie/baseline/flexclus.hpp"
#include "coterie/baseline/metag.hpp"
#include "coterie/baseline/pareto.hpp"
#include "coterie/baseline/plain.hpp"
#include "coterie/baseline/tang.hpp"
#include "coterie/baseline/whom.hpp"
#include "coterie/data/names.hpp"
#include "coterie/model/verify_linear.hpp"
#include "coterie/model/verify_method.hpp"

namespace coterie {

namespace {

// Of penalties: squares of them, and quotients with squares of features, stay numbers.
constexpr double least_strength = 1e-40, most_strength = 1e40;
constexpr const char* powers = "2^-10..2^10";
constexpr auto linear_family = Method::Family::linear;

Parameter positive(const std::string& name, double value, const std::string& help,
                   const std::string& grid = "") {
  return {name,  value, help, "a number from 1e-40 to 1e40", least_strength, most_strength,
          false, grid,  true};
}

Parameter count(const std::string& name, double value, const std::string& help,
                const std::string& grid = "") {
  return {name, value, help, "a whole number from 1 to 1000000", 1, 1e6, true, grid};
}

Parameter seed() {
  return {"seed", 1, "of everything random", "a whole number >= 0", 0, 1e15, true, ""};
}

bool never(const Parameters&) { return false; }

Index whole(const Parameters& p, const char* name) { return static_cast<Index>(p.at(name)); }

Method main_method() {
  return {
      .name = "coterie",
      .title = "kernel weights of tasks drawn together in pairs",
      .source = "the 2015 paper that this program is about",
      .about =
          "Every task has its own kernel weights; a sum of distances between all pairs of weight "
          "vectors makes some of them equal. Its settings are C, lambda, norm, normalise and the "
          "task "
          "graph.",
      .joint = true,
      .verify = verify_joint};
}

Method stl() {
  return {.name = "stl",
          .title = "every task alone, with its own kernel weights",
          .source = "multiple kernel learning; coterie at lambda = 0",
          .about = "The main solver at lambda = 0, with its certificate.",
          .lambda = 0,
          .joint = true,
          .verify = verify_joint};
}

Method mtl() {
  return {.name = "mtl",
          .title = "one kernel for all tasks",
          .source = "multiple kernel learning; coterie at lambda = inf",
          .about = "The main solver at lambda = inf, with its certificate.",
          .lambda = Lambda::infinite(),
          .joint = true,
          .verify = verify_joint};
}

Method uniform() {
  return {.name = "uniform",
          .title = "equal kernel weights, every task alone",
          .source = "a plain reference",
          .about = "Weights of 1/M are not learnt; one SVM per task.",
          .lambda = 0,
          .fit_kernel =
              [](const MtmklProblem& problem, const Parameters&, const FitSettings& how,
                 const ProgressCallback& progress,
                 const WarmStart& start) { return fit_uniform(problem, how, progress, start); },
          .verify = verify_uniform};
}

Method pooled() {
  return {
      .name = "pooled",
      .title = "one model for the samples of all tasks",
      .source = "a plain reference",
      .about =
          "All samples in one task whose kernel weights are learnt; every task gets that model. It "
          "asks that a positive label means the same in all tasks, which pairs of classes do not "
          "grant.",
      .lambda = 0,
      .joint = true,
      .pools = true,
      .verify = verify_pooled};
}

Method joint() {
  return {
      .name = "joint",
      .title = "one SVM of a part that tasks share and a part of each",
      .source = "Evgeniou and Pontil (KDD 2004)",
      .about =
          "Every task has f_t = f_0 + g_t and the bias that all share, in one SVM over the samples "
          "of all tasks: kernel values between samples of different tasks count 1 - own times. "
          "Kernel weights are learnt, the same for both parts; own = 0 is pooled. Like pooled it "
          "asks that a positive label means the same in all tasks.",
      .parameters = {{"own", 0.3, "share of a task's own part in its kernel",
                      "a number between 0 and 1", 0, 1, false, "0,0.2,0.5", false}},
      .lambda = 0,
      .joint = true,
      .pools = true,
      .own_part = [](const Parameters& p) { return p.at("own"); },
      .verify = verify_own_parts};
}

Method groups() {
  return {
      .name = "groups",
      .title = "groups of tasks with one model each",
      .source = "alternation, as in clusterwise regression (Spaeth 1979)",
      .about =
          "All samples of a group in one task whose kernel weights are learnt; every task of the "
          "group gets that model. Groups are found by alternation from random starts: a task moves "
          "to the group whose model, trained without it, has the smallest loss on it; or they are "
          "tasks whose samples look alike (restarts = 0). A task that "
          "every model suits worse than none is left alone, so there may be fewer groups than "
          "asked for. The gap certifies the models for the groups found; other groups may be "
          "better. Like pooled it asks that a positive label means the same in all tasks.",
      .parameters = {count("clusters", 2, "number of groups, at most", "1,2,3,4"),
                     {"restarts", 5,
                      "starts of the search for groups; 0: no search, groups are tasks whose "
                      "samples look alike, whatever their labels",
                      "a whole number from 0 to 1000000", 0, 1e6, true, "0,5"},
                     {"blocks", 5,
                      "a task is judged by models without its block, of so many blocks of tasks",
                      "a whole number from 2 to 1000000", 2, 1e6, true, ""},
                     seed()},
      .lambda = 0,
      .joint = true,
      .pools = true,
      .search_groups =
          [](const Parameters& p) {
            return GroupSearch{whole(p, "clusters"), whole(p, "restarts"), whole(p, "blocks"),
                               static_cast<std::uint64_t>(p.at("seed"))};
          },
      .convex = [](const Parameters& p) { return p.at("clusters") == 1; },
      .verify = verify_pooled};
}

Method tang() {
  return {
      .name = "tang",
      .title = "kernel weights with a common and an own part",
      .source = "Tang, Chen and Ye (IJCAI 2009)",
      .about =
          "Weights mu + lambda_t, the sum of mu fixed to `share` and that of every lambda_t to the "
          "rest: 0 is stl, 1 is mtl. The constraint set is from memory of the article; with one "
          "bound "
          "on both sums together nothing would ever be shared.",
      .parameters = {{"share", 0.5, "sum of the common weights", "a number between 0 and 1", 0, 1,
                      false, "0,0.25,0.5,0.75,1", true}},
      .lambda = 0,
      .fit_kernel =
          [](const MtmklProblem& problem, const Parameters& p, const FitSettings& how,
             const ProgressCallback& progress, const WarmStart& start) {
            return fit_tang(problem, p.at("share"), how, progress, start);
          },
      .verify = verify_tang};
}

Method pareto() {
  return {.name = "pareto",
          .title = "one kernel for all tasks, hard tasks weighing more or less",
          .source = "Li, Georgiopoulos and Anagnostopoulos (arXiv 1404.3190)",
          .about =
              "Minimises the p-norm of the tasks' objectives: p = 1 is mtl, p > 1 favours hard "
              "tasks, p "
              "< 1 easy ones. Below 1 the problem is not convex; the answer is a local one, and "
              "its gap "
              "is that of the weighted problem at hand. Read from the article's abstract, not its "
              "text.",
          .parameters = {{"power", 2, "p", "a number between 0.01 and 100", 0.01, 100, false,
                          "0.5,1,2,4", true}},
          .lambda = Lambda::infinite(),
          .fit_kernel =
              [](const MtmklProblem& problem, const Parameters& p, const FitSettings& how,
                 const ProgressCallback& progress, const WarmStart& start) {
                return fit_pareto(problem, p.at("power"), how, progress, start);
              },
          .convex = [](const Parameters& p) { return p.at("power") >= 1; },
          .verify = verify_pareto};
}

Method cmtl() {
  return {
      .name = "cmtl",
      .title = "clusters of weight vectors, convex relaxation",
      .source = "Jacob, Bach and Vert (NIPS 2008)",
      .about =
          "Penalises the mean of all weight vectors (mean), how cluster centres differ from it "
          "(between) and tasks from their centre (within); the unknown clusters are relaxed to a "
          "matrix that is eliminated exactly. The trace constraint and the constants are from "
          "memory "
          "of the article. centred = 0 gives the form that MALSAR has (Zhou, Chen and Ye 2011), "
          "whose gradient in that matrix is wrong there; here it is not needed. Clusters are read "
          "by "
          "k-means from the leading directions: a reading, not part of the optimum.",
      .family = linear_family,
      .parameters = {positive("lambda", 0.1, "strength of the penalty", powers),
                     count("clusters", 2, "number of clusters", "1,2,4,8"),
                     positive("mean", 1, "weight of the mean vector"),
                     positive("between", 1, "weight of differences between clusters"),
                     {"within", 10, "weight of differences within a cluster",
                      "a number from between to 1e40", least_strength, most_strength, false, "",
                      true},
                     {"centred", 1,
                      "1: differences are from the mean; 0: MALSAR's form, without a mean",
                      "0 or 1", 0, 1, true, ""},
                     seed()},
      .fit_linear =
          [](const LinearProblem& problem, const Parameters& p, const LinearSettings& how,
             const LinearStart& start, const ProgressCallback& progress) {
            return fit_cmtl(problem,
                            {p.at("lambda"), whole(p, "clusters"), p.at("mean"), p.at("between"),
                             p.at("within"), p.at("centred") != 0, whole(p, "seed")},
                            how, start, progress);
          },
      .verify = verify_cmtl};
}

Method whom() {
  return {
      .name = "whom",
      .title = "groups of tasks, each in a small subspace",
      .source = "Kang, Grauman and Sha (ICML 2011)",
      .about =
          "A squared trace norm for every group of tasks, and the groups themselves. The article "
          "relaxes groups to shares and descends by gradients from random starts; for given "
          "weights "
          "hard groups lose nothing, so groups are searched by moving single tasks, from several "
          "starts, and weights are solved exactly for each. The gap certifies the weights for "
          "the groups found; other groups may be better.",
      .family = linear_family,
      .parameters = {positive("lambda", 0.1, "strength of the penalty", powers),
                     count("clusters", 2, "number of groups", "1,2,4,8"),
                     count("restarts", 10, "starts of the search for groups"), seed()},
      .fit_linear =
          [](const LinearProblem& problem, const Parameters& p, const LinearSettings& how,
             const LinearStart& start, const ProgressCallback& progress) {
            return fit_whom(
                problem,
                {p.at("lambda"), whole(p, "clusters"), whole(p, "restarts"), whole(p, "seed")}, how,
                start, progress);
          },
      .convex = never,
      .verify = verify_whom};
}

Method flexclus() {
  return {
      .name = "flexclus",
      .title = "clusters of tasks, another for every feature",
      .source = "Zhong and Kwok (ICML 2012)",
      .about =
          "Weights U + V: values of a feature in U are drawn together in pairs and become equal, V "
          "is each task's own. The problem is from memory of the article's abstract. Clusters of "
          "tasks are a summary: tasks that share a value in more than half of the features are "
          "joined.",
      .family = linear_family,
      .parameters = {positive("lambda1", 0.01,
                              "strength with which values of a feature are drawn together", powers),
                     positive("lambda2", 0.1, "ridge of the shared part U", "2^-7,2^-3,2"),
                     positive("lambda3", 0.1, "ridge of the own part V",
                              "2^-10,2^-7,2^-4,2^-1,2^2")},
      .fit_linear =
          [](const LinearProblem& problem, const Parameters& p, const LinearSettings& how,
             const LinearStart& start, const ProgressCallback& progress) {
            return fit_flexclus(problem, {p.at("lambda1"), p.at("lambda2"), p.at("lambda3")}, how,
                                start, progress);
          },
      .has_shared = true,
      .verify = verify_flexclus};
}

Method coclus() {
  return {
      .name = "coclus",
      .title = "co-clusters of tasks and features",
      .source = "Xu, Huang, Chen and Chen (AAAI 2015)",
      .about =
          "Weights P + Q: rows of P are near their mean, Q is near rank `clusters`. The terms are "
          "from memory of summaries. As published, the mean of P and the leading part of Q are "
          "free, "
          "and separable data has no optimum: a small ridge is added to both. The problem is not "
          "convex; the answer is a stationary point, and its gap measures how nearly it is one.",
      .family = linear_family,
      .parameters = {count("clusters", 2, "number of co-clusters", "1,2,4,8"),
                     positive("lambda1", 0.1, "strength with which P is drawn to its mean", powers),
                     positive("lambda2", 0.1, "strength with which Q is drawn to its rank",
                              "2^-10,2^-7,2^-4,2^-1,2^2"),
                     positive("ridge", 1e-3, "of P and Q"), seed()},
      .fit_linear =
          [](const LinearProblem& problem, const Parameters& p, const LinearSettings& how,
             const LinearStart& start, const ProgressCallback& progress) {
            return fit_coclus(problem,
                              {whole(p, "clusters"), p.at("lambda1"), p.at("lambda2"),
                               p.at("ridge"), whole(p, "seed")},
                              how, start, progress);
          },
      .has_shared = true,
      .clusters_features = true,
      .convex = never,
      .verify = verify_coclus};
}

Method metag() {
  return {
      .name = "metag",
      .title = "groups of equal weight vectors",
      .source = "Han and Zhang (AAAI 2015)",
      .about =
          "Distances between all pairs of weight vectors are penalised, so that some become equal. "
          "The article adds levels, each with its own strength; all levels have the same seminorm, "
          "so the optimum is that of the smallest strength alone: levels > 1 only make lambda that "
          "(tested). Without a ridge separable data has no optimum; a small one is added.",
      .family = linear_family,
      .parameters = {positive("lambda", 0.01, "strength of the penalty, of the first level",
                              powers),
                     positive("ridge", 1e-3, "of all weights"),
                     count("levels", 1, "number of levels"),
                     {"ratio", 2, "strength of a level over that of the next",
                      "a number > 1, at most 1e40", 1 + 1e-9, most_strength, false, ""}},
      .fit_linear =
          [](const LinearProblem& problem, const Parameters& p, const LinearSettings& how,
             const LinearStart& start, const ProgressCallback& progress) {
            return fit_metag(problem,
                             {p.at("lambda"), p.at("ridge"), whole(p, "levels"), p.at("ratio")},
                             how, start, progress);
          },
      .has_pairs = true,
      .exact_groups = true,
      .verify = verify_metag};
}

std::vector<std::string> names_of(const Method& method) {
  std::vector<std::string> names;
  for (const Parameter& parameter : method.parameters) names.push_back(parameter.name);
  return names;
}

}  // namespace

const std::vector<Method>& methods() {
  static const std::vector<Method> all = {main_method(), stl(),      mtl(),    uniform(), pooled(),
                                          groups(),      joint(),    tang(),   pareto(),  cmtl(),
                                          whom(),        flexclus(), coclus(), metag()};
  return all;
}

MethodRef::MethodRef() : method_(&methods().front()) {}

const Method& MethodRef::find(std::string_view name) {
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    if (method.name == name) return method;
    names.push_back(method.name);
  }
  throw InputError(
      fmt::format("`method` is '{}'; it must be one of {}. `coterie methods` describes each.", name,
                  fmt::join(names, ", ")));
}

const Parameter& parameter_named(const Method& method, const std::string& name) {
  const auto found = std::ranges::find(method.parameters, name, &Parameter::name);
  if (found != method.parameters.end()) return *found;
  if (method.parameters.empty())
    throw InputError(
        fmt::format("`parameters` names '{}', but `method` {} has none.", name, method.name));
  throw InputError(
      fmt::format("`parameters` names '{}', which `method` {} does not have. It has {}.", name,
                  method.name, list_names(names_of(method))));
}

void check_parameter(const Method& method, const Parameter& parameter, double value,
                     const std::string& text) {
  if (value >= parameter.least && value <= parameter.most && std::isfinite(value) &&
      (!parameter.whole || value == std::floor(value)))
    return;
  throw InputError(fmt::format("`parameters`: {} of `method` {} is '{}'; it must be {}.",
                               parameter.name, method.name, text, parameter.rule));
}

std::vector<std::pair<std::string, std::string>> split_parameters(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> parts;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == word.size())
      throw InputError(fmt::format(
          "`parameters` has '{}'; it must be a list such as 'lambda=0.1 clusters=3'.", word));
    const std::string name = word.substr(0, equals);
    if (std::ranges::find(parts, name, &std::pair<std::string, std::string>::first) != parts.end())
      throw InputError(fmt::format("`parameters` names '{}' twice.", name));
    parts.emplace_back(name, word.substr(equals + 1));
  }
  return parts;
}

std::string Method::shared_in_group() const {
  if (!pools) return "one kernel";
  return own_part ? "one kernel and a part of their classifiers" : "one classifier";
}

}  // namespace coterie
