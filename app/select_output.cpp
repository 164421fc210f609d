#include "select_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "coterie/report/heat_map.hpp"
#include "messages.hpp"

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

std::string lambda_label(const Lambda& choice) {
  return power_text(choice.value) + (choice.relative ? "max" : "");
}

bool is_parameter(const Grid& grid, const std::string& column) {
  return std::ranges::find(grid.parameters, column, &ParameterList::name) != grid.parameters.end();
}

// A value of a column as people read it.
std::string label_of(const Grid& grid, const std::string& column, const std::string& value) {
  const bool parameter = is_parameter(grid, column);
  if (column == "normalise") return value;
  if (column == "lambda" && !parameter) return lambda_label(value);
  if (parameter && parameter_named(*grid.method, column).whole) return value;
  const double number = parse_numbers(value, column).values.front();
  return column == "norm" ? short_number(number) : power_text(number);
}

std::string label_at(const Grid& grid, const GridPoint& point, const std::string& column) {
  return label_of(grid, column, value_at(grid, point, column));
}

// The columns with C and lambda first, as they are read aloud.
std::vector<std::string> spoken_columns(const Grid& grid) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& column) {
    if (!is_parameter(grid, column) &&
        std::ranges::find(grid.columns, column) != grid.columns.end())
      out.push_back(column);
  };
  add("C");
  add("lambda");
  for (const ParameterList& list : grid.parameters) out.push_back(list.name);
  add("norm");
  add("normalise");
  return out;
}

