#include "coterie/report/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "coterie/report/svg.hpp"

namespace coterie {

namespace {

using svg::Point;

constexpr double margin = 14, label_font = 11, value_font = 9;
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
struct Scale {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool higher_is_better = true;
  bool is_known() const { return low <= high; }
  double share(double value) const {
    const double up = high > low ? (value - low) / (high - low) : 0.5;
    return higher_is_better ? up : 1 - up;
  }
};

Scale find_scale(const HeatMap& map) {
  Scale out{.higher_is_better = map.higher_is_better};
  for (const HeatPanel& panel : map.panels)
    for (const double value : panel.values.reshaped())
      if (std::isfinite(value)) {
        out.low = std::min(out.low, value);
        out.high = std::max(out.high, value);
      }
  return out;
}

// Digits after the point that tell values apart at a hundredth or so of their range.
int find_decimals(const Scale& scale) {
  const double range = scale.is_known() && scale.high > scale.low ? scale.high - scale.low : 1;
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

// The outline for the k-th word. Later words lie further out, so that several show on one cell.
void draw_mark(svg::Drawing& drawing, Index k, Point corner, double width, double height) {
  constexpr std::array<std::string_view, 4> colours = {"#d94801", "#111111", "#8e1a7a", "#1a7a3a"};
  const double out = 0.5 + 3.0 * static_cast<double>(k % 4);
  const Point at = {corner.x - out, corner.y - out};
  drawing.frame(at, width + 2 * out, height + 2 * out, {.colour = "#fff", .width = 3.4});
  drawing.frame(at, width + 2 * out, height + 2 * out,
                {.colour = colours[static_cast<std::size_t>(k) % 4],
                 .width = 2,
                 .dashes = k % 8 < 4 ? "" : "3 2"});
}

struct Layout {
  Index across = 1, down = 1;  // panels
  double cell_width = 0, cell_height = 0;
  double panel_width = 0, panel_height = 0;
  svg::LabelPlan columns = {}, rows = {};
  double left = 0, top = 0;  // of the first panel's cells
  double head = 0;           // height of a panel's title
  double right = 0, bottom = 0;
  Point corner(Index panel) const {
    return {left + static_cast<double>(panel % across) * (panel_width + panel_gap),
            top + static_cast<double>(panel / across) * (panel_height + panel_gap + head)};
  }
};

Layout lay_out(const HeatMap& map) {
  Layout out;
  const Index n = std::ssize(map.panels);
  out.across = n <= 3 ? n : n == 4 ? 2 : n <= 9 ? 3 : n <= 16 ? 4 : 6;
  out.down = (n + out.across - 1) / out.across;
  const double columns = static_cast<double>(map.x_labels.size()),
               rows = static_cast<double>(map.y_labels.size());
  const double across = static_cast<double>(out.across), down = static_cast<double>(out.down);
  const double room = n == 1 ? 700 : (900 - (across - 1) * panel_gap) / across;
  out.cell_width = std::clamp(std::floor(room / columns), n == 1 ? 12.0 : 6.0, 46.0);
  out.cell_height = std::clamp(std::floor(0.68 * room / rows), std::min(out.cell_width, 12.0),
                               std::min(out.cell_width, 26.0));
  out.panel_width = out.cell_width * columns;
  out.panel_height = out.cell_height * rows;
  out.columns = svg::plan_columns(map.x_labels, out.cell_width, label_font);
  out.rows = svg::plan_rows(map.y_labels, out.cell_height, label_font);
  for (const HeatPanel& panel : map.panels)
    if (!panel.title.empty()) out.head = panel_title_height;
  out.left =
      margin + (map.y_name.empty() ? 0 : 20) + std::max(out.rows.extent, out.columns.overhang);
  out.top = margin + (map.title.empty() ? 0 : 24) + out.head;
  out.right = out.left + across * out.panel_width + (across - 1) * panel_gap;
  out.bottom = out.top + down * out.panel_height + (down - 1) * (panel_gap + out.head);
  return out;
}

void draw_cells(svg::Drawing& drawing, const HeatMap& map, const HeatPanel& panel, const Layout& at,
                Point corner, const Scale& scale, int decimals) {
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

  drawing.begin("cells");
  for (Index row = 0; row < rows; ++row)
    for (Index column = 0; column < panel.values.cols(); ++column) {
      const double value = panel.values(row, column);
      const auto tip = [&](const std::string& words) {
        return with_text ? ""
                         : fmt::format("{} {}, {} {}: {}", map.y_name, map.y_labels[row],
                                       map.x_name, map.x_labels[column], words);
      };
      if (std::isfinite(value))
        drawing.rectangle(cell(row, column), at.cell_width, at.cell_height,
                          svg::ramp(scale.share(value)),
                          tip(fmt::format("{:.{}f}", value, decimals)));
      else
        svg::draw_missing(drawing, cell(row, column), at.cell_width, at.cell_height,
                          tip("not evaluated"));
    }
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
              "{} {} {}, {} {}: {}", text == words[k] ? ":" : ";", map.y_name,
              map.y_labels[mark.row], map.x_name, map.x_labels[mark.column],
              std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : "not evaluated");
        }
    // The symbol is small: as if it were the first word's, which lies closest to its cell.
    entry(text, [&](Point at) {
      const double in = 3.0 * static_cast<double>(k % 4);
      draw_mark(drawing, k, {at.x + in, at.y + in}, 14 - 2 * in, 10 - 2 * in);
    });
  }
  bool any_missing = false;
  for (const HeatPanel& panel : map.panels) any_missing = any_missing || !panel.values.allFinite();
  if (any_missing)
    entry("not evaluated", [&](Point at) { svg::draw_missing(drawing, at, 14, 10); });
  drawing.end();
  return y - from.y;
}

}  // namespace

