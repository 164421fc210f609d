#include "plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coterie/report/svg.hpp"

namespace coterie::bench {

namespace {

using svg::Axis;
using svg::Drawing;

constexpr double width = 640, height = 400;
constexpr double left = 70, right = 150, top = 20, bottom = 50;  // margins

double law_at(const PlotSeries& series, double x) {
  return series.law.factor * std::pow(x, series.law.exponent);
}

// From the smallest to the largest size with a little room, and whole powers of ten of the seconds.
std::pair<Axis, Axis> find_axes(const Plot& plot) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Axis x{infinity, 0, left, width - right, true};
  Axis y{infinity, 0, height - bottom, top, true};
  for (const PlotSeries& series : plot.series)
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const double law = law_at(series, series.x[i]);
      x.low = std::min(x.low, series.x[i]);
      x.high = std::max(x.high, series.x[i]);
      y.low = std::min({y.low, series.y[i], law});
      y.high = std::max({y.high, series.y[i], law});
    }
  if (!(x.low < x.high)) x.low = 1, x.high = 10;  // no series: an empty frame
  if (!(y.low <= y.high)) y.low = y.high = 1;
  const double room = std::pow(x.high / x.low, 0.04);  // keeps points off the axes
  x.low /= room;
  x.high *= room;
  y.low = std::pow(10, std::floor(std::log10(y.low)));
  y.high = std::max(10 * y.low, std::pow(10, std::ceil(std::log10(y.high))));
  return {x, y};
}

void draw_axes(Drawing& drawing, const Plot& plot, const Axis& x, const Axis& y) {
  for (const double value : svg::ticks(y, 9)) {
    drawing.line({x.first, y.pixel(value)}, {x.last, y.pixel(value)}, {.colour = svg::grid});
    drawing.text({x.first - 8, y.pixel(value) + 4}, svg::number_text(value),
                 {.anchor = svg::Anchor::end});
  }
  // Sizes are those that were measured.
  std::vector<svg::TickName> names;
  if (!plot.series.empty())
    for (const double value : plot.series[0].x)
      names.push_back({x.pixel(value), svg::number_text(value)});
  for (const svg::TickName& name : names)
    drawing.line({name.x, y.first}, {name.x, y.last}, {.colour = svg::grid});
  svg::draw_tick_names(drawing, names, y.first + 8, 0, width, 12);
  drawing.line({x.first, y.first}, {x.last, y.first});
  drawing.line({x.first, y.first}, {x.first, y.last});
  drawing.text({(x.first + x.last) / 2, height - 10}, plot.x_name, {.anchor = svg::Anchor::middle});
  drawing.text({18, (y.first + y.last) / 2}, plot.y_name,
               {.anchor = svg::Anchor::middle, .upwards = true});
}

void draw_series(Drawing& drawing, const PlotSeries& series, const Axis& x, const Axis& y,
                 std::string_view colour, double label) {
  const double from = series.x.front();
  const double to = series.x.back();
  drawing.line({x.pixel(from), y.pixel(law_at(series, from))},
               {x.pixel(to), y.pixel(law_at(series, to))}, {.colour = colour, .width = 1.5});
  for (std::size_t i = 0; i < series.x.size(); ++i)
    drawing.circle({x.pixel(series.x[i]), y.pixel(series.y[i])}, 4, colour);
  drawing.text_within(right - 10, {x.last + 8, label}, series.name, {.colour = colour});
  drawing.text({x.last + 8, label + 16}, fmt::format("exponent {:.2f}", series.law.exponent),
               {.colour = colour});
}

// Heights of the labels: beside the ends of the lines, from the top down, out of each other's way.
std::vector<double> label_heights(const Plot& plot, const Axis& y) {
  std::vector<std::pair<double, std::size_t>> wanted;
  for (std::size_t k = 0; k < plot.series.size(); ++k)
    wanted.emplace_back(y.pixel(law_at(plot.series[k], plot.series[k].x.back())), k);
  std::sort(wanted.begin(), wanted.end());
  std::vector<double> heights(wanted.size());
  double free = top + 10;
  for (const auto& [pixel, k] : wanted) {
    heights[k] = std::max(pixel - 2, free);
    free = heights[k] + 36;
  }
  return heights;
}

}  // namespace

std::string as_svg(const Plot& plot) {
  const auto [x, y] = find_axes(plot);
  Drawing drawing;
  draw_axes(drawing, plot, x, y);
  const std::vector<double> labels = label_heights(plot, y);
  for (std::size_t k = 0; k < plot.series.size(); ++k)
    draw_series(drawing, plot.series[k], x, y, svg::colour(static_cast<Index>(k)), labels[k]);
  return drawing.finish(width, height, plot.y_name + " against " + plot.x_name);
}

}  // namespace coterie::bench
