#include "plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace coterie::bench {

namespace {

constexpr double width = 640, height = 400;
constexpr double left = 70, right = 150, top = 20, bottom = 50;  // margins
constexpr std::array<const char*, 3> colours = {"#1f5fa8", "#c2571a", "#3b7d3b"};

// One axis: from the values to pixels, by logarithms.
struct Axis {
  double low, high;    // values at the ends
  double first, last;  // their pixels
  double pixel(double value) const {
    return first + (last - first) * std::log(value / low) / std::log(high / low);
  }
};

// 1, 2 and 5 times powers of ten within the axis; powers of ten alone when there would be many.
std::vector<double> ticks(const Axis& axis) {
  const bool few = axis.high / axis.low < 300;
  std::vector<double> out;
  for (double power = 1e-9; power < 1e12; power *= 10)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = std::stod(fmt::format("{:.3g}", digit * power));
      if (digit != 1 && !few) continue;
      if (value >= 0.999 * axis.low && value <= 1.001 * axis.high) out.push_back(value);
    }
  return out;
}

std::string text(double x, double y, const std::string& anchor, const std::string& words,
                 const std::string& more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, words);
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

std::string tick_name(double value) {
  return value >= 1e-4 && value < 1e6 ? fmt::format("{:.7g}", value) : fmt::format("{:.0e}", value);
}

std::string draw(const PlotSeries& series, const Axis& x, const Axis& y, const char* colour,
                 double label) {
  std::string out;
  const auto law = [&](double at) { return series.law.factor * std::pow(at, series.law.exponent); };
  const double from = series.x.front();
  const double to = series.x.back();
  out += line(x.pixel(from), y.pixel(law(from)), x.pixel(to), y.pixel(law(to)),
              fmt::format("stroke=\"{}\" stroke-width=\"1.5\"", colour));
  for (std::size_t i = 0; i < series.x.size(); ++i)
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n",
                       x.pixel(series.x[i]), y.pixel(series.y[i]), colour);
  const std::string fill = fmt::format(" fill=\"{}\"", colour);
  out += text(x.last + 8, label, "start", series.name, fill);
  out += text(x.last + 8, label + 16, "start", fmt::format("exponent {:.2f}", series.law.exponent),
              fill);
  return out;
}

// Heights of the labels: beside the ends of the lines, from the top down, out of each other's way.
std::vector<double> label_heights(const Plot& plot, const Axis& y) {
  std::vector<std::pair<double, std::size_t>> wanted;
  for (std::size_t k = 0; k < plot.series.size(); ++k) {
    const PowerLaw& law = plot.series[k].law;
    wanted.emplace_back(y.pixel(law.factor * std::pow(plot.series[k].x.back(), law.exponent)), k);
  }
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
  Axis x{std::numeric_limits<double>::infinity(), 0, left, width - right};
  Axis y{std::numeric_limits<double>::infinity(), 0, height - bottom, top};
  for (const PlotSeries& series : plot.series)
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const double law = series.law.factor * std::pow(series.x[i], series.law.exponent);
      x.low = std::min(x.low, series.x[i]);
      x.high = std::max(x.high, series.x[i]);
      y.low = std::min({y.low, series.y[i], law});
      y.high = std::max({y.high, series.y[i], law});
    }
  const double margin = std::pow(x.high / x.low, 0.04);  // keeps points off the axes
  x.low /= margin;
  x.high *= margin;
  y.low = std::pow(10, std::floor(std::log10(y.low)));
  y.high = std::pow(10, std::ceil(std::log10(y.high)));

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" "
      "fill=\"#222\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      width, height);
  const std::string grid = "stroke=\"#ddd\"";
  for (const double value : ticks(y)) {
    out += line(x.first, y.pixel(value), x.last, y.pixel(value), grid);
    out += text(x.first - 8, y.pixel(value) + 4, "end", tick_name(value));
  }
  // Sizes are those that were measured.
  double last_name = 0;
  for (const double value : plot.series.empty() ? std::vector<double>() : plot.series[0].x) {
    out += line(x.pixel(value), y.first, x.pixel(value), y.last, grid);
    const double half = 3.6 * static_cast<double>(tick_name(value).size());
    if (x.pixel(value) - half < last_name + 4) continue;
    out += text(x.pixel(value), y.first + 18, "middle", tick_name(value));
    last_name = x.pixel(value) + half;
  }
  out += line(x.first, y.first, x.last, y.first, "stroke=\"#222\"");
  out += line(x.first, y.first, x.first, y.last, "stroke=\"#222\"");
  out += text((x.first + x.last) / 2, height - 10, "middle", plot.x_name);
  out += text(18, (y.first + y.last) / 2, "middle", plot.y_name,
              fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", (y.first + y.last) / 2));
  const std::vector<double> labels = label_heights(plot, y);
  for (std::size_t k = 0; k < plot.series.size(); ++k)
    out += draw(plot.series[k], x, y, colours[k % colours.size()], labels[k]);
  return out + "</svg>\n";
}

}  // namespace coterie::bench
