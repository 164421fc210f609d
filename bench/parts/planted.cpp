// Which method finds which planted structure (data/planted_weights.hpp), and what that is worth on fresh rows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "coterie/baseline/plain.hpp"
#include "coterie/data/planted_weights.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/model/train.hpp"
#include "coterie/stats/partitions.hpp"
#include "parts.hpp"

namespace coterie::bench {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
const std::vector<std::uint64_t> choosing_seeds = {101, 102, 103},
                                 test_seeds = {11, 12, 13, 14, 15};
constexpr Index fresh_rows = 200;  // per task

// The data, neither so easy that every method finds the groups, nor hopeless.
struct Plan {
  std::string name;
  PlantedWeightsSettings settings;
};
const std::vector<Plan> plans = {
    {"equal weights", {Structure::weights, 12, 3, 1000, 8, 0, 0.05}},
    {"weights", {Structure::weights, 12, 3, 200, 8, 0.1, 0.05}},
    {"weights, few rows", {Structure::weights, 12, 3, 40, 20, 0.5, 0.1}},
    {"features", {Structure::features, 12, 3, 200, 10, 0.1, 0.05}},
    {"coclusters", {Structure::coclusters, 12, 3, 100, 21, 0.5, 0.05}},
    {"subspaces", {Structure::subspaces, 18, 3, 60, 12, 0.1, 0.05}},
};

// Rows to train on and fresh ones, of the same tasks.
struct Planting {
  PlantedWeights truth;
  Dataset train, fresh;
};

Planting plant(PlantedWeightsSettings settings, std::uint64_t seed) {
  const Index n = settings.samples;
  settings.samples += fresh_rows;
  settings.seed = seed;
  Planting planting;
  planting.truth = plant_weights(settings);
  const Dataset all = cast_into_tasks(planting.truth.samples, Casting::binary);
  std::vector<Index> first(static_cast<std::size_t>(n)), rest(fresh_rows);
  std::iota(first.begin(), first.end(), Index{0});
  std::iota(rest.begin(), rest.end(), n);
  planting.train = subset(all, std::vector(all.tasks.size(), first));
  planting.fresh = subset(all, std::vector(all.tasks.size(), rest));
  return planting;
}

// A method, and the settings among which it chooses.
struct Contestant {
  std::string name;
  std::vector<Settings> settings = {};
  std::vector<Structure> suits = {};
  bool pooled = false;  // one task with all rows, without groups
};

std::vector<double> powers(int first, int last, int step) {
  std::vector<double> values;
  for (int power = first; power <= last; power += step) values.push_back(std::exp2(power));
  std::ranges::reverse(values);  // strong first: of equals the simpler is chosen
  return values;
}

Settings linear(const MethodRef& method, const Parameters& parameters) {
  Settings settings;
  settings.method = method;
  settings.parameters = parameters;
  settings.scale = Scale::none;  // planted features have one scale
  return settings;
}

// One linear kernel for every feature, so that tasks with the same features need the same weights.
std::string kernel_per_feature(Index features) {
  std::string text;
  for (Index j = 1; j <= features; ++j) text += fmt::format("linear:raw@f{} ", j);
  return text;
}

Contestant kernel_per_feature_contestant(const PlantedWeightsSettings& plan) {
  Contestant coterie{"coterie, a kernel per feature", {}, {Structure::coclusters}};
  for (const char* lambda : {"1max", "0.6max", "0.4max", "0.2max", "0.1max", "0.05max", "0"})
    for (const double C : powers(-6, 4, 2)) {
      Settings settings;
      settings.C = C;
      settings.lambda = lambda;
      settings.kernels = kernel_per_feature(plan.features);
      coterie.settings.push_back(settings);
    }
  return coterie;
}

std::vector<Contestant> contestants_for(const PlantedWeightsSettings& plan) {
  const std::vector<double> strengths = powers(-10, 2, 1);
  const auto clusters = static_cast<double>(plan.clusters);
  std::vector<Contestant> all;
  // cmtl with equal weights of all differences is a ridge; its groups are then k-means on the leading directions of the weights.
  Contestant ridge{"ridge, every task alone"};
  Contestant pooled{.name = "ridge, one model for all", .pooled = true};
  for (const double s : powers(-10, 4, 1)) {
    const auto equal = [&](double count) {
      return linear(
          "cmtl", {{"lambda", s}, {"mean", 1}, {"between", 1}, {"within", 1}, {"clusters", count}});
    };
    ridge.settings.push_back(equal(clusters));
    pooled.settings.push_back(equal(1));
  }
  all.push_back(ridge);
  all.push_back(pooled);

  Contestant cmtl{"cmtl", {}, {Structure::weights}};
  for (const double s : strengths)
    for (const double within : {10, 100})
      cmtl.settings.push_back(
          linear("cmtl", {{"lambda", s}, {"within", within}, {"clusters", clusters}}));
  all.push_back(cmtl);

  Contestant metag{"metag", {}, {Structure::weights}};
  for (double power = -1; power >= -14; power -= 0.5)  // fusions come all at once: a fine grid
    for (const double ridge_strength : {1e-1, 1e-2, 1e-3})
      metag.settings.push_back(
          linear("metag", {{"lambda", std::exp2(power)}, {"ridge", ridge_strength}}));
  all.push_back(metag);

  Contestant flexclus{"flexclus", {}, {Structure::features}};
  for (const double s : strengths)
    for (const double own : powers(-7, 2, 3))
      for (const double shared : {1e-1, 1e-2, 1e-3})
        flexclus.settings.push_back(
            linear("flexclus", {{"lambda1", s / 16}, {"lambda2", shared}, {"lambda3", own}}));
  all.push_back(flexclus);

  Contestant coclus{"coclus", {}, {Structure::coclusters}};
  for (const double s : powers(-9, 3, 3))
    for (const double rank : powers(-7, 2, 3))
      for (const double ridge_strength : {1e-1, 1e-2, 1e-3})
        coclus.settings.push_back(linear("coclus", {{"lambda1", s},
                                                    {"lambda2", rank},
                                                    {"ridge", ridge_strength},
                                                    {"clusters", clusters}}));
  all.push_back(coclus);

  Contestant whom{"whom", {}, {Structure::subspaces}};
  for (const double s : strengths)
    whom.settings.push_back(linear("whom", {{"lambda", s}, {"clusters", clusters}}));
  all.push_back(whom);

  all.push_back(kernel_per_feature_contestant(plan));
  return all;
}

std::vector<Index> labels_of(const Groups& groups, Index tasks) {
  std::vector<Index> label(static_cast<std::size_t>(tasks), -1);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const Index t : groups[g]) label[static_cast<std::size_t>(t)] = static_cast<Index>(g);
  return label;
}