std::string as_svg(const HeatMap& map) {
  check(map);
  const Scale scale = find_scale(map);
  const int decimals = find_decimals(scale);
  const std::vector<std::string> words = find_words(map);
  const Layout at = lay_out(map);
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
    for (const HeatMark& mark : panel.marks)
      draw_mark(
          drawing, std::find(words.begin(), words.end(), mark.word) - words.begin(),
          {corner.x + static_cast<double>(mark.column) * at.cell_width,
           corner.y + static_cast<double>(panel.values.rows() - 1 - mark.row) * at.cell_height},
          at.cell_width, at.cell_height);
  }

  const double middle = (at.left + at.right) / 2;
  double bottom = at.bottom + at.columns.extent;
  if (!map.x_name.empty())
    drawing.text_within(at.right - at.left, {middle, bottom += 18}, map.x_name,
                        {.anchor = svg::Anchor::middle});
  if (!map.y_name.empty())
    drawing.text_within(at.bottom - at.top, {margin + 10, (at.top + at.bottom) / 2}, map.y_name,
                        {.anchor = svg::Anchor::middle, .upwards = true});

  double right = at.right + 24;
  if (scale.is_known()) {
    const double bar_height = std::min(at.bottom - at.top, 260.0);
    // A single value: a bar of that value alone would have no length.
    const bool single = scale.high <= scale.low;
    const double rim = single ? std::max(1e-3, 0.1 * std::abs(scale.low)) : 0;
    right += svg::draw_colour_bar(drawing, {right, at.top}, bar_height, scale.low - rim,
                                  scale.high + rim, !map.higher_is_better);
    right += 6;
    std::string words_of_bar =
        map.value_name + (map.higher_is_better ? " (higher is better)" : " (lower is better)");
    drawing.text_within(at.bottom - at.top, {right + 12, at.top + bar_height / 2}, words_of_bar,
                        {.anchor = svg::Anchor::middle, .upwards = true});
    right += 18;
  }
  bottom += 16;
  bottom += draw_legend(drawing, map, words, {at.left, bottom}, right - at.left, decimals);
  const double width = right + margin - 2;
  if (!map.title.empty())
    drawing.text_within(width - 2 * margin, {margin, margin + 11}, map.title,
                        {.size = 13, .bold = true});
  return drawing.finish(width, bottom + margin - 6, map.title);
}

}  // namespace coterie
