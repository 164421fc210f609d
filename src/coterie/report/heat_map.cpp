#include "coterie/report/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "coterie/report/svg.hpp"

namespace coterie {

namespace {

using svg::margin;
using svg::Point;

constexpr double label_font = 11, value_font = 9;
constexpr double panel_gap = 18, panel_title_height = 20;

void check(const HeatMap& map) {
  const Index rows = std::ssize(map.y_labels), columns = std::ssize(map.x_labels);
  if (rows == 0 || columns == 0)
    throw InputError("heat map: there are no labels of x or y; each needs at least one");
  if (map.panels.empty()) throw InputError("heat map: there are no panels; it needs at least one");
  for (Index k = 0; k < std::ssize(map.panels); ++k) {
    const HeatPanel& panel = map.panels[k];
    if (panel.values.rows() != rows || panel.values.cols() != columns)
      throw InputError(fmt::format(
          "heat map: panel {} has {} x {} values, but there are {} labels of y and {} of x", k,
          panel.values.rows(), panel.values.cols(), rows, columns));
    for (const HeatMark& mark : panel.marks)
      if (mark.row < 0 || mark.row >= rows || mark.column < 0 || mark.column >= columns)
        throw InputError(
            fmt::format("heat map: panel {} marks the cell ({}, {}), but has {} x {} cells", k,
                        mark.row, mark.column, rows, columns));
  }
}

// From values to the ramp, the same in all panels; the better end is dark.
struct ColourScale {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool higher_is_better = true;
  bool is_known() const { return low <= high; }
  // No more than rounding apart: one colour, in the middle.
  bool is_single() const { return !(high - low > 1e-9 * std::max(std::abs(low), std::abs(high))); }
  double share(double value) const {
    const double up = is_single() ? 0.5 : (value - low) / (high - low);
    return higher_is_better ? up : 1 - up;
  }
};

ColourScale find_scale(const HeatMap& map) {
  ColourScale out{.higher_is_better = map.higher_is_better};
  for (const HeatPanel& panel : map.panels)
    for (const double value : panel.values.reshaped())
      if (std::isfinite(value)) {
        out.low = std::min(out.low, value);
        out.high = std::max(out.high, value);
      }
  return out;
}

// Digits after the point that tell values apart at a hundredth or so of their range.
int find_decimals(const ColourScale& scale) {
  const double range = scale.is_known() && !scale.is_single() ? scale.high - scale.low : 1;
  return std::clamp(static_cast<int>(std::ceil(1.7 - std::log10(range))), 0, 4);
}

// The words of the marks in order of appearance.
std::vector<std::string> find_words(const HeatMap& map) {
  std::vector<std::string> out;
  for (const HeatPanel& panel : map.panels)
    for (const HeatMark& mark : panel.marks)
      if (std::find(out.begin(), out.end(), mark.word) == out.end()) out.push_back(mark.word);
  return out;
}

// The outline for the k-th word; further out for each outline that the cell already has.
void draw_mark(svg::Drawing& drawing, Index k, Index inner, Point corner, double width,
               double height) {
  constexpr std::array<std::string_view, 4> colours = {"#d94801", "#111111", "#8e1a7a", "#1a7a3a"};
  const double out = 0.5 + 3.0 * static_cast<double>(inner);
  const Point at = {corner.x - out, corner.y - out};
  drawing.frame(at, width + 2 * out, height + 2 * out, {.colour = "#fff", .width = 3.4});
  drawing.frame(at, width + 2 * out, height + 2 * out,
                {.colour = colours[static_cast<std::size_t>(k) % 4],
                 .width = 2,
                 .dashes = k % 8 < 4 ? "" : "3 2"});
}

svg::Heading make_heading(const HeatMap& map) {
  return {map.title, map.value_name.empty()
                         ? ""
                         : map.value_name +
                               (map.higher_is_better ? "; higher is better" : "; lower is better")};
}

struct MapLayout {
  Index across = 1, down = 1;  // panels
  double cell_width = 0, cell_height = 0;
  double panel_width = 0, panel_height = 0;
  svg::LabelPlan columns = {}, rows = {};
  double left = 0, top = 0;  // of the first panel's cells
  double head = 0;           // height of a panel's title
  double right = 0, bottom = 0;
  Point corner(Index panel) const {
    const Index row = panel / across, column = panel % across;
    return {left + static_cast<double>(column) * (panel_width + panel_gap),
            top + static_cast<double>(row) * (panel_height + panel_gap + head)};
  }
};

MapLayout lay_out(const HeatMap& map) {
  MapLayout out;
  const Index n = std::ssize(map.panels);
  out.across = n <= 3 ? n : n == 4 ? 2 : n <= 9 ? 3 : n <= 16 ? 4 : 6;
  if (map.panels_across > 0) out.across = std::min(n, map.panels_across);
  out.down = (n + out.across - 1) / out.across;
  const double columns = static_cast<double>(map.x_labels.size()),
               rows = static_cast<double>(map.y_labels.size());
  const double across = static_cast<double>(out.across), down = static_cast<double>(out.down);
  const double room = n == 1 ? 700 : (900 - (across - 1) * panel_gap) / across;
  out.cell_width = std::clamp(std::floor(room / columns), n == 1 ? 12.0 : 6.0, 56.0);
  out.cell_height = std::clamp(std::floor(0.68 * room / rows), std::min(out.cell_width, 12.0),
                               std::min(out.cell_width, 32.0));
  out.panel_width = out.cell_width * columns;
  out.panel_height = out.cell_height * rows;
  out.columns =
      svg::plan_columns(map.x_labels, out.cell_width, label_font, svg::LabelKind::ordered);
  out.rows = svg::plan_rows(map.y_labels, out.cell_height, label_font, svg::LabelKind::ordered);
  for (const HeatPanel& panel : map.panels)
    if (!panel.title.empty()) out.head = panel_title_height;
  out.left =
      margin + (map.y_name.empty() ? 0 : 20) + std::max(out.rows.extent, out.columns.overhang);
  out.top = margin + make_heading(map).height() + out.head;
  out.right = out.left + across * out.panel_width + (across - 1) * panel_gap;
  out.bottom = out.top + down * out.panel_height + (down - 1) * (panel_gap + out.head);
  return out;
}

void draw_cells(svg::Drawing& drawing, const HeatMap& map, const HeatPanel& panel,
                const MapLayout& at, Point corner, const ColourScale& scale, int decimals) {
  const Index rows = panel.values.rows();
  const auto cell = [&](Index row, Index column) {
    return Point{corner.x + static_cast<double>(column) * at.cell_width,
                 corner.y + static_cast<double>(rows - 1 - row) * at.cell_height};
  };
  double widest = 0;
  for (const double value : panel.values.reshaped())
    if (std::isfinite(value))
      widest =
          std::max(widest, svg::text_width(fmt::format("{:.{}f}", value, decimals), value_font));
  const bool with_text = widest + 2 <= at.cell_width && at.cell_height >= value_font + 3;

  drawing.begin("cells", true);
  for (Index row = 0; row < rows; ++row)
    for (Index column = 0; column < panel.values.cols(); ++column) {
      const double value = panel.values(row, column);
      const auto tip = [&](const std::string& words) {
        return with_text ? ""
                         : fmt::format("{} = {}, {} = {}: {}", map.y_name, map.y_labels[row],
                                       map.x_name, map.x_labels[column], words);
      };
      const bool known = std::isfinite(value);
      drawing.rectangle(cell(row, column), at.cell_width, at.cell_height,
                        known ? svg::ramp(scale.share(value)) : std::string(svg::missing),
                        tip(known ? fmt::format("{:.{}f}", value, decimals) : "not evaluated"));
    }
  drawing.end();
  drawing.begin("hatching");
  for (Index row = 0; row < rows; ++row)
    for (Index column = 0; column < panel.values.cols(); ++column)
      if (!std::isfinite(panel.values(row, column)))
        svg::draw_hatch(drawing, cell(row, column), at.cell_width, at.cell_height);
  drawing.end();
  drawing.frame(corner, at.panel_width, at.panel_height, {.colour = "#999", .width = 0.5});
  if (!with_text) return;
  drawing.begin("values");
  for (Index row = 0; row < rows; ++row)
    for (Index column = 0; column < panel.values.cols(); ++column) {
      const double value = panel.values(row, column);
      if (!std::isfinite(value)) continue;
      const Point from = cell(row, column);
      drawing.text({from.x + at.cell_width / 2, from.y + at.cell_height / 2 + 0.36 * value_font},
                   fmt::format("{:.{}f}", value, decimals),
                   {.size = value_font,
                    .anchor = svg::Anchor::middle,
                    .colour = svg::ink_on_ramp(scale.share(value))});
    }
  drawing.end();
}

// One line for each word; with a single panel it also says which cell and its value. Returns the height used.
double draw_legend(svg::Drawing& drawing, const HeatMap& map, const std::vector<std::string>& words,
                   Point from, double width, int decimals) {
  double y = from.y;
  const auto entry = [&](const std::string& text, auto symbol) {
    symbol(Point{from.x + 4, y});
    drawing.text_within(width - 30, {from.x + 28, y + 9}, text, {.size = label_font});
    y += 20;
  };
  drawing.begin("legend");
  for (Index k = 0; k < std::ssize(words); ++k) {
    std::string text = words[k];
    if (map.panels.size() == 1)
      for (const HeatMark& mark : map.panels[0].marks)
        if (mark.word == words[k]) {
          const double value = map.panels[0].values(mark.row, mark.column);
          text += fmt::format(
              "{} {} at {} {}, {} {}", text == words[k] ? ":" : ";",
              std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : "not evaluated",
              map.y_name, map.y_labels[mark.row], map.x_name, map.x_labels[mark.column]);
        }
    entry(text, [&](Point at) { draw_mark(drawing, k, 0, at, 14, 10); });
  }
  bool any_missing = false;
  for (const HeatPanel& panel : map.panels) any_missing = any_missing || !panel.values.allFinite();
  if (any_missing)
    entry("not evaluated", [&](Point at) {
      drawing.rectangle(at, 14, 10, svg::missing);
      svg::draw_hatch(drawing, at, 14, 10);
    });
  drawing.end();
  return y - from.y;
}

}  // namespace

std::string as_svg(const HeatMap& map) {
  check(map);
  const ColourScale scale = find_scale(map);
  const int decimals = find_decimals(scale);
  const std::vector<std::string> words = find_words(map);
  const MapLayout at = lay_out(map);
  const svg::Heading heading = make_heading(map);
  svg::Drawing drawing;

  const Index n = std::ssize(map.panels);
  std::vector<std::string> rows_down(map.y_labels.rbegin(), map.y_labels.rend());
  for (Index k = 0; k < n; ++k) {
    const HeatPanel& panel = map.panels[k];
    const Point corner = at.corner(k);
    if (!panel.title.empty())
      drawing.text_within(at.panel_width, {corner.x + at.panel_width / 2, corner.y - 7},
                          panel.title, {.anchor = svg::Anchor::middle});
    draw_cells(drawing, map, panel, at, corner, scale, decimals);
    if (k % at.across == 0)
      svg::draw_rows(drawing, at.rows, rows_down, corner, at.cell_height, label_font);
    if (k + at.across >= n)
      svg::draw_columns(drawing, at.columns, map.x_labels, {corner.x, corner.y + at.panel_height},
                        at.cell_width, label_font);
    // Marks on top of the cells' values: they lie around a cell, not on it.
    for (auto mark = panel.marks.begin(); mark != panel.marks.end(); ++mark)
      draw_mark(
          drawing, std::find(words.begin(), words.end(), mark->word) - words.begin(),
          std::count_if(
              panel.marks.begin(), mark,
              [&](const HeatMark& m) { return m.row == mark->row && m.column == mark->column; }),
          {corner.x + static_cast<double>(mark->column) * at.cell_width,
           corner.y + static_cast<double>(panel.values.rows() - 1 - mark->row) * at.cell_height},
          at.cell_width, at.cell_height);
  }

  double bottom = at.bottom + at.columns.extent;
  double right = at.right + std::max(24.0, at.columns.overhang);
  if (scale.is_known()) {
    const double bar_height = std::min(at.bottom - at.top, 420.0);
    // A single value: a bar of that value alone would have no length.
    const double rim = scale.is_single() ? std::max(1e-3, 0.1 * std::abs(scale.low)) : 0;
    right += svg::draw_colour_bar(drawing, {right, at.top}, bar_height, scale.low - rim,
                                  scale.high + rim, !map.higher_is_better);
  }
  right = std::max(right, margin + heading.width() + 1);
  // The names of the axes: in the middle, but never over the rim.
  if (!map.x_name.empty()) {
    const double half = std::min(svg::text_width(map.x_name, 12), right - margin) / 2;
    drawing.text_within(
        2 * half, {std::clamp((at.left + at.right) / 2, margin + half, right - half), bottom += 18},
        map.x_name, {.anchor = svg::Anchor::middle});
  }
  if (!map.y_name.empty())
    drawing.text_within(at.bottom - at.top, {margin + 10, (at.top + at.bottom) / 2}, map.y_name,
                        {.anchor = svg::Anchor::middle, .upwards = true});
  bottom += 16;
  bottom += draw_legend(drawing, map, words, {at.left, bottom}, right - at.left, decimals);
  heading.draw(drawing, {margin, margin}, right - margin);
  return drawing.finish(right + margin, bottom + margin - 6, map.title);
}

}  // namespace coterie
