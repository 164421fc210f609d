#include "select_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coterie/report/selection.hpp"
#include "messages.hpp"

namespace coterie::app {
namespace {

Json json_point(const Grid& grid, const GridPoint& point) {
  Json out = Json::object();
  for (const std::string& column : spoken_columns(grid)) {
    const std::string value = value_at(grid, point, column);
    const bool text = column == "normalise" || (column == "lambda" && !is_parameter(grid, column));
    out[column] = text ? Json(value) : json_number(parse_numbers(value, column).values.front());
  }
  return out;
}

// Other kernels, smoothed features, or another method.
std::string alternative_name(const Alternative& one, const Settings& chosen) {
  if (!one.settings.method->is_main()) return one.settings.method->name;
  return one.settings.smooth == chosen.smooth ? "with kernels of single columns it"
                                              : "on smoothed features it";
}

// How to have it.
std::string alternative_options(const Alternative& one, const Settings& chosen) {
  if (!one.settings.method->is_main()) return "--method " + one.settings.method->name;
  return one.settings.smooth == chosen.smooth
             ? fmt::format("--kernels \"{}\"", text_of(one.settings.kernels))
             : fmt::format("--smooth {}", one.settings.smooth);
}

// How points, rows and fits hang together.
std::string counts_text(const Selection& selection) {
  const GridScores& scores = selection.scores;
  const Index points = std::ssize(selection.ranked);
  const Index folds = scores.cells.begin()->second.rows();
  const std::string product = fmt::format("  {} x {} = {}", plural(points, "point"),
                                          plural(folds, "fold"), plural(points * folds, "score"));
  const Grid& grid = selection.grid;
  if (!grid.method->walks_lambda())
    return fmt::format("{}, a fit each, in {} (fits one after the other in one fold)", product,
                       plural(scores.rows, "row"));
  if (std::ranges::find(grid.columns, "lambda") == grid.columns.end())
    return fmt::format("{}, in {} (one fold at one C){}", product, plural(scores.rows, "row"),
                       scores.fits == points * folds
                           ? ", a fit each"
                           : fmt::format(" from {}: one with the same kernel for all tasks, and "
                                         "from there that of the method",
                                         plural(scores.fits, "fit")));
  return fmt::format(
      "{} from {}, in {} (one fold at one C, along lambda):\n"
      "  a row begins with a fit at lambda = inf, which is also the answer at the {} with lambda "
      ">= "
      "lambda_max",
      product, plural(scores.fits, "fit"), plural(scores.rows, "row"),
      plural(scores.reused, "score"));
}

// "the strongest sharing and smallest C": what --one-se asks for.
std::string simplest_text(const Grid& grid) {
  std::vector<std::string> parts;
  for (const std::string& column : spoken_columns(grid)) {
    const auto list = std::ranges::find(grid.parameters, column, &ParameterList::name);
    if (list != grid.parameters.end()) {
      if (list->values.size() < 2) continue;
      const bool larger = list->values.front() > list->values.back();
      parts.push_back(fmt::format("{} {}", larger ? "largest" : "smallest", column));
    } else if (column == "lambda") {
      parts.insert(parts.begin(), "strongest sharing");
    }
  }
  if (std::ranges::find(grid.columns, "C") != grid.columns.end()) parts.emplace_back("smallest C");
  return fmt::format("{}", fmt::join(parts, " and "));
}

}  // namespace

Json json_grid(const Selection& selection) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < selection.ranked.size(); ++i) {
    const Ranked& one = selection.ranked[i];
    Json row = json_point(selection.grid, one.point);
    row["score"] = json_number(one.score);
    row["standard_error"] = json_number(one.standard_error);
    row["rank"] = i + 1;
    row["chosen"] = one.point == selection.chosen;
    row["folds"] = Json::array();
    const Matrix& cells = selection.scores.cells.at(one.point);
    for (Index k = 0; k < cells.rows(); ++k)
      row["folds"].push_back(json_number(mean_score(cells.row(k))));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json json_selection(const Selection& selection) {
  Json out = {{"method", selection.grid.method->name},
              {"chosen", json_point(selection.grid, selection.chosen)},
              {"best", json_point(selection.grid, selection.ranked.front().point)},
              {"score", to_string(selection.score)},
              {"value", json_number(selection.of_chosen().score)},
              {"standard_error", json_number(selection.of_chosen().standard_error)}};
  const Confidence& sure = selection.confidence;
  out["confidence"] = {
      {"points", selection.ranked.size()},      {"within_one_standard_error", sure.within},
      {"chosen_again", sure.chosen_again},      {"chosen_again_or_neighbour", sure.near},
      {"optimism", json_number(sure.optimism)}, {"resamples", sure.resamples}};
  out["rows"] = selection.scores.rows;
  out["fits"] = selection.scores.fits;
  out["fits_reused"] = selection.scores.reused;
  out["fits_short"] = selection.scores.unconverged;
  out["points_saved"] = selection.saved;
  out["fits_saved_at_most"] = selection.saved * selection.scores.cells.begin()->second.rows();
  out["worst_gap"] = json_number(selection.scores.worst_gap);
  out["grid"] = json_grid(selection);
  out["alternatives"] = Json::array();
  for (const Alternative& one : selection.alternatives)
    out["alternatives"].push_back({{"method", one.settings.method->name},
                                   {"kernels", text_of(one.settings.kernels)},
                                   {"smooth", one.settings.smooth},
                                   {"value", json_number(one.score)},
                                   {"standard_error", json_number(one.standard_error)},
                                   {"better", json_number(one.better)},
                                   {"better_error", json_number(one.better_error)},
                                   {"would_do_better", one.would_do_better()}});
  return out;
}

void print_contest(const Contest& contest) {
  const Score score = contest.chosen().score;
  fmt::print("{} by {}, each at its best point\n", plural(std::ssize(contest.contenders), "method"),
             contest.chosen().judged_by);
  Table table({"method", score_name(score), "std. error", "behind", "its error", "points", "at"},
              "lrrrrrl");
  for (const Contender& one : contest.contenders) {
    const Selection& selection = one.selection;
    const bool best = &one == &contest.contenders[contest.best];
    table.add({contest.name(one), score_text(selection.of_chosen().score, score),
               score_text(selection.of_chosen().standard_error, score),
               best ? "best" : score_text(one.behind, score),
               best ? "" : score_text(one.behind_error, score),
               fmt::to_string(selection.ranked.size()),
               point_text(selection.grid, selection.chosen)});
  }
  fmt::print("{}", table.text());
  for (const Contest::LeftOut& one : contest.left_out)
    fmt::print("  left out: {}: {}\n",
               name_of(contest.candidates[one.candidate], contest.candidates),
               with_options(one.why));
  fmt::print("\nthe best, {}:\n", contest.name(contest.contenders[contest.best]));
}

Json json_contest(const Contest& contest) {
  Json out = {{"methods", Json::array()}, {"left_out", Json::array()}};
  for (std::size_t k = 0; k < contest.contenders.size(); ++k) {
    const Contender& one = contest.contenders[k];
    const Selection& selection = one.selection;
    out["methods"].push_back({{"name", contest.name(one)},
                              {"method", selection.grid.method->name},
                              {"kernels", text_of(selection.settings.kernels)},
                              {"smooth", selection.settings.smooth},
                              {"value", json_number(selection.of_chosen().score)},
                              {"standard_error", json_number(selection.of_chosen().standard_error)},
                              {"behind", json_number(one.behind)},
                              {"behind_error", json_number(one.behind_error)},
                              {"best", k == contest.best},
                              {"points", selection.ranked.size()},
                              {"fits", selection.scores.fits},
                              {"fits_short", selection.scores.unconverged},
                              {"optimism", json_number(selection.confidence.optimism)},
                              {"chosen", json_point(selection.grid, selection.chosen)}});
  }
  for (const Contest::LeftOut& one : contest.left_out) {
    const Candidate& candidate = contest.candidates[one.candidate];
    out["left_out"].push_back({{"name", name_of(candidate, contest.candidates)},
                               {"method", candidate.grid.method->name},
                               {"why", with_options(one.why)}});
  }
  return out;
}

// Where the best is at the end of a list, better ones may lie beyond.
std::string edges_text(const Selection& selection, bool all_share) {
  const Grid& grid = selection.grid;
  const GridPoint& point = selection.chosen;
  std::vector<std::string> ends;
  if (grid.C.size() > 2 && (point.C == 0 || point.C + 1 == std::ssize(grid.C)))
    ends.emplace_back("--C");
  // Beyond lambda_max, inf and 0 there is nothing new.
  const bool most = point.lambda == 0 && !std::isinf(grid.lambda.front().value) && !all_share;
  const bool least =
      point.lambda + 1 == std::ssize(grid.lambda) && grid.lambda.back().value != 0 && !all_share;
  if (has_lambda(grid, point.norm) && grid.lambda.size() > 2 && (most || least))
    ends.emplace_back("--lambda");
  std::vector<std::string> names;
  for (std::size_t k = 0; k < grid.parameters.size(); ++k) {
    const ParameterList& list = grid.parameters[k];
    const Index place = point.parameters[k];
    const double value = list.values[static_cast<std::size_t>(place)];
    const Parameter& rule = parameter_named(*grid.method, list.name);
    if (list.values.size() > 2 && (place == 0 || place + 1 == std::ssize(list.values)) &&
        value > rule.least && value < rule.most)
      names.push_back(list.name);
  }
  if (!names.empty()) ends.push_back(fmt::format("{} in --parameters", fmt::join(names, ", ")));
  if (ends.empty()) return "";
  return fmt::format("note: the choice is at the end of {}; a longer list may hold a better one.\n",
                     fmt::join(ends, " and "));
}

void print_selection(const Selection& selection) {
  const Ranked& chosen = selection.of_chosen();
  const Ranked& best = selection.ranked.front();
  const Confidence& sure = selection.confidence;
  fmt::print("{}, {}: {} by {}\n", size_text(selection.grid), selection.judged_by,
             plural(selection.scores.fits, "fit"), score_name(selection.score));
  fmt::print("{}\n", counts_text(selection));
  const Grid& grid = selection.grid;
  std::vector<std::string> header = {""};
  std::string alignment = "l";
  for (const std::string& column : grid.columns) {
    header.push_back(column);
    alignment += column == "norm" || column == "normalise" ? 'l' : 'r';
  }
  header.insert(header.end(), {score_name(selection.score), "std. error"});
  Table table(std::move(header), alignment);
  for (std::size_t i = 0; i < std::min<std::size_t>(5, selection.ranked.size()); ++i) {
    const Ranked& one = selection.ranked[i];
    std::vector<std::string> row = {fmt::to_string(i + 1)};
    for (const std::string& column : grid.columns) row.push_back(label_at(grid, one.point, column));
    row.insert(row.end(), {score_text(one.score, selection.score),
                           score_text(one.standard_error, selection.score)});
    table.add(std::move(row));
  }
  fmt::print("{}\n", table.text());
  fmt::print("chosen: {}: {}\n", point_text(selection.grid, selection.chosen),
             score_text(chosen.score, selection.score));
  if (selection.one_se)
    fmt::print("  the {} within one standard error ({}) of the best\n", simplest_text(grid),
               score_text(best.standard_error, selection.score));
  fmt::print(
      "how sure: {} of {} points are within one standard error of the best; in {} resamples of "
      "the scores\n  this point is best in {:.0f} %, it or a neighbour in {:.0f} %",
      sure.within, selection.ranked.size(), sure.resamples, 100 * sure.chosen_again,
      100 * sure.near);
  if (!std::isnan(sure.optimism))
    fmt::print("; the best score is too good by about {}",
               score_text(sure.optimism, selection.score));
  fmt::print("\n");
  if (selection.coarse)
    fmt::print("coarse to fine: {} of {} points looked at; {} points saved, at most {} fits\n",
               selection.ranked.size(),
               selection.ranked.size() + static_cast<std::size_t>(selection.saved), selection.saved,
               selection.saved * selection.scores.cells.begin()->second.rows());
  for (const Alternative& one : selection.alternatives)
    if (one.would_do_better())
      fmt::print("{} would score {}, this model {}: try {}\n",
                 alternative_name(one, selection.settings), score_text(one.score, selection.score),
                 score_text(chosen.score, selection.score),
                 alternative_options(one, selection.settings));
  if (selection.scores.unconverged > 0)
    fmt::print("{} of {} fits stopped short of the tolerance (worst relative gap {:.1e})\n",
               selection.scores.unconverged, selection.scores.fits, selection.scores.worst_gap);
}

}  // namespace coterie::app
