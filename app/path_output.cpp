#include "path_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <utility>

#include "coterie/io/atomic_file.hpp"
#include "coterie/mtmkl/group_list.hpp"
#include "coterie/report/affinity.hpp"
#include "coterie/report/dendrogram.hpp"
#include "coterie/report/weight_paths.hpp"

namespace coterie::app {
namespace {

std::vector<std::string> names_of_tasks(const Dataset& data) {
  std::vector<std::string> names;
  for (const Task& task : data.tasks) names.push_back(task.name);
  return names;
}

std::string number(double value) {
  return std::isnan(value) ? std::string() : fmt::format("{}", value);
}

std::string points_csv(const PathResult& result) {
  std::string out =
      "lambda,share_of_lambda_max,objective,dual,gap,groups,train_accuracy,held_out_accuracy,"
      "status\n";
  for (const PathPoint& point : result.path.points)
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", point.lambda, result.share(point.lambda),
                       point.fit.primal, point.fit.dual, point.fit.gap, point.fit.groups.size(),
                       number(point.train_accuracy), number(point.held_out_accuracy),
                       to_string(point.fit.status));
  return out;
}

std::string weights_csv(const PathResult& result) {
  std::string out = "lambda,task,group";
  for (const std::string& kernel : result.kernels) out += "," + csv_field(kernel);
  out += "\n";
  for (const PathPoint& point : result.path.points) {
    const std::vector<Index> group = group_numbers(std::ssize(result.data.tasks), point.fit.groups);
    for (std::size_t t = 0; t < result.data.tasks.size(); ++t) {
      out += fmt::format("{},{},{}", point.lambda, csv_field(result.data.tasks[t].name), group[t]);
      for (const double theta : point.fit.theta.row(static_cast<Index>(t)))
        out += fmt::format(",{}", theta);
      out += "\n";
    }
  }
  return out;
}

// A line for every task of an event: names may hold any sign, so they are never joined. A merge is for good; a split parts tasks that were
// in one group at smaller lambdas.
std::string merges_csv(const PathResult& result) {
  std::string out = "event,kind,lambda_from,lambda_to,together,support,part,task\n";
  Index event = 0;
  const auto add = [&](const char* kind, double from, double to, double together,
                       const std::string& share, const Groups& parts) {
    ++event;
    for (std::size_t k = 0; k < parts.size(); ++k)
      for (const std::string& name : names_of(parts[k], result.data))
        out += fmt::format("{},{},{},{},{},{},{},{}\n", event, kind, from, to, together, share,
                           k + 1, csv_field(name));
  };
  const Index T = std::ssize(result.data.tasks);
  for (const Merge& merge : result.tree.merges) {
    Groups parts;
    for (const Index child : merge.children)
      parts.push_back(child < T ? std::vector<Index>{child}
                                : result.tree.merges[static_cast<std::size_t>(child - T)].members);
    add("merge", merge.lower, merge.upper, merge.together,
        result.stability ? number(support(*result.stability, merge.members)) : "", parts);
  }
  for (const GroupSplit& split : result.tree.splits)
    add("split", split.lower, split.upper, split.together, "", split.parts);
  return out;
}

// Where a point is drawn: above lambda_max all are alike.
double place_of(const PathResult& result, std::size_t point) {
  return std::min(1.0, result.share(result.path.points[point].lambda));
}

std::string best_text(const PathResult& result, std::size_t best) {
  const PathPoint& point = result.path.points[best];
  return fmt::format("best held-out accuracy {}: {}", percent(point.held_out_accuracy),
                     plural(std::ssize(point.fit.groups), "group"));
}

Dendrogram dendrogram_of(const PathResult& result) {
  Dendrogram tree;
  tree.title = "Tasks joining as lambda grows";
  tree.leaves = names_of_tasks(result.data);
  for (const TreeNode& node : result.tree.nodes) {
    TreeMerge merge{.children = node.children,
                    .lambda = result.share(node.lambda),
                    .in_pieces = !node.for_good};
    if (result.stability) merge.support = support(*result.stability, node.members);
    tree.merges.push_back(std::move(merge));
  }
  if (result.chosen) {
    tree.cut = place_of(result, *result.chosen);
    tree.groups =
        group_numbers(std::ssize(result.data.tasks), result.path.points[*result.chosen].fit.groups);
  }
  if (const std::optional<std::size_t> best = best_point(result.path))
    tree.mark = {place_of(result, *best), best_text(result, *best)};
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

WeightPaths weight_paths_of(const PathResult& result) {
  WeightPaths paths;
  paths.title = "Kernel weights along lambda";
  const auto& points = result.path.points;
  std::vector<double> shares;
  for (std::size_t k = points.size(); k-- > 1;) shares.push_back(result.share(points[k].lambda));
  paths.lambda = Eigen::Map<const Vector>(shares.data(), std::ssize(shares));
  for (std::size_t t = 0; t < result.data.tasks.size(); ++t) {
    Matrix theta(std::ssize(shares), std::ssize(result.kernels));
    for (std::size_t k = points.size(); k-- > 1;)
      theta.row(std::ssize(points) - 1 - static_cast<Index>(k)) =
          points[k].fit.theta.row(static_cast<Index>(t));
    paths.theta.push_back(std::move(theta));
  }
  paths.tasks = names_of_tasks(result.data);
  paths.kernels = result.kernels;
  keep_largest(paths);
  for (const TreeNode& node : result.tree.nodes)
    if (node.for_good) paths.merges.push_back(result.share(node.lambda));
  if (const std::optional<std::size_t> best = best_point(result.path)) {
    paths.mark = place_of(result, *best);
    paths.mark_words = best_text(result, *best);
  }
  return paths;
}

Affinity affinity_of(const PathResult& result, const Dendrogram& tree) {
  const Index T = std::ssize(result.data.tasks);
  Affinity affinity;
  affinity.title = "How long tasks share a kernel";
  affinity.value_name = "share of the path, in log lambda, in one group";
  if (result.stability) {
    affinity.values = time_together(*result.stability, T);
    affinity.value_name +=
        fmt::format("; mean of {} resamples", result.stability->resamples.size());
  } else {
    affinity.values = result.tree.together;
  }
  affinity.names = names_of_tasks(result.data);
  affinity.order = leaf_order(tree);
  affinity.groups = tree.groups;
  return affinity;
}

std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

// A word for a node of the tree: its task, or the line of the table where it forms.
std::string node_name(const PathResult& result, Index node) {
  const Index T = std::ssize(result.data.tasks);
  return node < T ? result.data.tasks[static_cast<std::size_t>(node)].name
                  : fmt::format("[{}]", node - T + 1);
}

}  // namespace

std::vector<std::string> names_of(const std::vector<Index>& members, const Dataset& data) {
  std::vector<std::string> names;
  for (const Index t : members) names.push_back(data.tasks[static_cast<std::size_t>(t)].name);
  return names;
}

std::vector<std::string> write_path_folder(const std::string& name, const PathResult& result) {
  const std::filesystem::path folder = name;
  std::vector<std::string> files;
  const auto write = [&](const char* file, const std::string& text) {
    files.emplace_back(file);
    write_file_atomically((folder / file).string(), text);
  };
  write("path.csv", points_csv(result));
  write("weights.csv", weights_csv(result));
  write("merges.csv", merges_csv(result));
  if (result.path.points.size() > 2) write("weights.svg", as_svg(weight_paths_of(result)));
  if (result.data.tasks.size() > 1) {
    const Dendrogram tree = dendrogram_of(result);
    write("tree.svg", as_svg(tree));
    write("affinity.svg", as_svg(affinity_of(result, tree)));
  }
  return files;
}

namespace {

Json json_point(const PathPoint& point, const Dataset& data) {
  Json one = {{"lambda", json_number(point.lambda)},
              {"objective", json_number(point.fit.primal)},
              {"dual", json_number(point.fit.dual)},
              {"gap", json_number(point.fit.gap)},
              {"status", to_string(point.fit.status)},
              {"outer_steps", point.fit.outer_steps},
              {"train_accuracy", json_number(point.train_accuracy)},
              {"held_out_accuracy", json_number(point.held_out_accuracy)}};
  one["groups"] = Json::array();
  for (const std::vector<Index>& group : listed(point.fit.groups))
    one["groups"].push_back(names_of(group, data));
  one["theta"] = json_matrix(point.fit.theta);
  return one;
}

}  // namespace

Json json_path(const PathResult& result, const Settings& settings) {
  Json out = {{"lambda_max", json_number(result.path.lambda_max)},
              {"C", json_number(settings.C)},
              {"norm", json_number(settings.norm)},
              {"tolerance", settings.tolerance},
              {"resolved", result.path.resolved},
              {"kernels", result.kernels},
              {"tasks", names_of_tasks(result.data)}};
  out["points"] = Json::array();
  for (const PathPoint& point : result.path.points)
    out["points"].push_back(json_point(point, result.data));
  out["merges"] = Json::array();
  for (const Merge& merge : result.tree.merges) {
    Json one = {{"tasks", names_of(merge.members, result.data)},
                {"children", merge.children},
                {"lambda_from", json_number(merge.lower)},
                {"lambda_to", json_number(merge.upper)},
                {"together", merge.together}};
    if (result.stability) one["support"] = support(*result.stability, merge.members);
    out["merges"].push_back(std::move(one));
  }
  out["splits"] = Json::array();
  for (const GroupSplit& split : result.tree.splits) {
    Json parts = Json::array();
    for (const std::vector<Index>& part : split.parts) parts.push_back(names_of(part, result.data));
    out["splits"].push_back({{"tasks", names_of(split.members, result.data)},
                             {"parts", parts},
                             {"lambda_from", json_number(split.lower)},
                             {"lambda_to", json_number(split.upper)},
                             {"together", split.together}});
  }
  out["tree"] = Json::array();
  for (const TreeNode& node : result.tree.nodes)
    out["tree"].push_back({{"tasks", names_of(node.members, result.data)},
                           {"children", node.children},
                           {"together", node.together},
                           {"lambda", json_number(node.lambda)},
                           {"for_good", node.for_good}});
  if (result.stability) out["resamples"] = result.stability->resamples.size();
  out["time_together"] =
      json_matrix(result.stability ? time_together(*result.stability, std::ssize(result.data.tasks))
                                   : result.tree.together);
  if (const std::optional<std::size_t> best = best_point(result.path)) {
    const PathPoint& point = result.path.points[*best];
    out["best"] = {{"lambda", json_number(point.lambda)},
                   {"held_out_accuracy", point.held_out_accuracy},
                   {"groups", point.fit.groups.size()}};
  }
  return out;
}

void print_merge_tree(const PathResult& result) {
  const MergeTree& tree = result.tree;
  if (tree.merges.empty()) return fmt::print("no tasks join\n");
  std::vector<std::string> header = {"", "lambda", "/ max", "groups", "together"};
  if (result.stability) header.emplace_back("support");
  header.emplace_back("what joins for good");
  Table table(header, result.stability ? "lrrrrrl" : "lrrrrl");
  for (std::size_t i = 0; i < tree.merges.size(); ++i) {
    const Merge& merge = tree.merges[i];
    const auto point = std::ranges::find(result.path.points, merge.upper, &PathPoint::lambda);
    std::vector<std::string> names;
    for (const Index child : merge.children) names.push_back(node_name(result, child));
    const bool at_end = merge.lower == 0 && merge.upper > 0 && std::isfinite(merge.upper);
    std::vector<std::string> cells = {
        fmt::format("[{}]", i + 1), fmt::format("{}{:.4g}", at_end ? "<= " : "", merge.upper),
        std::isfinite(merge.upper) ? fmt::format("{:.4f}", result.share(merge.upper)) : "inf",
        fmt::to_string(point->fit.groups.size()), share_text(merge.together)};
    if (result.stability)
      cells.push_back(fmt::format("{:.0f} %", 100 * support(*result.stability, merge.members)));
    std::string joined;
    for (std::size_t k = 0; k < names.size(); ++k) {
      if (k == 8) {
        joined += fmt::format(" + {} more", names.size() - k);
        break;
      }
      joined += (k > 0 ? " + " : "") + names[k];
    }
    cells.push_back(joined);
    table.add(std::move(cells));
  }
  fmt::print(
      "{}  (together: share of the path, in log lambda, that the parts spend in one group)\n",
      table.text());
  for (const GroupSplit& split : tree.splits) {
    std::vector<std::string> parts;
    for (const std::vector<Index>& part : split.parts)
      parts.push_back(fmt::format("{}", fmt::join(names_of(part, result.data), " ")));
    fmt::print("splits again: together at lambda {:.4g}, apart at {:.4g}, {} of the path: {}\n",
               split.lower, split.upper, share_text(split.together), fmt::join(parts, " | "));
  }
}

void print_path_points(const PathResult& result, bool advise) {
  const bool held_out = !std::isnan(result.path.points.front().held_out_accuracy);
  std::vector<std::string> header = {"lambda", "/ max", "groups", "objective", "gap", "training"};
  if (held_out) header.emplace_back("held out");
  Table table(header, "");
  // At most twenty lines: the first with each number of groups before others.
  std::vector<std::size_t> shown;
  const auto& points = result.path.points;
  const std::size_t step = std::max<std::size_t>(1, (points.size() + 19) / 20);
  for (std::size_t k = 0; k < points.size(); k += step) shown.push_back(k);
  if (shown.back() + 1 != points.size()) shown.push_back(points.size() - 1);
  const std::optional<std::size_t> best = best_point(result.path);
  if (best && std::ranges::find(shown, *best) == shown.end())
    shown.insert(std::ranges::upper_bound(shown, *best), *best);
  for (const std::size_t k : shown) {
    const PathPoint& point = points[k];
    std::vector<std::string> cells = {
        fmt::format("{:.4g}", point.lambda),
        std::isfinite(point.lambda) ? fmt::format("{:.4f}", result.share(point.lambda)) : "inf",
        fmt::to_string(point.fit.groups.size()),
        fmt::format("{:.8g}", point.fit.primal),
        fmt::format("{:.1e}", point.fit.gap),
        percent(point.train_accuracy)};
    if (held_out) cells.push_back((best == k ? "best " : "") + percent(point.held_out_accuracy));
    table.add(std::move(cells));
  }
  fmt::print("{}", table.text());
  if (shown.size() < points.size())
    fmt::print("  ({} of {} points{})\n", shown.size(), points.size(),
               advise ? "; -o FOLDER writes all" : "");
  if (!best) return;
  const double lambda = points[*best].lambda;
  fmt::print(
      "{} at lambda {:.4g}{}\n", best_text(result, *best), lambda,
      std::isfinite(lambda) ? fmt::format(" ({:.4f} of lambda_max)", result.share(lambda)) : "");
}

}  // namespace coterie::app
