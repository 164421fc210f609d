#include "coterie/report/path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "coterie/data/names.hpp"
#include "coterie/mtmkl/group_list.hpp"
#include "coterie/report/affinity.hpp"
#include "coterie/report/dendrogram.hpp"
#include "coterie/report/text.hpp"
#include "coterie/report/weight_paths.hpp"

namespace coterie {
namespace {

std::string points_csv(const TracedPath& traced) {
  std::string out =
      "lambda,share_of_lambda_max,objective,dual,gap,groups,train_accuracy,held_out_accuracy,"
      "status\n";
  for (const PathPoint& point : traced.path.points)
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", point.lambda, traced.share(point.lambda),
                       point.fit.primal, point.fit.dual, point.fit.gap, point.fit.groups.size(),
                       number_or_nothing(point.train_accuracy),
                       number_or_nothing(point.held_out_accuracy), to_string(point.fit.status));
  return out;
}

std::string weights_csv(const TracedPath& traced) {
  std::string out = "lambda,task,group";
  for (const std::string& kernel : traced.kernels) out += "," + csv_field(kernel);
  out += "\n";
  for (const PathPoint& point : traced.path.points) {
    const std::vector<Index> group = group_numbers(std::ssize(traced.data.tasks), point.fit.groups);
    for (std::size_t t = 0; t < traced.data.tasks.size(); ++t) {
      out += fmt::format("{},{},{}", point.lambda, csv_field(traced.data.tasks[t].name), group[t]);
      for (const double theta : point.fit.theta.row(static_cast<Index>(t)))
        out += fmt::format(",{}", theta);
      out += "\n";
    }
  }
  return out;
}

// A line for every task of an event: names may hold any sign, so they are never joined. A merge is for good; a split parts tasks that were
// in one group at smaller lambdas.
std::string merges_csv(const TracedPath& traced) {
  std::string out = "event,kind,lambda_from,lambda_to,together,support,part,task\n";
  Index event = 0;
  const auto add = [&](const char* kind, double from, double to, double together,
                       const std::string& share, const Groups& parts) {
    ++event;
    for (std::size_t k = 0; k < parts.size(); ++k)
      for (const std::string& name : names_of(parts[k], traced.data))
        out += fmt::format("{},{},{},{},{},{},{},{}\n", event, kind, from, to, together, share,
                           k + 1, csv_field(name));
  };
  const Index T = std::ssize(traced.data.tasks);
  for (const Merge& merge : traced.tree.merges) {
    Groups parts;
    for (const Index child : merge.children)
      parts.push_back(child < T ? std::vector<Index>{child}
                                : traced.tree.merges[static_cast<std::size_t>(child - T)].members);
    add("merge", merge.lower, merge.upper, merge.together,
        traced.stability ? number_or_nothing(support(*traced.stability, merge.members)) : "",
        parts);
  }
  for (const GroupSplit& split : traced.tree.splits)
    add("split", split.lower, split.upper, split.together, "", split.parts);
  return out;
}

// Where a point is drawn: above lambda_max all are alike.
double place_of(const TracedPath& traced, std::size_t point) {
  return std::min(1.0, traced.share(traced.path.points[point].lambda));
}

Dendrogram dendrogram_of(const TracedPath& traced) {
  Dendrogram tree;
  tree.title = "Tasks joining as lambda grows";
  tree.leaves = names_of_tasks(traced.data);
  for (const TreeNode& node : traced.tree.nodes) {
    TreeMerge merge{.children = node.children,
                    .lambda = traced.share(node.lambda),
                    .in_pieces = !node.for_good};
    if (traced.stability) merge.support = support(*traced.stability, node.members);
    tree.merges.push_back(std::move(merge));
  }
  if (traced.chosen) {
    tree.cut = place_of(traced, *traced.chosen);
    tree.groups =
        group_numbers(std::ssize(traced.data.tasks), traced.path.points[*traced.chosen].fit.groups);
  }
  if (const std::optional<std::size_t> best = best_point(traced.path))
    tree.mark = {place_of(traced, *best), best_text(traced, *best)};
  return tree;
}

// Of many kernels those of the largest weights are drawn, and the others as one sum.
void keep_largest(WeightPaths& paths) {
  constexpr std::size_t drawn = 19, most = 30;
  if (paths.kernels.size() <= most) return;
  std::vector<Index> order(paths.kernels.size());
  std::iota(order.begin(), order.end(), Index{0});
  Vector largest = Vector::Zero(std::ssize(order));
  for (const Matrix& theta : paths.theta)
    largest = largest.cwiseMax(theta.colwise().maxCoeff().transpose());
  std::ranges::stable_sort(order, std::greater(), [&](Index m) { return largest[m]; });
  order.resize(drawn);
  std::ranges::sort(order);
  std::vector<std::string> names;
  for (const Index m : order) names.push_back(paths.kernels[static_cast<std::size_t>(m)]);
  names.push_back(fmt::format("{} others", paths.kernels.size() - drawn));
  for (Matrix& theta : paths.theta) {
    Matrix kept(theta.rows(), std::ssize(names));
    kept.leftCols(std::ssize(order)) = theta(Eigen::all, order);
    kept.rightCols(1) = theta.rowwise().sum() - kept.leftCols(std::ssize(order)).rowwise().sum();
    theta = std::move(kept);
  }
  paths.kernels = std::move(names);
}

WeightPaths weight_paths_of(const TracedPath& traced) {
  WeightPaths paths;
  paths.title = "Kernel weights along lambda";
  const auto& points = traced.path.points;
  std::vector<double> shares;
  for (std::size_t k = points.size(); k-- > 1;) shares.push_back(traced.share(points[k].lambda));
  paths.lambda = Eigen::Map<const Vector>(shares.data(), std::ssize(shares));
  for (std::size_t t = 0; t < traced.data.tasks.size(); ++t) {
    Matrix theta(std::ssize(shares), std::ssize(traced.kernels));
    for (std::size_t k = points.size(); k-- > 1;)
      theta.row(std::ssize(points) - 1 - static_cast<Index>(k)) =
          points[k].fit.theta.row(static_cast<Index>(t));
    paths.theta.push_back(std::move(theta));
  }
  paths.tasks = names_of_tasks(traced.data);
  paths.kernels = traced.kernels;
  keep_largest(paths);
  for (const TreeNode& node : traced.tree.nodes)
    if (node.for_good) paths.merges.push_back(traced.share(node.lambda));
  if (const std::optional<std::size_t> best = best_point(traced.path)) {
    paths.mark = place_of(traced, *best);
    paths.mark_words = best_text(traced, *best);
  }
  return paths;
}

Affinity affinity_of(const TracedPath& traced, const Dendrogram& tree) {
  const Index T = std::ssize(traced.data.tasks);
  Affinity affinity;
  affinity.title = "How long tasks share a kernel";
  affinity.value_name = "share of the path, in log lambda, in one group";
  if (traced.stability) {
    affinity.values = time_together(*traced.stability, T);
    affinity.value_name +=
        fmt::format("; mean of {} resamples", traced.stability->resamples.size());
  } else {
    affinity.values = traced.tree.together;
  }
  affinity.names = names_of_tasks(traced.data);
  affinity.order = leaf_order(tree);
  affinity.groups = tree.groups;
  return affinity;
}

}  // namespace

