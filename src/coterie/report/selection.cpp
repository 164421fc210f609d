#include "coterie/report/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "coterie/data/names.hpp"
#include "coterie/report/text.hpp"

namespace coterie {
namespace {

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

// A value of a column as people read it.
std::string value_label(const Grid& grid, const std::string& column, const std::string& value) {
  const bool parameter = is_parameter(grid, column);
  if (column == "normalise") return value;
  if (column == "lambda" && !parameter) return lambda_label(value);
  if (parameter && parameter_named(*grid.method, column).whole) return value;
  const double number = parse_numbers(value, column).values.front();
  return column == "norm" ? short_number(number) : power_text(number);
}

// One list of the grid as it is drawn: numbers rise.
struct GridAxis {
  std::string name;
  std::vector<std::string> labels = {""};
  std::function<Index(const GridPoint&)> place = [](const GridPoint&) { return Index{0}; };
};

GridAxis axis_of(const Grid& grid, const std::string& column) {
  GridAxis axis;
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
  for (const std::string& value : values) axis.labels.push_back(value_label(grid, column, value));
  if (falling) std::ranges::reverse(axis.labels);
  const Index last = std::ssize(values) - 1;
  axis.place = [=](const GridPoint& p) { return falling ? last - place(p) : place(p); };
  return axis;
}

// A heat map without its panels.
HeatMap frame_of(const Selection& selection, const GridAxis& x, const GridAxis& y) {
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
HeatMap method_heat_map(const Selection& selection) {
  std::vector<GridAxis> axes;
  for (const std::string& column : spoken_columns(selection.grid))
    axes.push_back(axis_of(selection.grid, column));
  std::ranges::stable_sort(axes, std::ranges::greater{},
                           [](const GridAxis& axis) { return axis.labels.size(); });
  const GridAxis x = axes.empty() ? GridAxis{} : axes[0];
  GridAxis y{.name = "method", .labels = {selection.grid.method->name}};  // of a single row
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
  return map;
}

}  // namespace

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

bool is_parameter(const Grid& grid, const std::string& column) {
  return std::ranges::find(grid.parameters, column, &ParameterList::name) != grid.parameters.end();
}

std::string label_at(const Grid& grid, const GridPoint& point, const std::string& column) {
  return value_label(grid, column, value_at(grid, point, column));
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

std::string csv_grid(const Selection& selection) {
  std::string out =
      fmt::format("{},score,standard_error,rank,chosen", fmt::join(selection.grid.columns, ","));
  const Index folds = selection.scores.cells.begin()->second.rows();
  for (Index k = 0; k < folds; ++k) out += fmt::format(",fold{}", k + 1);
  out += "\n";
  for (std::size_t i = 0; i < selection.ranked.size(); ++i) {
    const Ranked& one = selection.ranked[i];
    for (const std::string& column : selection.grid.columns)
      out += value_at(selection.grid, one.point, column) + ",";
    out += fmt::format("{},{},{},{}", number_or_nothing(one.score),
                       number_or_nothing(one.standard_error), i + 1,
                       one.point == selection.chosen ? 1 : 0);
    const Matrix& cells = selection.scores.cells.at(one.point);
    for (Index k = 0; k < folds; ++k) out += "," + number_or_nothing(mean_score(cells.row(k)));
    out += "\n";
  }
  return out;
}

HeatMap heat_map_of(const Selection& selection) {
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
  return map;
}

std::string csv_contest(const Contest& contest) {
  std::string out = "method,score,standard_error,behind,behind_error,best,points,chosen\n";
  for (std::size_t k = 0; k < contest.contenders.size(); ++k) {
    const Contender& one = contest.contenders[k];
    const Ranked& chosen = one.selection.of_chosen();
    out += fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(contest.name(one)),
                       number_or_nothing(chosen.score), number_or_nothing(chosen.standard_error),
                       number_or_nothing(one.behind), number_or_nothing(one.behind_error),
                       k == contest.best ? 1 : 0, one.selection.ranked.size(),
                       csv_field(point_text(one.selection.grid, one.selection.chosen)));
  }
  return out;
}

}  // namespace coterie
