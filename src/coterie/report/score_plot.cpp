#include "coterie/report/score_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coterie/report/svg.hpp"

namespace coterie {
namespace {

using svg::margin;
using svg::Point;

constexpr double score_font = 12, small_font = 11;
constexpr double score_row = 18;     // of a method
constexpr double panel_width = 200;  // of the axis
constexpr double across_gap = 26, down_gap = 16;
constexpr double title_height = 36, ticks_height = 20;
constexpr Index most_across = 4;
constexpr std::string_view stripe = "#f3f4f6";

bool is_known(double value) { return std::isfinite(value); }

void check(const ScorePlot& plot) {
  const auto fail = [](const std::string& words) { throw InputError("score plot: " + words); };
  const Index k = std::ssize(plot.methods);
  if (k == 0) fail("there is no method");
  if (plot.panels.empty()) fail("there is no data set");
  if (plot.marked && (*plot.marked < 0 || *plot.marked >= k))
    fail(fmt::format("method {} of {} is marked", *plot.marked, k));
  for (const ScorePanel& panel : plot.panels)
    if (panel.mean.size() != k || panel.error.size() != k)
      fail(fmt::format("'{}' has {} means and {} errors of {} methods", panel.title,
                       panel.mean.size(), panel.error.size(), k));
}

struct PlotLayout {
  Index across = 1, down = 1;
  double left = 0, top = 0, height = 0;  // height of a panel's lines
  Point corner(Index panel) const {
    return {left + static_cast<double>(panel % across) * (panel_width + across_gap),
            top +
                static_cast<double>(panel / across) *
                    (title_height + height + ticks_height + down_gap) +
                title_height};
  }
  double right() const { return left + static_cast<double>(across) * (panel_width + across_gap); }
  double bottom() const { return corner(across * (down - 1)).y + height + ticks_height; }
};

PlotLayout lay_out(const ScorePlot& plot, double top) {
  PlotLayout at;
  const Index panels = std::ssize(plot.panels);
  at.down = (panels + most_across - 1) / most_across;
  at.across = (panels + at.down - 1) / at.down;
  at.top = top;
  at.height = score_row * static_cast<double>(plot.methods.size());
  for (const std::string& name : plot.methods)
    at.left =
        std::max(at.left, std::min(svg::longest_label, svg::text_width(name, score_font, true)));
  at.left += margin + 10;
  return at;
}

// From the least to the largest end of a bar, and a little more.
svg::Axis axis_of(const ScorePanel& panel, double first) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (Index m = 0; m < panel.mean.size(); ++m) {
    if (!is_known(panel.mean[m])) continue;
    const double reach = is_known(panel.error[m]) ? std::abs(panel.error[m]) : 0;
    low = std::min(low, panel.mean[m] - reach);
    high = std::max(high, panel.mean[m] + reach);
  }
  if (low > high) low = 0, high = 1;  // nothing is known
  const double least = 1e-3 * std::max(1e-3, std::max(std::abs(low), std::abs(high)));
  if (high - low < least) low -= least / 2, high += least / 2;
  const double spare = 0.05 * (high - low);
  return {.low = low - spare, .high = high + spare, .first = first, .last = first + panel_width};
}

void draw_axis(svg::Drawing& drawing, const svg::Axis& axis, const PlotLayout& at, Point corner) {
  const double bottom = corner.y + at.height;
  const std::vector<double> values = svg::ticks(axis, 5);
  const std::vector<std::string> texts = svg::tick_texts(values);
  std::vector<svg::TickName> names;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = axis.pixel(values[i]);
    drawing.line({x, corner.y}, {x, bottom}, {.colour = svg::grid});
    names.push_back({x, texts[i]});
  }
  drawing.line({corner.x, bottom}, {corner.x + panel_width, bottom});
  svg::draw_tick_names(drawing, names, bottom + 4, corner.x - across_gap / 2 + 2,
                       corner.x + panel_width + across_gap / 2 - 2, small_font);
}

void draw_panel(svg::Drawing& drawing, const ScorePlot& plot, const ScorePanel& panel,
                const PlotLayout& at, Point corner) {
  drawing.begin("panel");
  drawing.text_within(panel_width, {corner.x, corner.y - 21}, panel.title,
                      {.size = score_font, .bold = true});
  drawing.text_within(panel_width, {corner.x, corner.y - 7}, panel.remark,
                      {.size = small_font, .colour = svg::quiet});
  for (Index m = 0; m < std::ssize(plot.methods); m += 2)
    drawing.rectangle({corner.x, corner.y + score_row * static_cast<double>(m)}, panel_width,
                      score_row, stripe);
  const svg::Axis axis = axis_of(panel, corner.x);
  draw_axis(drawing, axis, at, corner);
  drawing.begin("scores");
  for (Index m = 0; m < std::ssize(plot.methods); ++m) {
    const double mean = panel.mean[m], error = panel.error[m];
    if (!is_known(mean)) continue;
    const double y = corner.y + score_row * (static_cast<double>(m) + 0.5);
    const std::string_view colour = svg::colour(plot.marked == m ? 1 : 0);
    if (is_known(error)) {
      const double from = axis.pixel(mean - std::abs(error)),
                   to = axis.pixel(mean + std::abs(error));
      drawing.line({from, y}, {to, y}, {.colour = colour, .width = 1.6});
      for (const double x : {from, to})
        drawing.line({x, y - 3.5}, {x, y + 3.5}, {.colour = colour, .width = 1.6});
    }
    drawing.circle(
        {axis.pixel(mean), y}, 3.5, colour, {.width = 0},
        fmt::format("{}: {}{}", plot.methods[static_cast<std::size_t>(m)], svg::number_text(mean),
                    is_known(error) ? " ± " + svg::number_text(std::abs(error), 2) : ""));
  }
  drawing.end();
  drawing.end();
}

void draw_names(svg::Drawing& drawing, const ScorePlot& plot, Point corner) {
  drawing.begin("methods");
  for (Index m = 0; m < std::ssize(plot.methods); ++m)
    drawing.text_within(svg::longest_label,
                        {corner.x - 8, corner.y + score_row * (static_cast<double>(m) + 0.5) + 4},
                        plot.methods[static_cast<std::size_t>(m)],
                        {.size = score_font, .anchor = svg::Anchor::end, .bold = plot.marked == m});
  drawing.end();
}

}  // namespace

std::string as_svg(const ScorePlot& plot) {
  check(plot);
  const svg::Heading heading{plot.title, plot.remark};
  const PlotLayout at = lay_out(plot, margin + heading.height());
  const double width = std::max(at.right(), heading.width() + 2 * margin);
  svg::Drawing drawing;
  heading.draw(drawing, {margin, margin}, width - 2 * margin);
  for (Index i = 0; i < std::ssize(plot.panels); ++i) {
    if (i % at.across == 0) draw_names(drawing, plot, at.corner(i));
    draw_panel(drawing, plot, plot.panels[static_cast<std::size_t>(i)], at, at.corner(i));
  }
  return drawing.finish(width, at.bottom() + margin, plot.title);
}

}  // namespace coterie