// Equal values have equal labels.
std::vector<Index> labels_of(const Vector& values) {
  std::vector<Index> order(static_cast<std::size_t>(values.size())), label(order.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, {}, [&](Index t) { return values[t]; });
  const double same = 1e-9 * values.cwiseAbs().maxCoeff();
  Index group = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && values[order[i]] - values[order[i - 1]] > same) ++group;
    label[static_cast<std::size_t>(order[i])] = group;
  }
  return label;
}

// How well the groups of a model agree with the truth; per feature where that is the truth, if the model has such groups.
double index_of(const Model& model, const PlantedWeights& truth) {
  const Index T = std::ssize(model.tasks);
  if (truth.of_feature.empty())
    return adjusted_rand_index(labels_of(model.groups(), T), truth.cluster);
  if (model.settings.method != "flexclus") return undefined;
  double sum = 0;
  for (std::size_t j = 0; j < truth.of_feature.size(); ++j) {
    Vector values(T);
    for (Index t = 0; t < T; ++t)
      values[t] = model.tasks[static_cast<std::size_t>(t)].shared[static_cast<Index>(j)];
    sum += adjusted_rand_index(labels_of(values), truth.of_feature[j]);
  }
  return sum / static_cast<double>(truth.of_feature.size());
}

struct Score {
  double accuracy = 0, index = undefined;
};

double agreement(const Vector& f, const Vector& y) {
  return (f.array() * y.array() > 0).cast<double>().mean();
}

