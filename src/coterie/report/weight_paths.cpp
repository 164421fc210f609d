#include "coterie/report/weight_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coterie/report/svg.hpp"

namespace coterie {

namespace {

using svg::margin;
using svg::Point;

constexpr Index most_panels = 48;
constexpr double paths_gap = 14, caption_height = 18, caption_font = 11;

constexpr svg::Stroke merge_stroke = {.colour = "#a0a0a0", .width = 0.7, .dashes = "2 2"};

void check(const WeightPaths& paths) {
  const auto fail = [](const std::string& words) { throw InputError("weight paths: " + words); };
  const Index steps = paths.lambda.size(), kernels = std::ssize(paths.kernels);
  if (steps == 0) fail("there is no lambda; give at least one");
  if (paths.tasks.empty() || kernels == 0)
    fail("there are no tasks or no kernels; name at least one of each");
  if (paths.theta.size() != paths.tasks.size())
    fail(fmt::format("there are weights of {} tasks and names of {}", paths.theta.size(),
                     paths.tasks.size()));
  for (Index t = 0; t < std::ssize(paths.theta); ++t)
    if (paths.theta[t].rows() != steps || paths.theta[t].cols() != kernels)
      fail(fmt::format(
          "task {} has {} x {} weights, but there are {} values of lambda and {} kernels", t,
          paths.theta[t].rows(), paths.theta[t].cols(), steps, kernels));
  for (Index i = 0; i < steps; ++i)
    if (!(paths.lambda(i) >= 0) || (i > 0 && !(paths.lambda(i) > paths.lambda(i - 1))))
      fail(fmt::format("lambda {} is {}; they must increase from 0 or more", i,
                       svg::number_text(paths.lambda(i))));
}

// One panel: its name and its lines; a line is a column of weights along lambda.
struct Line {
  Index task, kernel;
};
struct Panel {
  std::string title;
  std::vector<Line> lines;
};

std::vector<Panel> make_panels(const WeightPaths& paths, bool by_task) {
  const Index tasks = std::ssize(paths.tasks), kernels = std::ssize(paths.kernels);
  std::vector<Panel> out;
  if (by_task)
    for (Index t = 0; t < tasks; ++t) {
      out.push_back({paths.tasks[t], {}});
      for (Index m = 0; m < kernels; ++m) out.back().lines.push_back({t, m});
    }
  else
    for (Index m = 0; m < kernels; ++m) {
      out.push_back({paths.kernels[m], {}});
      for (Index t = 0; t < tasks; ++t) out.back().lines.push_back({t, m});
    }
  return out;
}

struct PathsLayout {
  Index across = 1, down = 1;
  double width = 0, height = 0;  // of a panel, with the columns at its sides
  bool zero = false, infinity = false;
  double side_column = 0;    // width of that of lambda = 0 and of infinity
  svg::Axis x = {}, y = {};  // relative to a panel's corner
  std::vector<double> y_ticks = {};
  double left = 0, top = 0;
  Point corner(Index panel) const {
    const Index row = panel / across, column = panel % across;
    return {left + static_cast<double>(column) * (width + paths_gap),
            top + static_cast<double>(row) * (height + caption_height + paths_gap)};
  }
  double pixel(double lambda) const {
    return lambda <= 0          ? side_column / 2
           : std::isinf(lambda) ? width - side_column / 2
                                : x.pixel(lambda);
  }
};

// The largest weight, rounded up to a tick.
double find_top(const WeightPaths& paths) {
  double top = 0;
  for (const Matrix& theta : paths.theta)
    for (const double value : theta.reshaped())
      if (std::isfinite(value)) top = std::max(top, value);
  if (top <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(top)));
  for (const double digit : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0})
    if (digit * power >= top * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

PathsLayout lay_out(const WeightPaths& paths, Index panels, bool by_task) {
  PathsLayout out;
  if (by_task)
    out.across = panels <= 3    ? panels
                 : panels == 4  ? 2
                 : panels <= 9  ? 3
                 : panels <= 20 ? 5
                 : panels <= 30 ? 6
                                : 8;
  else
    out.across = panels <= 3 ? panels : panels == 4 ? 2 : panels <= 9 ? 3 : panels <= 20 ? 4 : 6;
  out.down = (panels + out.across - 1) / out.across;
  const double across = static_cast<double>(out.across);
  out.width = std::floor(std::min(480.0, (960 - (across - 1) * paths_gap) / across));
  out.height = std::floor(std::max(84.0, 0.62 * out.width));

  out.side_column = std::clamp(std::floor(0.12 * out.width), 14.0, 24.0);

  const Index n = paths.lambda.size();
  out.zero = paths.lambda(0) == 0;
  out.infinity = std::isinf(paths.lambda(n - 1));
  const Index first = out.zero ? 1 : 0, last = n - 1 - (out.infinity ? 1 : 0);
  double low = first <= last ? paths.lambda(first) : 0.1,
         high = first <= last ? paths.lambda(last) : 1;
  if (!(high / low > 1.01)) low /= 3, high *= 3;
  out.x = {.low = low,
           .high = high,
           .first = out.zero ? out.side_column : 4.0,
           .last = out.width - (out.infinity ? out.side_column : 4.0),
           .logarithmic = true};
  double least = 0;
  for (const Matrix& theta : paths.theta)
    for (const double value : theta.reshaped())
      if (std::isfinite(value)) least = std::min(least, value);
  if (least > -1e-9) least = 0;  // rounding
  out.y = {.low = least, .high = find_top(paths), .first = out.height, .last = 0};
  out.y_ticks = svg::ticks(out.y, static_cast<Index>(out.height / 26));
  return out;
}

// The places of a line's weights, in runs between values that are not known; lambda = 0 and infinity stand alone.
std::vector<std::vector<Point>> trace(const WeightPaths& paths, const PathsLayout& at, Point corner,
                                      Line line) {
  std::vector<std::vector<Point>> out;
  bool open = false;
  for (Index i = 0; i < paths.lambda.size(); ++i) {
    const double lambda = paths.lambda(i), weight = paths.theta[line.task](i, line.kernel);
    const bool alone = lambda == 0 || std::isinf(lambda);
    if (!open || alone) out.emplace_back();
    open = !alone && std::isfinite(weight);
    if (std::isfinite(weight))
      out.back().push_back({corner.x + at.pixel(lambda), corner.y + at.y.pixel(weight)});
  }
  std::erase_if(out, [](const auto& run) { return run.empty(); });
  return out;
}

// Leaves out what lies between two points of the same height: most weights are zero most of the time.
std::vector<Point> without_flat_points(const std::vector<Point>& run) {
  std::vector<Point> out;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const bool flat = i > 0 && i + 1 < run.size() &&
                      svg::coordinate(run[i - 1].y) == svg::coordinate(run[i].y) &&
                      svg::coordinate(run[i + 1].y) == svg::coordinate(run[i].y);
    if (!flat) out.push_back(run[i]);
  }
  return out;
}

void draw_panel(svg::Drawing& drawing, const WeightPaths& paths, const PathsLayout& at,
                const Panel& panel, Point corner, double stroke_width, double opacity) {
  const double right = corner.x + at.width, bottom = corner.y + at.height;
  constexpr std::string_view aside = "#f3f4f6";
  if (at.zero) drawing.rectangle(corner, at.side_column - 4, at.height, aside);
  if (at.infinity)
    drawing.rectangle({right - at.side_column + 4, corner.y}, at.side_column - 4, at.height, aside);
  for (const double value : at.y_ticks)
    drawing.line({corner.x, corner.y + at.y.pixel(value)}, {right, corner.y + at.y.pixel(value)},
                 {.colour = "#e6e6e6"});
  drawing.begin("merges");
  for (const double lambda : paths.merges)
    if (lambda >= at.x.low && lambda <= at.x.high)
      drawing.line({corner.x + at.pixel(lambda), corner.y}, {corner.x + at.pixel(lambda), bottom},
                   merge_stroke);
  drawing.end();
  if (paths.mark) {
    drawing.begin("mark");
    const double x = corner.x + at.pixel(*paths.mark);
    drawing.line({x, corner.y}, {x, bottom}, svg::mark_stroke);
    drawing.end();
  }
  drawing.begin("lines");
  for (const Line& line : panel.lines)
    for (const std::vector<Point>& run : trace(paths, at, corner, line)) {
      const std::string_view colour = svg::colour(line.kernel);
      if (run.size() == 1)
        drawing.circle(run[0], stroke_width + 0.8, colour);
      else
        drawing.polyline(without_flat_points(run),
                         {colour, stroke_width, svg::dashes(line.kernel), opacity});
    }
  drawing.end();
  drawing.frame(corner, at.width, at.height, {.colour = "#999", .width = 0.6});
  drawing.text_within(at.width, {corner.x + at.width / 2, corner.y - 5}, panel.title,
                      {.size = caption_font, .anchor = svg::Anchor::middle});
}

struct LegendEntry {
  std::string words;
  svg::Stroke stroke;
};

// In lines from left to right, as wide as the picture. Returns the height used.
double draw_legend(svg::Drawing& drawing, const std::vector<LegendEntry>& entries, Point from,
                   double right) {
  constexpr double swatch = 20, gap = 18, row = 18;
  Point at = from;
  drawing.begin("legend");
  for (const LegendEntry& entry : entries) {
    const double width =
        swatch + 6 + std::min(svg::text_width(entry.words, caption_font), svg::longest_label);
    if (at.x > from.x && at.x + width > right) at = {from.x, at.y + row};
    drawing.line({at.x, at.y + 6}, {at.x + swatch, at.y + 6}, entry.stroke);
    drawing.text_within(svg::longest_label, {at.x + swatch + 6, at.y + 10}, entry.words,
                        {.size = caption_font});
    at.x += width + gap;
  }
  drawing.end();
  return entries.empty() ? 0 : at.y - from.y + row;
}

void draw_axes(svg::Drawing& drawing, const PathsLayout& at, Index panels) {
  drawing.begin("axes");
  for (Index k = 0; k < panels; ++k) {
    const Point corner = at.corner(k);
    const std::vector<std::string> weights = svg::tick_texts(at.y_ticks);
    for (std::size_t i = 0; k % at.across == 0 && i < weights.size(); ++i)
      drawing.text({corner.x - 6, corner.y + at.y.pixel(at.y_ticks[i]) + 4}, weights[i],
                   {.size = caption_font, .anchor = svg::Anchor::end});
    if (k + at.across < panels) continue;  // another panel is below
    std::vector<svg::TickName> names;
    if (at.zero) names.push_back({corner.x + at.side_column / 2 - 2, "0"});
    if (at.infinity) names.push_back({corner.x + at.width - at.side_column / 2 + 2, "inf"});
    for (const double value : svg::ticks(at.x, static_cast<Index>(at.width / 45))) {
      const double x = corner.x + at.x.pixel(value);
      drawing.line({x, corner.y + at.height}, {x, corner.y + at.height + 4}, {.colour = "#999"});
      names.push_back({x, svg::number_text(value)});
    }
    svg::draw_tick_names(drawing, names, corner.y + at.height + 6,
                         corner.x - paths_gap / 2 - (k % at.across == 0 ? 20 : 0),
                         corner.x + at.width + paths_gap / 2, caption_font);
  }
  drawing.end();
}

}  // namespace

