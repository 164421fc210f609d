#include "select_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coterie/report/heat_map.hpp"

namespace coterie::app {
namespace {

std::string score_text(double value, Score score) {
  if (std::isnan(value)) return "-";
  return score == Score::accuracy || score == Score::balanced_accuracy
             ? fmt::format("{:.2f} %", 100 * value)
             : fmt::format("{:.4f}", value);
}

std::string score_name(Score score) {
  switch (score) {
    case Score::accuracy:
      return "accuracy";
    case Score::balanced_accuracy:
      return "balanced accuracy";
    case Score::auc:
      return "AUC";
    case Score::log_loss:
      break;
  }
  return "log loss";
}

// 1024 is 2^10: grids are made of powers of two.
std::string power_text(double value) {
  int exponent = 0;
  if (std::isfinite(value) && value > 0 && std::frexp(value, &exponent) == 0.5 &&
      std::abs(exponent - 1) > 3)
    return fmt::format("2^{}", exponent - 1);
  return short_number(value);
}

std::string lambda_label(const std::string& text) {
  const LambdaChoice choice = parse_lambda(text);
  return power_text(choice.value) + (choice.relative ? "max" : "");
}

std::string point_text(const Grid& grid, const GridPoint& point) {
  const TrainSettings at = settings_at({}, grid, point);
  return fmt::format("C {}, lambda {}, norm {}, normalise {}", power_text(at.C),
                     lambda_label(at.lambda), at.norm, at.normalise);
}

Json json_point(const Grid& grid, const GridPoint& point) {
  const TrainSettings at = settings_at({}, grid, point);
  return {{"C", at.C},
          {"lambda", at.lambda},
          {"norm", json_number(at.norm)},
          {"normalise", at.normalise}};
}

}  // namespace

std::string size_text(const Grid& grid) {
  std::string out = fmt::format("{} C x {} lambda", grid.C.size(), grid.lambda.size());
  if (grid.norm.size() > 1) out += fmt::format(" x {} norms", grid.norm.size());
  if (grid.normalise.size() > 1) out += fmt::format(" x {} normalisations", grid.normalise.size());
  return out;
}

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

std::string csv_grid(const Selection& selection) {
  std::string out = "norm,normalise,C,lambda,score,standard_error,rank,chosen";
  const Index folds = selection.scores.cells.begin()->second.rows();
  for (Index k = 0; k < folds; ++k) out += fmt::format(",fold{}", k + 1);
  out += "\n";
  const auto number = [](double value) {
    return std::isnan(value) ? std::string() : fmt::format("{}", value);
  };
  for (std::size_t i = 0; i < selection.ranked.size(); ++i) {
    const Ranked& one = selection.ranked[i];
    const TrainSettings at = settings_at({}, selection.grid, one.point);
    out += fmt::format("{},{},{},{},{},{},{},{}", at.norm, at.normalise, at.C, at.lambda,
                       number(one.score), number(one.standard_error), i + 1,
                       one.point == selection.chosen ? 1 : 0);
    const Matrix& cells = selection.scores.cells.at(one.point);
    for (Index k = 0; k < folds; ++k) out += "," + number(mean_score(cells.row(k)));
    out += "\n";
  }
  return out;
}

std::string heat_map(const Selection& selection) {
  const Grid& grid = selection.grid;
  HeatMap map;
  map.title = fmt::format("{} by {}", score_name(selection.score), selection.method);
  map.x_name = "lambda";
  map.y_name = "C";
  const Index L = std::ssize(grid.lambda);
  for (Index l = L - 1; l >= 0; --l)
    map.x_labels.push_back(lambda_label(grid.lambda[static_cast<std::size_t>(l)]));
  for (const double C : grid.C) map.y_labels.push_back(power_text(C));
  map.value_name = fmt::format("mean {} over tasks", score_name(selection.score));
  map.higher_is_better = higher_is_better(selection.score);
  map.panels_across = std::ssize(grid.norm);
  for (Index normalise = 0; normalise < std::ssize(grid.normalise); ++normalise)
    for (Index norm = 0; norm < std::ssize(grid.norm); ++norm) {
      HeatPanel panel;
      const bool shares = has_lambda(grid, norm);
      panel.title = fmt::format("norm {}, {}{}", grid.norm[static_cast<std::size_t>(norm)],
                                grid.normalise[static_cast<std::size_t>(normalise)],
                                shares ? "" : ", any lambda");
      panel.values =
          Matrix::Constant(std::ssize(grid.C), L, std::numeric_limits<double>::quiet_NaN());
      const auto column = [&](const GridPoint& p) { return shares ? L - 1 - p.lambda : L - 1; };
      for (const Ranked& one : selection.ranked) {
        if (one.point.norm != norm || one.point.normalise != normalise) continue;
        if (shares)
          panel.values(one.point.C, column(one.point)) = one.score;
        else
          panel.values.row(one.point.C).setConstant(one.score);
      }
      const GridPoint& best = selection.ranked.front().point;
      const auto here = [&](const GridPoint& p) {
        return p.norm == norm && p.normalise == normalise;
      };
      if (here(best) && best != selection.chosen)
        panel.marks.push_back({best.C, column(best), "best"});
      if (here(selection.chosen))
        panel.marks.push_back({selection.chosen.C, column(selection.chosen),
                               best == selection.chosen ? "best" : "chosen"});
      map.panels.push_back(std::move(panel));
    }
  return as_svg(map);
}

Json json_selection(const Selection& selection) {
  Json out = {{"chosen", json_point(selection.grid, selection.chosen)},
              {"best", json_point(selection.grid, selection.ranked.front().point)},
              {"score", to_string(selection.score)},
              {"value", json_number(selection.of_chosen().score)},
              {"standard_error", json_number(selection.of_chosen().standard_error)}};
  const Confidence& sure = selection.confidence;
  out["confidence"] = {
      {"points", selection.ranked.size()},      {"within_one_standard_error", sure.within},
      {"chosen_again", sure.chosen_again},      {"chosen_again_or_neighbour", sure.near},
      {"optimism", json_number(sure.optimism)}, {"resamples", sure.resamples}};
  out["fits"] = selection.scores.fits;
  out["fits_reused"] = selection.scores.reused;
  out["fits_short"] = selection.scores.short_of_it;
  out["points_saved"] = selection.saved;
  out["fits_saved_at_most"] = selection.saved * selection.scores.cells.begin()->second.rows();
  out["worst_gap"] = json_number(selection.scores.worst_gap);
  out["grid"] = json_grid(selection);
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
  const bool most = point.lambda == 0 && grid.lambda.front() != "inf" && !all_share;
  const bool least =
      point.lambda + 1 == std::ssize(grid.lambda) && grid.lambda.back() != "0" && !all_share;
  if (has_lambda(grid, point.norm) && grid.lambda.size() > 2 && (most || least))
    ends.emplace_back("--lambda");
  if (ends.empty()) return "";
  return fmt::format("note: the choice is at the end of {}; a longer list may hold a better one.\n",
                     fmt::join(ends, " and "));
}

void print_selection(const Selection& selection) {
  const Ranked& chosen = selection.of_chosen();
  const Ranked& best = selection.ranked.front();
  const Confidence& sure = selection.confidence;
  fmt::print("{}, {}: {} by {}\n", size_text(selection.grid), selection.method,
             plural(selection.scores.fits, "fit"), score_name(selection.score));
  Table table({"", "norm", "normalise", "C", "lambda", score_name(selection.score), "std. error"},
              "lll");
  for (std::size_t i = 0; i < std::min<std::size_t>(5, selection.ranked.size()); ++i) {
    const Ranked& one = selection.ranked[i];
    const TrainSettings at = settings_at({}, selection.grid, one.point);
    table.add({fmt::to_string(i + 1), short_number(at.norm), at.normalise, power_text(at.C),
               lambda_label(at.lambda), score_text(one.score, selection.score),
               score_text(one.standard_error, selection.score)});
  }
  fmt::print("{}\n", table.text());
  fmt::print("chosen: {}: {}\n", point_text(selection.grid, selection.chosen),
             score_text(chosen.score, selection.score));
  if (selection.one_se)
    fmt::print(
        "  the strongest sharing and smallest C within one standard error ({}) of the best\n",
        score_text(best.standard_error, selection.score));
  fmt::print(
      "how sure: {} of {} points are within one standard error of the best; in {} resamples of "
      "the scores\n  this point is best in {:.0f} %, it or a neighbour in {:.0f} %",
      sure.within, selection.ranked.size(), sure.resamples, 100 * sure.chosen_again,
      100 * sure.near);
  if (!std::isnan(sure.optimism))
    fmt::print("; the score flatters by about {}", score_text(sure.optimism, selection.score));
  fmt::print("\n");
  if (selection.coarse)
    fmt::print("coarse to fine: {} of {} points looked at; {} points saved, at most {} fits\n",
               selection.ranked.size(),
               selection.ranked.size() + static_cast<std::size_t>(selection.saved), selection.saved,
               selection.saved * selection.scores.cells.begin()->second.rows());
  if (selection.scores.short_of_it > 0)
    fmt::print("{} of {} fits stopped short of the tolerance (worst relative gap {:.1e})\n",
               selection.scores.short_of_it, selection.scores.fits, selection.scores.worst_gap);
}

}  // namespace coterie::app
