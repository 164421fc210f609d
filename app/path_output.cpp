#include "path_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coterie/mtmkl/group_list.hpp"

namespace coterie::app {
namespace {

std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

// A word for a node of the tree: its task, or the line of the table where it forms.
std::string node_name(const TracedPath& result, Index node) {
  const Index T = std::ssize(result.data.tasks);
  return node < T ? result.data.tasks[static_cast<std::size_t>(node)].name
                  : fmt::format("[{}]", node - T + 1);
}

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

Json json_path(const TracedPath& result, const Settings& settings) {
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

void print_merge_tree(const TracedPath& result) {
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
    for (const std::vector<Index>& part : split.parts) {
      std::vector<std::string> names = names_of(part, result.data);
      std::ranges::transform(names, names.begin(), as_word);
      parts.push_back(fmt::format("{}", fmt::join(names, " ")));
    }
    fmt::print("splits again: together at lambda {:.4g}, apart at {:.4g}, {} of the path: {}\n",
               split.lower, split.upper, share_text(split.together), fmt::join(parts, " | "));
  }
}

void print_path_points(const TracedPath& result, bool advise) {
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