std::string as_svg(const WeightPaths& paths) {
  check(paths);
  const bool by_task =
      paths.panels == WeightPanels::by_task ||
      (paths.panels == WeightPanels::automatic && std::ssize(paths.tasks) <= most_panels);
  const std::vector<Panel> panels = make_panels(paths, by_task);
  PathsLayout at = lay_out(paths, std::ssize(panels), by_task);
  const double stroke_width = !by_task ? 0.8 : at.width > 150 ? 1.6 : 1.3;
  const double opacity =
      by_task ? 1 : std::clamp(60 / static_cast<double>(paths.tasks.size()), 0.2, 0.6);

  std::vector<LegendEntry> legend;
  if (by_task)
    for (Index m = 0; m < std::ssize(paths.kernels); ++m)
      legend.push_back({paths.kernels[m], {svg::colour(m), 2, svg::dashes(m)}});
  else
    legend.push_back(
        {fmt::format("a task ({} in all)", paths.tasks.size()), {.colour = svg::quiet}});
  if (!paths.merges.empty()) legend.push_back({"groups merge", merge_stroke});
  if (paths.mark) legend.push_back({paths.mark_words, svg::mark_stroke});

  svg::Drawing drawing;
  double widest = 0;
  for (const std::string& words : svg::tick_texts(at.y_ticks))
    widest = std::max(widest, svg::text_width(words, caption_font));
  at.left = margin + 20 + widest + 6;
  const double right =
      at.left + static_cast<double>(at.across) * (at.width + paths_gap) - paths_gap;
  const svg::Heading heading{paths.title};
  const double width = std::max(right, margin + heading.width() + 1) + margin;
  double top = margin;
  heading.draw(drawing, {margin, margin}, width - 2 * margin);
  top += heading.height();
  top += draw_legend(drawing, legend, {at.left, top}, right);
  at.top = top + caption_height + 2;

  for (Index k = 0; k < std::ssize(panels); ++k)
    draw_panel(drawing, paths, at, panels[k], at.corner(k), stroke_width, opacity);
  draw_axes(drawing, at, std::ssize(panels));
  const double bottom = at.corner(std::ssize(panels) - 1).y + at.height;
  drawing.text_within(right - at.left, {(at.left + right) / 2, bottom + 38}, paths.lambda_name,
                      {.anchor = svg::Anchor::middle});
  drawing.text({margin + 10, (at.top + bottom) / 2}, "weight theta",
               {.anchor = svg::Anchor::middle, .upwards = true});
  return drawing.finish(width, bottom + 38 + margin, paths.title);
}

}  // namespace coterie
