#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "coterie/model/method.hpp"
#include "coterie/mtmkl/group_list.hpp"
#include "coterie/page/views.hpp"
#include "coterie/report/dendrogram.hpp"

namespace coterie::page {
namespace {

// Which weights are shown: all, or of many the largest and, of kernels, the sum of the others.
struct ShownWeights {
  std::vector<Index> columns;
  std::vector<std::string> names;
  bool rest = false;
  Index all = 0;

  ShownWeights(const std::vector<std::string>& every, const Vector& largest, bool sums)
      : columns(every.size()), all(std::ssize(every)) {
    std::iota(columns.begin(), columns.end(), Index{0});
    if (all > kPageLimits.kernels) {
      std::ranges::stable_sort(columns, std::greater(), [&](Index m) { return largest[m]; });
      columns.resize(static_cast<std::size_t>(kPageLimits.kept_kernels));
      std::ranges::sort(columns);
      rest = sums;
    }
    for (const Index m : columns) names.push_back(every[static_cast<std::size_t>(m)]);
    if (rest) names.push_back(fmt::format("{} others", all - std::ssize(columns)));
  }
  Matrix of(const Matrix& weights) const {
    const Index kept = std::ssize(columns);
    Matrix out(weights.rows(), kept + (rest ? 1 : 0));
    out.leftCols(kept) = weights(Eigen::all, columns);
    if (rest) out.rightCols(1) = weights.rowwise().sum() - out.leftCols(kept).rowwise().sum();
    return out;
  }
};

// Rows without repetition: tasks of a group have the same weights, bit for bit.
struct DistinctRows {
  std::vector<Index> row_of;  // of every task
  std::vector<Index> task;    // that has it first, of every row

