#include "coterie/report/affinity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "coterie/report/svg.hpp"

namespace coterie {

namespace {

using svg::margin;
using svg::Point;

void check(const Affinity& affinity) {
  const Index n = std::ssize(affinity.names);
  const auto fail = [](const std::string& words) { throw InputError("affinity: " + words); };
  if (n == 0) fail("there are no tasks; name at least one");
  if (affinity.values.rows() != n || affinity.values.cols() != n)
    fail(fmt::format("there are {} x {} values for {} names", affinity.values.rows(),
                     affinity.values.cols(), n));
  for (const double value : affinity.values.reshaped())
    if (std::isfinite(value) && (value < 0 || value > 1))
      fail(fmt::format("a value is {}; it must lie in [0, 1]", svg::number_text(value)));
  if (!affinity.groups.empty() && std::ssize(affinity.groups) != n)
    fail(fmt::format("there are {} groups for {} names", affinity.groups.size(), n));
  if (affinity.order.empty()) return;
  std::vector<Index> sorted = affinity.order, all(n);
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), Index{0});
  if (sorted != all) fail(fmt::format("the order must hold each task once, 0 to {}", n - 1));
}

// Where the cells are.
struct Mosaic {
  Point corner;
  double cell;
  Point at(Index i, Index j) const {
    return {corner.x + static_cast<double>(j) * cell, corner.y + static_cast<double>(i) * cell};
  }
};

void draw_values(svg::Drawing& drawing, const Mosaic& mosaic, const Matrix& shares) {
  drawing.begin("values");
  for (Index i = 0; i < shares.rows(); ++i)
    for (Index j = 0; j < shares.cols(); ++j)
      if (std::isfinite(shares(i, j)))
        drawing.text(
            {mosaic.at(i, j).x + mosaic.cell / 2, mosaic.at(i, j).y + mosaic.cell / 2 + 3.2},
            fmt::format("{:.2f}", shares(i, j)),
            {.size = 9, .anchor = svg::Anchor::middle, .colour = svg::ink_on_ramp(shares(i, j))});
  drawing.end();
}

// A frame around tasks of one group that stand together.
void frame_groups(svg::Drawing& drawing, const Mosaic& mosaic, const std::vector<Index>& groups,
                  const std::vector<Index>& order) {
  const Index n = std::ssize(order);
  drawing.begin("groups");
  for (Index i = 0, end = 0; i < n; i = end) {
    for (end = i + 1; end < n && groups[order[end]] == groups[order[i]];) ++end;
    const double length = static_cast<double>(end - i) * mosaic.cell;
    if (end - i > 1)
      drawing.frame(mosaic.at(i, i), length, length, {.colour = "#d94801", .width = 1.8});
  }
  drawing.end();
}

}  // namespace

std::string as_svg(const Affinity& affinity) {
  check(affinity);
  const Index n = std::ssize(affinity.names);
  std::vector<Index> order = affinity.order;
  if (order.empty()) {
    order.resize(n);
    std::iota(order.begin(), order.end(), Index{0});
  }
  std::vector<std::string> names;
  for (const Index task : order) names.push_back(affinity.names[task]);

  const svg::Heading heading{affinity.title, affinity.value_name};

  // Room for every name up to 150 tasks; beyond, names are thinned out.
  const double count = static_cast<double>(n);
  const double cell = n <= 150 ? std::clamp(std::floor(780 / count), 12.0, 34.0)
                               : std::clamp(std::floor(1800 / count), 3.0, 12.0);
  const double side = cell * count;
  const double font = cell >= 13 ? 11 : 10;
  const svg::LabelPlan rows = svg::plan_rows(names, cell, font, svg::LabelKind::names),
                       columns = svg::plan_columns(names, cell, font, svg::LabelKind::names);
  const Point corner = {margin + std::max(rows.extent, columns.overhang),
                        margin + heading.height()};
  const Mosaic mosaic{corner, cell};

  Matrix shares(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) shares(i, j) = affinity.values(order[i], order[j]);

  svg::Drawing drawing;
  drawing.begin("cells", true);
  svg::draw_mosaic(drawing, corner, cell, shares);
  drawing.end();
  if (cell >= 24) draw_values(drawing, mosaic, shares);
  drawing.frame(corner, side, side, {.colour = "#999", .width = 0.5});
  if (!affinity.groups.empty()) frame_groups(drawing, mosaic, affinity.groups, order);
  svg::draw_rows(drawing, rows, names, corner, cell, font);
  svg::draw_columns(drawing, columns, names, {corner.x, corner.y + side}, cell, font);

  double right = corner.x + side + std::max(24.0, columns.overhang);
  const double bar = std::min(side, 260.0);
  right += svg::draw_colour_bar(drawing, {right, corner.y}, bar, 0, 1, false);
  const double width = std::max(right, margin + heading.width() + 1) + margin;
  heading.draw(drawing, {margin, margin}, width - 2 * margin);
  return drawing.finish(width, corner.y + side + columns.extent + margin, affinity.title);
}

}  // namespace coterie
