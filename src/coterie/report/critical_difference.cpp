#include "coterie/report/critical_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "coterie/report/svg.hpp"

namespace coterie {
namespace {

using svg::margin;
using svg::Point;

constexpr double method_font = 12;
constexpr double method_row = 19;  // between the names of two methods
constexpr double bar = 9;          // between two bars
constexpr double axis_length = 420;
constexpr double name_gap = 6;  // between a name and its line
constexpr double space = 30;    // between two diagrams

void check(const CriticalDifference& diagram) {
  const auto fail = [](const std::string& words) {
    throw InputError("critical differences: " + words);
  };
  const Index k = std::ssize(diagram.methods);
  if (k < 2) fail("there are fewer than two methods");
  if (diagram.average_ranks.size() != k)
    fail(fmt::format("there are {} ranks for {} methods", diagram.average_ranks.size(), k));
  for (const double rank : diagram.average_ranks)
    if (!(rank >= 1 && rank <= static_cast<double>(k)))
      fail(fmt::format("a rank is {}; it must lie in [1, {}]", svg::number_text(rank), k));
  if (!(diagram.critical_difference >= 0)) fail("the critical difference must not be negative");
  for (const auto& group : diagram.groups)
    for (const Index method : group)
      if (method < 0 || method >= k) fail(fmt::format("a group names method {} of {}", method, k));
}

// The better half is named to the left of the axis, best first; the others to the right, worst first. So no lines cross.
struct DiagramLayout {
  std::vector<Index> order;  // best first
  std::size_t left = 0;      // so many are on the left
  svg::Axis axis;            // ranks to pixels
  double ruler = 0;          // y of the critical difference
  double top = 0;            // y of the axis
  double bars = 0;           // y of the first bar
  double names = 0;          // y of the first line to a name
  double bottom = 0;
};

std::string label_of(const CriticalDifference& diagram, Index method) {
  return fmt::format("{:.2f}", diagram.average_ranks[method]);
}

double name_width(const CriticalDifference& diagram) {
  double width = 0;
  for (const std::string& name : diagram.methods)
    width = std::max(width, std::min(svg::longest_label, svg::text_width(name, method_font)));
  return width + svg::text_width("  00.00", method_font) + name_gap;
}

DiagramLayout lay_out(const CriticalDifference& diagram, double side, double y) {
  const Index k = std::ssize(diagram.methods);
  DiagramLayout at;
  at.order.resize(static_cast<std::size_t>(k));
  std::iota(at.order.begin(), at.order.end(), Index{0});
  std::ranges::stable_sort(at.order, [&](Index a, Index b) {
    return diagram.average_ranks[a] < diagram.average_ranks[b];
  });
  at.left = (at.order.size() + 1) / 2;
  const double first = margin + side + 20;
  at.axis = {.low = 1, .high = static_cast<double>(k), .first = first, .last = first + axis_length};
  at.ruler = y + svg::Heading{diagram.title, diagram.remark}.height() + 22;
  at.top = at.ruler + 34;
  at.bars = at.top + 13;
  at.names = at.bars + bar * static_cast<double>(diagram.groups.size()) + 10;
  at.bottom = at.names + method_row * static_cast<double>(at.left - 1) + 5;
  return at;
}

void draw_axis(svg::Drawing& drawing, const CriticalDifference& diagram, const DiagramLayout& at) {
  drawing.begin("axis");
  const double length = std::min(
      diagram.critical_difference * axis_length / (at.axis.high - at.axis.low), axis_length);
  const bool cut = diagram.critical_difference > at.axis.high - at.axis.low;
  const Point from{at.axis.first, at.ruler}, to{at.axis.first + length, at.ruler};
  drawing.line(from, to, {.width = 1.5, .dashes = cut ? "5 3" : ""});
  for (const Point end : {from, to}) drawing.line({end.x, end.y - 4}, {end.x, end.y + 4});
  drawing.text({at.axis.first, at.ruler - 8},
               fmt::format("critical difference {:.2f}{}", diagram.critical_difference,
                           cut ? ", longer than the axis" : ""),
               {.size = 11});
  drawing.line({at.axis.first, at.top}, {at.axis.last, at.top}, {.width = 1.2});
  std::vector<svg::TickName> names;
  for (const double rank : svg::ticks(at.axis, 12)) {
    if (rank != std::floor(rank)) continue;
    const double x = at.axis.pixel(rank);
    drawing.line({x, at.top - 5}, {x, at.top});
    names.push_back({x, fmt::format("{:g}", rank)});
  }
  svg::draw_tick_names(drawing, names, at.top - 18, at.axis.first - 10, at.axis.last + 10);
  drawing.end();
}

void draw_methods(svg::Drawing& drawing, const CriticalDifference& diagram,
                  const DiagramLayout& at) {
  drawing.begin("methods");
  for (std::size_t i = 0; i < at.order.size(); ++i) {
    const Index method = at.order[i];
    const bool left = i < at.left;
    const std::size_t place = left ? i : at.order.size() - 1 - i;
    const double x = at.axis.pixel(diagram.average_ranks[method]);
    const double y = at.names + method_row * static_cast<double>(place);
    const double end = left ? at.axis.first - 20 : at.axis.last + 20;
    const std::vector<Point> line = {{x, at.top}, {x, y}, {end, y}};
    drawing.polyline(line, {.colour = "#555"});
    drawing.circle({x, at.top}, 2.5, svg::ink);
    const std::string rank = label_of(diagram, method);
    const double own = svg::text_width(rank, method_font);
    const svg::Anchor anchor = left ? svg::Anchor::end : svg::Anchor::start;
    const double away = left ? -1 : 1;
    drawing.text({end + away * name_gap, y + 4}, rank,
                 {.size = method_font, .anchor = anchor, .colour = svg::quiet});
    drawing.text_within(svg::longest_label, {end + away * (2 * name_gap + own), y + 4},
                        diagram.methods[static_cast<std::size_t>(method)],
                        {.size = method_font, .anchor = anchor});
  }
  drawing.end();
}

void draw_groups(svg::Drawing& drawing, const CriticalDifference& diagram,
                 const DiagramLayout& at) {
  drawing.begin("groups");
  double y = at.bars;
  for (const std::vector<Index>& group : diagram.groups) {
    double low = at.axis.high, high = at.axis.low;
    for (const Index method : group) {
      low = std::min(low, diagram.average_ranks[method]);
      high = std::max(high, diagram.average_ranks[method]);
    }
    drawing.line({at.axis.pixel(low) - 4, y}, {at.axis.pixel(high) + 4, y},
                 {.colour = svg::colour(0), .width = 4});
    y += bar;
  }
  drawing.end();
}

}  // namespace

std::string as_svg(const std::vector<CriticalDifference>& diagrams, const std::string& title) {
  double side = 0, width = 0;
  for (const CriticalDifference& diagram : diagrams) {
    check(diagram);
    side = std::max(side, name_width(diagram) + name_gap);
    width = std::max(width, svg::Heading{diagram.title, diagram.remark}.width());
  }
  const svg::Heading heading{title};
  width = std::max({width, heading.width(), 2 * (side + 20) + axis_length}) + 2 * margin;
  svg::Drawing drawing;
  heading.draw(drawing, {margin, margin}, width - 2 * margin);
  double y = margin + heading.height();
  for (const CriticalDifference& diagram : diagrams) {
    const DiagramLayout at = lay_out(diagram, side, y);
    svg::Heading{diagram.title, diagram.remark}.draw(drawing, {margin, y}, width - 2 * margin);
    draw_axis(drawing, diagram, at);
    draw_methods(drawing, diagram, at);
    draw_groups(drawing, diagram, at);
    y = at.bottom + space;
  }
  return drawing.finish(width, y - space + margin, title);
}

}  // namespace coterie