  explicit DistinctRows(const Matrix& weights) {
    std::map<std::vector<double>, Index> known;
    for (Index t = 0; t < weights.rows(); ++t) {
      const Vector one = weights.row(t);
      const auto [place, fresh] =
          known.try_emplace(std::vector<double>(one.begin(), one.end()), std::ssize(task));
      if (fresh) task.push_back(t);
      row_of.push_back(place->second);
    }
  }
};

// Where the weights are spread out most: the plane of the map. Tasks count alike at every point.
Json json_map(const std::vector<Matrix>& weights) {
  const Index K = weights.front().cols();
  if (K == 0) return nullptr;
  double count = 0;
  Vector centre = Vector::Zero(K);
  for (const Matrix& of_point : weights) {
    centre += of_point.colwise().sum().transpose();
    count += static_cast<double>(of_point.rows());
  }
  centre /= count;
  Matrix spread = Matrix::Zero(K, K);
  for (const Matrix& of_point : weights) {
    const Matrix off = of_point.rowwise() - centre.transpose();
    spread += off.transpose() * off;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved{Eigen::MatrixXd(spread)};
  Json out = {
      {"centre", numbers(centre)}, {"axes", Json::array()}, {"share_of_spread", Json::array()}};
  const double total = std::max(spread.trace(), 0.0);
  for (Index k = 0; k < 2; ++k) {
    Vector axis = Vector::Zero(K);
    double share = 0;
    if (k < K) {
      axis = solved.eigenvectors().col(K - 1 - k);
      Index largest = 0;
      axis.cwiseAbs().maxCoeff(&largest);
      if (axis[largest] < 0) axis = -axis;
      share = total > 0 ? std::max(solved.eigenvalues()[K - 1 - k], 0.0) / total : 0;
    }
    out["axes"].push_back(numbers(axis));
    out["share_of_spread"].push_back(share);
  }
  return out;
}

// A square of values as a triangle of at most so many rows: neighbours in the order are averaged.
template <typename Value>  // double(Index task, Index task)
Json json_affinity(const std::string& words, const std::vector<Index>& order, const Value& value) {
  const Index T = std::ssize(order);
  const Index size = (T + kPageLimits.matrix_side - 1) / kPageLimits.matrix_side;
  Json out = {{"of", words}, {"block", size}, {"rows", Json::array()}};
  for (Index i = 0; i < T; i += size) {
    Json row = Json::array();
    for (Index j = 0; j <= i; j += size) {
      double sum = 0;
      Index count = 0;
      for (Index a = i; a < std::min(i + size, T); ++a)
        for (Index b = j; b < std::min(j + size, T); ++b) {
          sum += value(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
          ++count;
        }
      row.push_back(number(rounded(sum / static_cast<double>(count), 4)));
    }
    out["rows"].push_back(std::move(row));
  }
  return out;
}

struct PointNumbers {
  double lambda = 0, share = 0, objective = 0, dual = 0, gap = 0;
  double train_accuracy = std::nan(""), held_out_accuracy = std::nan("");
  Status status = Status::converged;
};

// `decimals` < 0: in full.
Json json_point(const PointNumbers& of, const Groups& groups, const DistinctRows& rows,
                const Matrix& weights, int decimals) {
  const std::vector<Index> group = group_numbers(weights.rows(), groups);
  Json out = {{"lambda", number(of.lambda)},
              {"share", number(of.share)},
              {"objective", number(of.objective)},
              {"dual", number(of.dual)},
              {"gap", number(of.gap)},
              {"status", to_string(of.status)},
              {"train_accuracy", number(of.train_accuracy)},
              {"held_out_accuracy", number(of.held_out_accuracy)},
              {"groups", groups.size()},
              {"group", group},
              {"row", rows.row_of},
              {"weights", Json::array()}};
  for (const Index t : rows.task) {
    Json row = Json::array();
    for (const double value : weights.row(t))
      row.push_back(number(decimals < 0 ? value : rounded(value, decimals)));
    out["weights"].push_back(std::move(row));
  }
  return out;
}

int decimals_for(Index numbers_in_all) {
  return numbers_in_all > kPageLimits.exact_numbers ? 4 : -1;
}

// ---- A model

// Of a linear method on features that stand for kernels: its functions are sums of kernels at the same rows.
bool is_mapped(const Model& model) {
  return model.settings.method->is_linear() && !model.kernels.empty();
}

std::vector<std::string> weight_names(const Model& model) {
  std::vector<std::string> names;
  if (is_mapped(model)) {
    for (const Index row : model.training_row) names.push_back(fmt::format("at row {}", row + 1));
    return names;
  }
  if (model.settings.method->is_linear()) return model.features;
  for (const Kernel& kernel : model.kernels) names.push_back(to_string(kernel));
  return names;
}

Matrix weights_of(const Model& model, Index columns) {
  Matrix out = Matrix::Zero(std::ssize(model.tasks), columns);
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const TaskModel& task = model.tasks[t];
    auto row = out.row(static_cast<Index>(t));
    if (is_mapped(model)) {
      const KernelExpansion& sum = task.expansion();
      for (std::size_t j = 0; j < sum.support.size(); ++j)
        row[sum.support[j]] += sum.alpha[static_cast<Index>(j)] * sum.y[static_cast<Index>(j)];
    } else {
      row = model.settings.method->is_linear() ? task.w() : task.theta();
    }
  }
  return out;
}

// The proof that a task is part of: that of the model, or of the extension that added it.
const Certificate& proof_of(const Model& model, Index task) {
  for (const Extension& added : model.extensions)
    if (task >= added.base_tasks && task < added.base_tasks + added.tasks) return added.certificate;
  return model.certificate();
}

Json json_scores(const Model& model, const Evaluation& held_out) {
  std::map<std::string, const TaskScores*> found;
  for (const TaskScores& task : held_out.tasks) found[task.name] = &task;
  const auto of = [&](const TaskModel& task) {
    const auto place = found.find(task.name);
    return place == found.end() ? nullptr : place->second;
  };
  Json out = {{"n", Json::array()}, {"errors", Json::array()}};
  for (const TaskModel& task : model.tasks) {
    const TaskScores* scores = of(task);
    out["n"].push_back(scores != nullptr ? Json(scores->n) : Json());
    out["errors"].push_back(scores != nullptr ? Json(scores->errors) : Json());
  }
  for (const ScoreField& field : score_fields) {
    Json column = Json::array();
    bool known = false;
    for (const TaskModel& task : model.tasks) {
      const TaskScores* scores = of(task);
      column.push_back(scores != nullptr ? number(scores->scores.*field.value) : Json());
      known = known || !column.back().is_null();
    }
    if (known) out[field.name] = std::move(column);
  }
  return out;
}

Json json_tasks(const ModelPage& page) {
  const Model& model = page.model;
  Json out;
  for (const char* name : {"name", "n", "support_vectors", "objective", "bias", "gap", "status"})
    out[name] = Json::array();
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const TaskModel& task = model.tasks[t];
    const Certificate& proof = proof_of(model, static_cast<Index>(t));
    out["name"].push_back(task.name);
    out["n"].push_back(task.n);
    out["support_vectors"].push_back(task.expansion().support.size());
    out["objective"].push_back(number(task.objective));
    out["bias"].push_back(number(task.bias));
    out["gap"].push_back(number(proof.gap));
    out["status"].push_back(to_string(proof.status));
  }
  if (model.settings.method->is_linear()) out.erase("support_vectors");
  if (page.held_out != nullptr) out["scores"] = json_scores(model, *page.held_out);
  return out;
}

// All settings that mean something, and where the data are from.
Json json_facts(const Settings& settings) {
  Json facts = Json::array();
  const std::vector<std::string> unused = unused_fields(settings);
  visit_fields(settings, [&](const char* name, const auto& value, const char*, const char*) {
    if (std::ranges::find(unused, name) == unused.end()) facts.push_back({name, text_of(value)});
  });
  return facts;
}

// How alike two tasks are: the cosine of the angle between their weights; 0 where a task has none.
struct Likeness {
  Matrix directions;
  bool below_zero = false;