std::string point_text(const Grid& grid, const GridPoint& point) {
  std::vector<std::string> parts;
  for (const std::string& column : spoken_columns(grid))
    parts.push_back(fmt::format("{} {}", column, label_at(grid, point, column)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Json json_point(const Grid& grid, const GridPoint& point) {
  Json out = Json::object();
  for (const std::string& column : spoken_columns(grid)) {
    const std::string value = value_at(grid, point, column);
    const bool text = column == "normalise" || (column == "lambda" && !is_parameter(grid, column));
    out[column] = text ? Json(value) : json_number(parse_numbers(value, column).values.front());
  }
  return out;
}

// One list of the grid as it is drawn: numbers rise.
struct Axis {
  std::string name;
  std::vector<std::string> labels = {""};
  std::function<Index(const GridPoint&)> place = [](const GridPoint&) { return Index{0}; };
};

Axis axis_of(const Grid& grid, const std::string& column) {
  Axis axis;
  axis.name = column;
  std::function<Index(const GridPoint&)> place;
  std::vector<std::string> values;
  const auto add = [&](const auto& list) {
    for (const auto& value : list) values.push_back(text_of(value));
  };
  bool falling = false;
  for (std::size_t k = 0; k < grid.parameters.size(); ++k) {
    const ParameterList& list = grid.parameters[k];
    if (list.name != column) continue;
    add(list.values);
    falling = list.values.front() > list.values.back();
    place = [k](const GridPoint& p) { return p.parameters[k]; };
  }
  if (!place && column == "lambda") {
    add(grid.lambda);
    falling = true;
    place = [](const GridPoint& p) { return p.lambda; };
  } else if (column == "C") {
    add(grid.C);
    place = [](const GridPoint& p) { return p.C; };
  } else if (column == "norm") {
    add(grid.norm);
    place = [](const GridPoint& p) { return p.norm; };
  } else if (column == "normalise") {
    add(grid.normalise);
    place = [](const GridPoint& p) { return p.normalise; };
  }
  axis.labels.clear();
  for (const std::string& value : values) axis.labels.push_back(label_of(grid, column, value));
  if (falling) std::ranges::reverse(axis.labels);
  const Index last = std::ssize(values) - 1;
  axis.place = [=](const GridPoint& p) { return falling ? last - place(p) : place(p); };
  return axis;
}

// A heat map without its panels.
HeatMap frame_of(const Selection& selection, const Axis& x, const Axis& y) {
  HeatMap map;
  map.title = fmt::format("{} by {}", score_name(selection.score), selection.judged_by);
  map.x_name = x.name;
  map.y_name = y.name;
  map.x_labels = x.labels;
  map.y_labels = y.labels;
  map.value_name = fmt::format("mean {} over tasks", score_name(selection.score));
  map.higher_is_better = higher_is_better(selection.score);
  return map;
}

// The two longest lists, and the best over the others.
std::string method_heat_map(const Selection& selection) {
  std::vector<Axis> axes;
  for (const std::string& column : spoken_columns(selection.grid))
    axes.push_back(axis_of(selection.grid, column));
  std::ranges::stable_sort(axes, std::ranges::greater{},
                           [](const Axis& axis) { return axis.labels.size(); });
  const Axis x = axes.empty() ? Axis{} : axes[0];
  Axis y{.name = "method", .labels = {selection.grid.method->name}};  // of a single row
  if (axes.size() > 1 && axes[1].labels.size() > 1) y = axes[1];
  HeatMap map = frame_of(selection, x, y);
  std::vector<std::string> others;
  for (std::size_t a = 2; a < axes.size(); ++a)
    if (axes[a].labels.size() > 1) others.push_back(axes[a].name);
  HeatPanel panel;
  panel.title = selection.grid.method->name;
  if (!others.empty()) panel.title += fmt::format(", best over {}", fmt::join(others, " and "));
  panel.values = Matrix::Constant(std::ssize(y.labels), std::ssize(x.labels),
                                  std::numeric_limits<double>::quiet_NaN());
  for (const Ranked& one : selection.ranked) {
    double& cell = panel.values(y.place(one.point), x.place(one.point));
    if (std::isnan(cell)) cell = one.score;
  }
  const auto mark = [&](const GridPoint& point, const std::string& word) {
    panel.marks.push_back({y.place(point), x.place(point), word});
  };
  const GridPoint& best = selection.ranked.front().point;
  const bool apart =
      y.place(best) != y.place(selection.chosen) || x.place(best) != x.place(selection.chosen);
  if (apart) mark(best, "best");
  mark(selection.chosen, best == selection.chosen ? "best" : "chosen");
  map.panels.push_back(std::move(panel));
  return as_svg(map);
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
  if (!selection.grid.method->walks_lambda())
    return fmt::format("{}, a fit each, in {} (fits one after the other in one fold)", product,
                       plural(scores.rows, "row"));
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

std::string size_text(const Grid& grid) {
  std::vector<std::string> parts;
  for (const std::string& column : spoken_columns(grid)) {
    const std::size_t size = axis_of(grid, column).labels.size();
    const bool always = !is_parameter(grid, column) && (column == "C" || column == "lambda");
    if (!always && size == 1) continue;
    const char* many = column == "norm"        ? "norms"
                       : column == "normalise" ? "normalisations"
                                               : nullptr;
    parts.push_back(fmt::format("{} {}", size, many ? many : column));
  }
  return parts.empty() ? "1 point" : fmt::format("{}", fmt::join(parts, " x "));
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
  std::string out =
      fmt::format("{},score,standard_error,rank,chosen", fmt::join(selection.grid.columns, ","));
  const Index folds = selection.scores.cells.begin()->second.rows();
  for (Index k = 0; k < folds; ++k) out += fmt::format(",fold{}", k + 1);
  out += "\n";
  const auto number = [](double value) {
    return std::isnan(value) ? std::string() : fmt::format("{}", value);
  };
  for (std::size_t i = 0; i < selection.ranked.size(); ++i) {
    const Ranked& one = selection.ranked[i];
    for (const std::string& column : selection.grid.columns)
      out += value_at(selection.grid, one.point, column) + ",";
    out += fmt::format("{},{},{},{}", number(one.score), number(one.standard_error), i + 1,
                       one.point == selection.chosen ? 1 : 0);
    const Matrix& cells = selection.scores.cells.at(one.point);
    for (Index k = 0; k < folds; ++k) out += "," + number(mean_score(cells.row(k)));
    out += "\n";
  }
  return out;
}

std::string heat_map(const Selection& selection) {
  const Grid& grid = selection.grid;
  if (!grid.method->is_main()) return method_heat_map(selection);
  const Index L = std::ssize(grid.lambda);
  HeatMap map = frame_of(selection, axis_of(grid, "lambda"), axis_of(grid, "C"));
  map.panels_across = std::ssize(grid.norm);
  for (Index normalise = 0; normalise < std::ssize(grid.normalise); ++normalise)
    for (Index norm = 0; norm < std::ssize(grid.norm); ++norm) {
      HeatPanel panel;
      const bool shares = has_lambda(grid, norm);
      panel.title = fmt::format("norm {}, {}{}", grid.norm[static_cast<std::size_t>(norm)],
                                to_string(grid.normalise[static_cast<std::size_t>(normalise)]),
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

std::string csv_contest(const Contest& contest) {
  std::string out = "method,score,standard_error,behind,behind_error,best,points,chosen\n";
  const auto number = [](double value) {
    return std::isnan(value) ? std::string() : fmt::format("{}", value);
  };
  for (std::size_t k = 0; k < contest.contenders.size(); ++k) {
    const Contender& one = contest.contenders[k];
    const Ranked& chosen = one.selection.of_chosen();
    out +=
        fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(contest.name(one)), number(chosen.score),
                    number(chosen.standard_error), number(one.behind), number(one.behind_error),
                    k == contest.best ? 1 : 0, one.selection.ranked.size(),
                    csv_field(point_text(one.selection.grid, one.selection.chosen)));
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