Score score(const Contestant& contestant, const Settings& settings, const Planting& planting) {
  const Dataset& train = planting.train;
  const MethodProblem problem =
      prepare_method(contestant.pooled ? pool_tasks(train) : train, settings, {}, 1);
  const Model model = make_model(problem, settings, fit_method(problem, settings, 1), "");
  Score out;
  const Index T = std::ssize(train.tasks);
  for (Index t = 0; t < T; ++t) {
    const Task& task = planting.fresh.tasks[static_cast<std::size_t>(t)];
    const Matrix X = planting.fresh.X(task.rows, Eigen::all);
    out.accuracy += agreement(decision_values(model, contestant.pooled ? 0 : t, X), task.y);
  }
  out.accuracy /= static_cast<double>(T);
  if (!contestant.pooled) out.index = index_of(model, planting.truth);
  return out;
}

double truth_accuracy(const Planting& planting) {
  double sum = 0;
  const auto T = static_cast<double>(planting.fresh.tasks.size());
  for (std::size_t t = 0; t < planting.fresh.tasks.size(); ++t) {
    const Task& task = planting.fresh.tasks[t];
    const Vector w = planting.truth.W.row(static_cast<Index>(t));
    sum += agreement(planting.fresh.X(task.rows, Eigen::all) * w, task.y) / T;
  }
  return sum;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double error_of(const std::vector<double>& values) {
  const double mean = mean_of(values), n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1) / n);
}

// Scores of [settings][seed].
std::vector<std::vector<Score>> scores_of(const Contestant& contestant,
                                          const std::vector<Settings>& settings,
                                          const std::vector<Planting>& plantings) {
  const Index P = std::ssize(plantings);
  std::vector<std::vector<Score>> scores(settings.size(), std::vector<Score>(plantings.size()));
  parallel_for(std::ssize(settings) * P, 0, [&](Index item) {
    const auto k = static_cast<std::size_t>(item / P), s = static_cast<std::size_t>(item % P);
    scores[k][s] = score(contestant, settings[k], plantings[s]);
  });
  return scores;
}

std::vector<double> column(const std::vector<Score>& scores, double Score::*member) {
  std::vector<double> values;
  for (const Score& one : scores) values.push_back(one.*member);
  return values;
}

// The settings with the largest mean over the seeds; of equals the first.
std::size_t best_by(const std::vector<std::vector<Score>>& scores, double Score::*member) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < scores.size(); ++k)
    if (mean_of(column(scores[k], member)) > mean_of(column(scores[best], member)) + 1e-12)
      best = k;
  return best;
}

std::string in_words(const Settings& settings) {
  if (settings.method->is_main())
    return fmt::format("C={:.4g} lambda={}", settings.C, text_of(settings.lambda));
  std::string text;
  for (const auto& [name, value] : settings.parameters)
    text += fmt::format("{}{}={:.3g}", text.empty() ? "" : " ", name, value);
  return text;
}

struct Outcome {
  std::string chosen, chosen_for_index;
  std::vector<Score> by_accuracy, by_index;  // [test seed]
};

Outcome run_contestant(const Contestant& contestant, const std::vector<Planting>& choosing,
                       const std::vector<Planting>& test) {
  const std::vector<std::vector<Score>> scores =
      scores_of(contestant, contestant.settings, choosing);
  const Settings& a = contestant.settings[best_by(scores, &Score::accuracy)];
  const Settings& i = contestant.settings[best_by(scores, &Score::index)];
  const std::vector<std::vector<Score>> tested = scores_of(contestant, {a, i}, test);
  return {in_words(a), in_words(i), tested[0], tested[1]};
}

std::string shown(const std::vector<double>& values, double factor, int digits) {
  if (std::isnan(values.front())) return "";
  return fmt::format("{:.{}f} ± {:.{}f}", factor * mean_of(values), digits,
                     factor * error_of(values), digits);
}

// Into the row of the method, under the structure's name.
void put(Report& report, const std::string& method, const std::string& structure,
         const std::string& cell) {
  const auto found =
      std::ranges::find_if(report.rows, [&](const Row& row) { return row.at("method") == method; });
  if (found != report.rows.end())
    (*found)[structure] = cell;
  else
    report.rows.push_back({{"method", method}, {structure, cell}});
}

