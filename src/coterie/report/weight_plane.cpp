#include "coterie/report/weight_plane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "coterie/report/svg.hpp"

namespace coterie {

namespace {

using svg::margin;
using svg::Point;

constexpr double side = 360;  // of the plane
constexpr double plane_font = 12;
constexpr double name_row = 18;  // between two names
constexpr double leader = 46;    // from the plane to the names
constexpr double swatch = 5;     // radius of a point
constexpr double below = 46;     // ticks and name of the level axis
constexpr double beside = 58;    // the same of the upright one
constexpr std::string_view alone = "#777";

void check(const WeightPlane& plane) {
  const auto fail = [](const std::string& words) { throw InputError("weight plane: " + words); };
  const Index T = std::ssize(plane.tasks);
  if (T == 0) fail("there are no tasks; name at least one");
  if (plane.weights.rows() != T || plane.weights.cols() != 2)
    fail(fmt::format("there are {} x {} weights; {} tasks have {} x 2", plane.weights.rows(),
                     plane.weights.cols(), T, T));
  for (const double weight : plane.weights.reshaped())
    if (!(weight >= 0) || std::isinf(weight))
      fail(fmt::format("a weight is {}; it must be a number >= 0", svg::number_text(weight)));
  for (const std::vector<Index>& group : plane.groups)
    for (const Index t : group)
      if (t < 0 || t >= T) fail(fmt::format("a group names task {} of {}", t, T));
}

// [task] the colour of its group; of a task without others grey.
std::vector<std::string_view> colours_of(const WeightPlane& plane) {
  std::vector<std::string_view> out(plane.tasks.size(), alone);
  Index shared = 0;
  for (const std::vector<Index>& group : plane.groups) {
    if (group.size() < 2) continue;
    for (const Index t : group) out[static_cast<std::size_t>(t)] = svg::colour(shared);
    ++shared;
  }
  return out;
}

struct PlaneLayout {
  svg::Axis x, y;
  Point at(const WeightPlane& plane, Index t) const {
    return {x.pixel(plane.weights(t, 0)), y.pixel(plane.weights(t, 1))};
  }
};

// From the top of the plane to its bottom, members of a group one behind the other: lines to the names cross as little as can be.
std::vector<Index> order_of_names(const WeightPlane& plane, const PlaneLayout& layout,
                                  const std::vector<std::string_view>& colours) {
  std::vector<Index> order(plane.tasks.size());
  std::iota(order.begin(), order.end(), Index{0});
  const auto key = [&](Index t) {
    const Point at = layout.at(plane, t);
    return std::tuple(std::lround(10 * at.y), std::lround(10 * at.x),
                      colours[static_cast<std::size_t>(t)]);
  };
  std::ranges::stable_sort(order, [&](Index a, Index b) { return key(a) < key(b); });
  return order;
}

void draw_axes(svg::Drawing& drawing, const WeightPlane& plane, const PlaneLayout& layout) {
  drawing.begin("axes");
  const std::vector<double> ticks = svg::ticks(layout.x, 6);
  const std::vector<std::string> words = svg::tick_texts(ticks);
  std::vector<svg::TickName> names;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double x = layout.x.pixel(ticks[i]), y = layout.y.pixel(ticks[i]);
    drawing.line({x, layout.y.first}, {x, layout.y.last}, {.colour = svg::grid});
    drawing.line({layout.x.first, y}, {layout.x.last, y}, {.colour = svg::grid});
    drawing.text({layout.x.first - 6, y + 4}, words[i], {.size = 11, .anchor = svg::Anchor::end});
    names.push_back({x, words[i]});
  }
  svg::draw_tick_names(drawing, names, layout.y.first + 6, layout.x.first - 20, layout.x.last + 20);
  const Point middle{(layout.x.first + layout.x.last) / 2, (layout.y.first + layout.y.last) / 2};
  drawing.text_within(side, {middle.x, layout.y.first + below - 8}, "weight of " + plane.x_name,
                      {.size = plane_font, .anchor = svg::Anchor::middle});
  drawing.text({layout.x.first - beside + 16, middle.y},
               svg::shorten("weight of " + plane.y_name, side, plane_font),
               {.size = plane_font, .anchor = svg::Anchor::middle, .upwards = true});
  drawing.end();
}

}  // namespace

std::string as_svg(const WeightPlane& plane) {
  check(plane);
  const double high = std::max(1.0, plane.weights.maxCoeff());
  const svg::Heading heading{plane.title, plane.remark};
  const double top = margin + heading.height() + 10;
  const double left = margin + beside;
  const double names_high = name_row * static_cast<double>(plane.tasks.size());
  const double tall = std::max(side, names_high);
  const double plane_top = top + (tall - side) / 2;
  const PlaneLayout layout{{0, high, left, left + side}, {0, high, plane_top + side, plane_top}};
  const std::vector<std::string_view> colours = colours_of(plane);

  svg::Drawing drawing;
  double widest = 0;
  for (const std::string& name : plane.tasks)
    widest = std::max(widest, std::min(svg::longest_label, svg::text_width(name, plane_font)));
  const double names_left = left + side + leader;
  const double width = std::max(names_left + widest, margin + heading.width() + 1) + margin;
  heading.draw(drawing, {margin, margin}, width - 2 * margin);
  draw_axes(drawing, plane, layout);
  drawing.begin("boundary");  // of weights whose sum is at most 1
  drawing.line({layout.x.pixel(0), layout.y.pixel(1)}, {layout.x.pixel(1), layout.y.pixel(0)},
               {.colour = "#999", .dashes = "4 3"});
  drawing.end();

  const std::vector<Index> order = order_of_names(plane, layout, colours);
  double height = 0;  // of the points, about
  for (const Index t : order) height += layout.at(plane, t).y / static_cast<double>(order.size());
  double y = std::clamp(height - names_high / 2, top, top + tall - names_high) + name_row / 2;
  drawing.begin("leaders");
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Point at = layout.at(plane, order[k]);
    drawing.line(
        at, {names_left - 6, y + name_row * static_cast<double>(k)},
        {.colour = colours[static_cast<std::size_t>(order[k])], .width = 0.8, .opacity = 0.6});
  }
  drawing.end();
  drawing.begin("points");
  for (const Index t : order)
    drawing.circle(layout.at(plane, t), swatch, colours[static_cast<std::size_t>(t)],
                   {.colour = "#fff", .width = 1}, plane.tasks[static_cast<std::size_t>(t)]);
  drawing.end();
  drawing.begin("tasks");
  for (const Index t : order) {
    const std::string_view colour = colours[static_cast<std::size_t>(t)];
    drawing.text_within(svg::longest_label, {names_left, y + 4},
                        plane.tasks[static_cast<std::size_t>(t)],
                        {.size = plane_font, .colour = colour == alone ? svg::ink : colour});
    y += name_row;
  }
  drawing.end();
  return drawing.finish(width, std::max(top + tall, plane_top + side + below) + margin,
                        plane.title);
}

}  // namespace coterie