std::vector<std::string> names_of(const std::vector<Index>& members, const Dataset& data) {
  std::vector<std::string> names;
  for (const Index t : members) names.push_back(data.tasks[static_cast<std::size_t>(t)].name);
  return names;
}

std::vector<std::string> names_of_tasks(const Dataset& data) {
  std::vector<std::string> names;
  for (const Task& task : data.tasks) names.push_back(task.name);
  return names;
}

std::string best_text(const TracedPath& traced, std::size_t best) {
  const PathPoint& point = traced.path.points[best];
  return fmt::format("best held-out accuracy {}: {}", percent(point.held_out_accuracy),
                     plural(std::ssize(point.fit.groups), "group"));
}

std::vector<ReportFile> path_files(const TracedPath& traced) {
  std::vector<ReportFile> files = {{"path.csv", points_csv(traced)},
                                   {"weights.csv", weights_csv(traced)},
                                   {"merges.csv", merges_csv(traced)}};
  if (traced.path.points.size() > 2)
    files.push_back({"weights.svg", as_svg(weight_paths_of(traced))});
  if (traced.data.tasks.size() > 1) {
    const Dendrogram tree = dendrogram_of(traced);
    files.push_back({"tree.svg", as_svg(tree)});
    files.push_back({"affinity.svg", as_svg(affinity_of(traced, tree))});
  }
  return files;
}

}  // namespace coterie