// A method on the structure that it is made for.
Row row_of(const std::string& name, const std::string& method, const Outcome& outcome) {
  const std::vector<double> found = column(outcome.by_accuracy, &Score::index);
  const std::vector<double> found_best = column(outcome.by_index, &Score::index);
  Row row = {{"structure", name}, {"method", method}, {"parameters", outcome.chosen}};
  for (std::size_t s = 0; s < found.size(); ++s)
    row[fmt::format("seed {}", test_seeds[s])] = fmt::format("{:.2f}", found[s]);
  const auto accuracy_of = [](const std::vector<Score>& scores) {
    return fmt::format("{:.1f}", 100 * mean_of(column(scores, &Score::accuracy)));
  };
  row["mean"] = fmt::format("{:.2f}", mean_of(found));
  row["accuracy"] = accuracy_of(outcome.by_accuracy);
  row["chosen for it"] = fmt::format("{:.2f}", mean_of(found_best));
  row["accuracy then"] = accuracy_of(outcome.by_index);
  row["those parameters"] = outcome.chosen_for_index;
  return row;
}

}  // namespace

std::vector<Report> part_planted(const Options& options) {
  const std::string how = fmt::format(
      "parameters are the same for the {} seeds of a structure, chosen on {} other seeds by the "
      "accuracy on {} fresh rows per task; methods that need the number of groups are told it",
      test_seeds.size(), choosing_seeds.size(), fresh_rows);
  Report pairs{"planted",
               fmt::format("adjusted Rand index between the groups that a method finds and those "
                           "planted, where the structure is the one it is made for; {}; 'chosen "
                           "for it': parameters chosen on those other seeds by the index itself",
                           how)};
  Report index{"planted-index",
               fmt::format("the same index for every method and structure, mean and standard error "
                           "over seeds; on features the truth is per feature, which only flexclus "
                           "speaks of; groups of the ridge are read as those of cmtl, by k-means "
                           "on the leading directions of the weights; {}",
                           how)};
  Report best{"planted-index-chosen-for-it",
              "the same with parameters chosen on the other seeds by the index"};
  Report accuracy{"planted-accuracy",
                  "accuracy on fresh rows in per cent, mean over tasks, with standard error over "
                  "seeds; parameters as in planted-index"};
  for (const Plan& one : plans) {
    const std::string& name = one.name;
    const PlantedWeightsSettings& plan = one.settings;
    if (name.find(options.only) == std::string::npos) continue;
    pairs.notes.push_back(fmt::format(
        "{}: {} tasks, {} groups, {} rows per task, {} features, deviation {}, {:.0f} % of labels "
        "turned over",
        name, plan.tasks, plan.clusters, plan.samples, plan.features, plan.deviation,
        100 * plan.noise));
    std::vector<Planting> choosing, test;
    for (const std::uint64_t seed : choosing_seeds) choosing.push_back(plant(plan, seed));
    for (const std::uint64_t seed : test_seeds) test.push_back(plant(plan, seed));
    const std::vector<Contestant> contestants = contestants_for(plan);
    std::vector<double> truth;
    for (const Planting& planting : test) truth.push_back(truth_accuracy(planting));

    for (const Contestant& contestant : contestants) {
      say(fmt::format("planted: {}, {}", name, contestant.name));
      const Outcome outcome = run_contestant(contestant, choosing, test);
      const std::vector<double> found = column(outcome.by_accuracy, &Score::index);
      const std::vector<double> found_best = column(outcome.by_index, &Score::index);
      put(accuracy, contestant.name, name,
          shown(column(outcome.by_accuracy, &Score::accuracy), 100, 1));
      if (contestant.pooled) continue;
      put(index, contestant.name, name, shown(found, 1, 2));
      put(best, contestant.name, name, shown(found_best, 1, 2));
      if (std::ranges::find(contestant.suits, plan.structure) == contestant.suits.end()) continue;
      pairs.rows.push_back(row_of(name, contestant.name, outcome));
    }
    put(accuracy, "the true weights", name, shown(truth, 100, 1));
  }
  return {pairs, index, best, accuracy};
}

}  // namespace coterie::bench