  explicit Likeness(const Matrix& weights) : directions(weights) {
    for (Index t = 0; t < directions.rows(); ++t) {
      const double length = directions.row(t).norm();
      if (length > 0) directions.row(t) /= length;
    }
    below_zero = directions.size() > 0 && directions.minCoeff() < 0;
  }
  double operator()(Index t, Index s) const {
    return std::clamp(directions.row(t).dot(directions.row(s)), -1.0, 1.0);
  }
};

// Neighbours are alike: along the joins of average linkage.
std::vector<Index> order_by_likeness(const Likeness& likeness, const Groups& groups) {
  const Index T = likeness.directions.rows();
  std::vector<Index> order;
  if (T > kPageLimits.tasks_in_likeness) {
    for (const std::vector<Index>& group : listed(groups))
      order.insert(order.end(), group.begin(), group.end());
    return order;
  }
  Matrix all(T, T);
  for (Index t = 0; t < T; ++t)
    for (Index s = 0; s < T; ++s) all(t, s) = likeness(t, s);
  std::vector<std::vector<Index>> line(
      static_cast<std::size_t>(T));  // of the task that stands for a cluster
  std::vector<Index> stands(static_cast<std::size_t>(T));
  for (Index t = 0; t < T; ++t) {
    line[static_cast<std::size_t>(t)] = {t};
    stands[static_cast<std::size_t>(t)] = t;
  }
  for (const Join& join : average_linkage(std::move(all))) {
    Index first = stands[static_cast<std::size_t>(join.t)];
    Index second = stands[static_cast<std::size_t>(join.s)];
    if (first > second) std::swap(first, second);
    std::vector<Index>& one = line[static_cast<std::size_t>(first)];
    std::vector<Index>& other = line[static_cast<std::size_t>(second)];
    for (const Index t : other) stands[static_cast<std::size_t>(t)] = first;
    one.insert(one.end(), other.begin(), other.end());
    other.clear();
  }
  return line.empty() ? order : line.front();
}

void add_extensions(Json& notes, const Model& model) {
  for (const Extension& added : model.extensions)
    notes.push_back(fmt::format("Tasks added to the {} that were there: {}. Of them: {}",
                                added.base_tasks, added.tasks,
                                certificate_sentence(added.certificate)));
}

}  // namespace

std::string certificate_sentence(const Certificate& proof) {
  const double reached = std::max(proof.gap, 0.0) + proof.bound;
  std::string out;
  if (proof.claim == Claim::stationary)
    out = fmt::format(
        "No further step would make the objective {:.8g} smaller by more than a share of {:.1e}; "
        "the smallest there is may be lower.",
        proof.primal, reached);
  else
    out = fmt::format(
        "Certified: the objective {:.8g} is above the smallest possible{} by a share of at most "
        "{:.1e}, rounding errors included.",
        proof.primal, proof.claim == Claim::given_clusters ? " for these clusters" : "", reached);
  if (proof.status != Status::converged)
    out +=
        fmt::format(" The fit ended short of its tolerance (status {}).", to_string(proof.status));
  return out;
}

Json explorer(const ModelPage& page) {
  const Model& model = page.model;
  const std::vector<std::string> every = weight_names(model);
  const bool linear = model.settings.method->is_linear();
  const Matrix full = weights_of(model, std::ssize(every));
  Vector largest = Vector::Zero(full.cols());
  if (full.rows() > 0) largest = full.cwiseAbs().colwise().maxCoeff().transpose();
  const ShownWeights shown(every, largest, !linear);
  const Matrix weights = shown.of(full);
  const Certificate& proof = model.certificate();
  Json notes = Json::array();
  add_extensions(notes, model);
  if (shown.all > kPageLimits.kernels)
    notes.push_back(fmt::format("Of {} {}, the {} of the largest weights are shown{}.", shown.all,
                                linear ? "features" : "kernels", shown.columns.size(),
                                linear ? "" : ", and the sum of the others"));
  Json out;
  out["certificate"] = certificate_sentence(proof);
  out["method"] = model.settings.method->name;
  out["facts"] = json_facts(model.settings);
  out["facts"].push_back({"training rows", fmt::to_string(model.training_rows)});
  out["facts"].push_back({"training data", model.fingerprint});
  if (page.held_out != nullptr) {
    out["held_out"] = {{"name", page.held_out_name},
                       {"n", page.held_out->n},
                       {"errors", page.held_out->errors},
                       {"accuracy", number(page.held_out->accuracy)}};
  }
  out["exact_groups"] = !linear || model.settings.method->exact_groups;
  out["shared_in_group"] = linear ? "their weights" : model.settings.method->shared_in_group();
  out["weights_of"] = linear ? "features" : "kernels";
  out["kernels"] = shown.names;
  out["tasks"] = json_tasks(page);
  const DistinctRows rows(full);
  const double share = proof.lambda_max > 0 ? proof.lambda / proof.lambda_max : std::nan("");
  const int decimals = decimals_for(std::ssize(rows.task) * weights.cols());
  if (decimals >= 0) notes.push_back("Weights have four decimals here.");
  out["points"] = Json::array({json_point({.lambda = proof.lambda,
                                           .share = share,
                                           .objective = proof.primal,
                                           .dual = proof.dual,
                                           .gap = proof.gap,
                                           .status = proof.status},
                                          model.groups(), rows, weights, decimals)});
  if (weights.rows() > 0) out["map"] = json_map({weights});
  const Likeness likeness(full);
  const std::vector<Index> order = order_by_likeness(likeness, model.groups());
  out["order"] = order;
  out["affinity"] = json_affinity(
      fmt::format("cosine of the angle between the {} weights", linear ? "feature" : "kernel"),
      order, likeness);
  out["affinity"]["below_zero"] = likeness.below_zero;
  out["notes"] = std::move(notes);
  return out;
}

// ---- A path

namespace {

double share_at(const LambdaPath& path, std::size_t point) {
  const double lambda = path.points[point].lambda;
  return lambda > 0 ? lambda / path.lambda_max : 0;
}

// The points that stand for every number of groups, by point_with_groups.
std::map<Index, std::size_t> points_by_groups(const LambdaPath& path) {
  std::map<Index, std::size_t> out;
  for (const PathPoint& point : path.points) {
    const Index groups = std::ssize(point.fit.groups);
    if (!out.contains(groups)) out[groups] = point_with_groups(path, groups);
  }
  return out;
}

// All points, or of many: the ends, the best, the one chosen, those that stand for numbers of groups, and others evenly. When numbers of
// groups are too many, they are taken evenly too.
std::vector<std::size_t> kept_points(const PathPage& page) {
  const std::size_t all = page.path.points.size();
  const Index T = std::max<Index>(1, std::ssize(page.data.tasks));
  const auto most =
      static_cast<std::size_t>(std::max(kPageLimits.least_points, kPageLimits.task_points / T));
  std::set<std::size_t> kept;
  if (all <= most) {
    for (std::size_t k = 0; k < all; ++k) kept.insert(k);
    return {kept.begin(), kept.end()};
  }
  kept.insert({0, all - 1});
  if (page.chosen) kept.insert(*page.chosen);
  if (const std::optional<std::size_t> best = best_point(page.path)) kept.insert(*best);
  const auto add_evenly = [&](const std::vector<std::size_t>& from, std::size_t up_to) {
    const std::size_t wanted = up_to > kept.size() ? up_to - kept.size() : 0;
    if (wanted == 0 || from.empty()) return;
    const double step =
        std::max(1.0, static_cast<double>(from.size()) / static_cast<double>(wanted));
    for (double place = 0; place < static_cast<double>(from.size()) && kept.size() < up_to;
         place += step)
      kept.insert(from[static_cast<std::size_t>(place)]);
  };
  std::vector<std::size_t> standing;
  for (const auto& [groups, point] : points_by_groups(page.path)) standing.push_back(point);
  add_evenly(standing, most / 2);
  std::vector<std::size_t> others;
  for (std::size_t k = 0; k < all; ++k)
    if (!kept.contains(k)) others.push_back(k);
  add_evenly(others, most);
  return {kept.begin(), kept.end()};
}

std::size_t nearest_kept(const std::vector<std::size_t>& kept, std::size_t point) {
  std::size_t best = 0;
  const auto off = [&](std::size_t k) {
    return kept[k] > point ? kept[k] - point : point - kept[k];
  };
  for (std::size_t k = 1; k < kept.size(); ++k)
    if (off(k) < off(best)) best = k;
  return best;
}

Dendrogram tree_of(const PathPage& page) {
  Dendrogram tree;
  for (const Task& task : page.data.tasks) tree.leaves.push_back(task.name);
  for (const TreeNode& node : page.tree.nodes)
    tree.merges.push_back(
        {.children = node.children,
         .lambda = page.path.lambda_max > 0 ? node.lambda / page.path.lambda_max : 0});
  return tree;
}

Json json_tree(const PathPage& page) {
  Json out = Json::array();
  for (const TreeNode& node : page.tree.nodes) {
    Json one = {
        {"children", node.children},
        {"lambda", number(node.lambda)},
        {"share", number(page.path.lambda_max > 0 ? node.lambda / page.path.lambda_max : 0)},
        {"together", number(rounded(node.together, 6))},
        {"for_good", node.for_good}};
    if (page.stability != nullptr)
      one["support"] = number(rounded(support(*page.stability, node.members), 6));
    out.push_back(std::move(one));
  }
  return out;
}

std::string certificate_sentence(const LambdaPath& path) {
  double worst = 0;
  Index short_of = 0;
  for (const PathPoint& point : path.points) {
    worst = std::max(worst, std::max(point.fit.gap, 0.0) + point.fit.bound);
    short_of += point.fit.status != Status::converged;
  }
  std::string out = fmt::format(
      "Certified: at each of the {} points of the path, the objective is above the smallest "
      "possible by a share of at most {:.1e}, rounding errors included.",
      path.points.size(), worst);
  if (short_of > 0) out += fmt::format(" {} of them ended short of the tolerance.", short_of);
  return out;
}

}  // namespace

Json explorer(const PathPage& page) {
  const LambdaPath& path = page.path;
  const Index T = std::ssize(page.data.tasks);
  const std::vector<std::size_t> kept = kept_points(page);
  Vector largest = Vector::Zero(std::ssize(page.kernels));
  for (const std::size_t k : kept)
    largest =
        largest.cwiseMax(path.points[k].fit.theta.cwiseAbs().colwise().maxCoeff().transpose());
  const ShownWeights shown(page.kernels, largest, true);
  std::vector<Matrix> weights;
  std::vector<DistinctRows> rows;
  Index count = 0;
  for (const std::size_t k : kept) {
    rows.emplace_back(path.points[k].fit.theta);
    weights.push_back(shown.of(path.points[k].fit.theta));
    count += std::ssize(rows.back().task) * weights.back().cols();
  }
  const int decimals = decimals_for(count);

  Json notes = Json::array();
  if (kept.size() < path.points.size())
    notes.push_back(fmt::format(
        "{} of the {} points of the path are on this page; path.csv and weights.csv have all.",
        kept.size(), path.points.size()));
  if (decimals >= 0)
    notes.push_back("Weights have four decimals here; weights.csv has all digits.");
  if (shown.all > kPageLimits.kernels)
    notes.push_back(fmt::format(
        "Of {} kernels, the {} of the largest weights are shown, and the sum of the others.",
        shown.all, shown.columns.size()));
  if (page.held_out)
    notes.push_back(
        "The path is that of the rows that are not held out; the command trains on all rows.");
  if (!path.resolved) notes.push_back("Some merges could not be told apart in time.");

  Json out;
  out["certificate"] = certificate_sentence(path);
  out["method"] = page.settings.method->name;
  out["facts"] = json_facts(page.settings);
  std::erase_if(out["facts"].get_ref<Json::array_t&>(),
                [](const Json& fact) { return fact[0] == "lambda"; });
  out["facts"].push_back({"lambda_max", fmt::format("{:.6g}", path.lambda_max)});
  out["exact_groups"] = true;
  out["shared_in_group"] = page.settings.method->shared_in_group();
  out["weights_of"] = "kernels";
  out["kernels"] = shown.names;
  out["lambda_max"] = number(path.lambda_max);
  out["tasks"]["name"] = Json::array();
  out["tasks"]["n"] = Json::array();
  for (const Task& task : page.data.tasks) {
    out["tasks"]["name"].push_back(task.name);
    out["tasks"]["n"].push_back(task.size());
  }
  out["points"] = Json::array();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const PathPoint& point = path.points[kept[i]];
    out["points"].push_back(json_point({.lambda = point.lambda,
                                        .share = share_at(path, kept[i]),
                                        .objective = point.fit.primal,
                                        .dual = point.fit.dual,
                                        .gap = point.fit.gap,
                                        .train_accuracy = point.train_accuracy,
                                        .held_out_accuracy = point.held_out_accuracy,
                                        .status = point.fit.status},
                                       point.fit.groups, rows[i], weights[i], decimals));
  }
  out["by_groups"] = Json::array();
  for (const auto& [groups, point] : points_by_groups(path))
    out["by_groups"].push_back(
        {groups, number(path.points[point].lambda), nearest_kept(kept, point)});
  if (const std::optional<std::size_t> best = best_point(path))
    out["best"] = nearest_kept(kept, *best);
  if (page.chosen) out["chosen"] = nearest_kept(kept, *page.chosen);
  out["command"] = page.command;
  out["map"] = json_map(weights);
  const std::vector<Index> order = T > 0 ? leaf_order(tree_of(page)) : std::vector<Index>{};
  out["order"] = order;
  out["tree"] = json_tree(page);
  if (page.stability != nullptr) out["resamples"] = page.stability->resamples.size();
  const Matrix together =
      page.stability != nullptr ? time_together(*page.stability, T) : page.tree.together;
  out["affinity"] = json_affinity(
      page.stability == nullptr
          ? "share of the path, in log lambda, in one group"
          : fmt::format("share of the path, in log lambda, in one group; mean of {} resamples",
                        page.stability->resamples.size()),
      order, [&](Index t, Index s) { return together(t, s); });
  out["affinity"]["below_zero"] = false;
  out["notes"] = std::move(notes);
  return out;
}

}  // namespace coterie::page
