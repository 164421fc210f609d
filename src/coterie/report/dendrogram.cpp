#include "coterie/report/dendrogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "coterie/report/svg.hpp"

namespace coterie {

namespace {

using svg::margin;
using svg::Point;

// The nodes that a picture shows. A merge beyond the largest lambda is left out with all that stands on it.
struct Tree {
  Index leaves = 0;
  std::vector<std::vector<Index>> children =
      {};                              // of each node, the one with the earlier leaf first
  std::vector<double> lambda = {};     // of each node; leaves: 0
  std::vector<Index> parent = {};      // -1: none
  std::vector<Index> first_leaf = {};  // the smallest leaf below each node
  std::vector<bool> shown = {};
  std::vector<Index> roots = {};  // shown nodes without a shown parent
};

void check(bool good, const std::string& words) {
  if (!good) throw InputError("dendrogram: " + words);
}

Tree build_tree(const Dendrogram& tree) {
  const Index n = std::ssize(tree.leaves), nodes = n + std::ssize(tree.merges);
  check(n > 0, "there are no leaves; name at least one task");
  check(std::isfinite(tree.lambda_max) && tree.lambda_max > 0,
        fmt::format("lambda_max is {}; it must be positive and finite",
                    svg::number_text(tree.lambda_max)));
  Tree out;
  out.leaves = n;
  out.children.resize(nodes);
  out.lambda.assign(nodes, 0);
  out.parent.assign(nodes, -1);
  out.first_leaf.resize(nodes);
  out.shown.assign(nodes, true);
  std::iota(out.first_leaf.begin(), out.first_leaf.end(), Index{0});
  for (Index k = 0; k < std::ssize(tree.merges); ++k) {
    const TreeMerge& merge = tree.merges[k];
    const Index node = n + k;
    const auto here = [&](const std::string& words) {
      return fmt::format("merge {} {}", k, words);
    };
    check(merge.children.size() >= 2,
          here(fmt::format("has {} children; it needs two or more", merge.children.size())));
    check(merge.lambda >= 0, here(fmt::format("is at lambda {}; it must not be negative",
                                              svg::number_text(merge.lambda))));
    check(!merge.support || (*merge.support >= 0 && *merge.support <= 1),
          here(fmt::format("has support {}; it must lie in [0, 1]",
                           svg::number_text(merge.support.value_or(0)))));
    out.lambda[node] = merge.lambda;
    out.shown[node] = merge.lambda <= tree.lambda_max;
    out.children[node] = merge.children;
    for (const Index child : merge.children) {
      check(child >= 0 && child < node,
            here(fmt::format("joins node {}; it may join the leaves and earlier merges, 0 to {}",
                             child, node - 1)));
      check(out.parent[child] < 0,
            here(fmt::format("joins node {}, which is joined before; a node joins once", child)));
      check(out.lambda[child] <= merge.lambda,
            here(fmt::format("is at lambda {}, below its part, node {}, at {}; lambda must not "
                             "fall towards the root",
                             svg::number_text(merge.lambda), child,
                             svg::number_text(out.lambda[child]))));
      out.parent[child] = node;
    }
    std::sort(out.children[node].begin(), out.children[node].end(),
              [&](Index a, Index b) { return out.first_leaf[a] < out.first_leaf[b]; });
    out.first_leaf[node] = out.first_leaf[out.children[node].front()];
  }
  for (Index node = 0; node < nodes; ++node)
    if (out.shown[node] && (out.parent[node] < 0 || !out.shown[out.parent[node]]))
      out.roots.push_back(node);
  std::sort(out.roots.begin(), out.roots.end(),
            [&](Index a, Index b) { return out.first_leaf[a] < out.first_leaf[b]; });
  return out;
}

// Depth first, with a stack: a chain of a thousand merges is as deep as it is long.
std::vector<Index> order_leaves(const Tree& tree) {
  std::vector<Index> order, waiting(tree.roots.rbegin(), tree.roots.rend());
  while (!waiting.empty()) {
    const Index node = waiting.back();
    waiting.pop_back();
    if (node < tree.leaves) order.push_back(node);
    waiting.insert(waiting.end(), tree.children[node].rbegin(), tree.children[node].rend());
  }
  return order;
}

std::vector<Index> find_groups(const Tree& tree, double lambda) {
  const std::size_t nodes = tree.parent.size();
  std::vector<Index> top(nodes);  // of each node, the highest one that lambda reaches
  for (std::size_t node = nodes; node-- > 0;) {
    const Index up = tree.parent[node];
    top[node] = up >= 0 && tree.lambda[up] <= lambda ? top[up] : static_cast<Index>(node);
  }
  std::vector<Index> number(nodes, -1);
  std::vector<Index> out(static_cast<std::size_t>(tree.leaves));
  Index groups = 0;
  for (Index leaf = 0; leaf < tree.leaves; ++leaf) {
    Index& own = number[top[leaf]];
    if (own < 0) own = groups++;
    out[leaf] = own;
  }
  return out;
}

// Where everything is: rows of names on the left, lambda to the right.
struct TreeLayout {
  double row = 18, font = 12;  // heights of a row and of its name
  double left = 0, top = 0, bottom = 0;
  double leaf_end = 0;  // where the lines of the leaves begin
  svg::Axis axis = {};
  std::vector<Point> node = {};  // of each shown node: its joint
  double x(double lambda) const {
    return lambda < axis.low ? leaf_end : axis.pixel(std::min(lambda, axis.high));
  }
};

constexpr double plot_width = 560, open_end = 18, axis_height = 48, note_height = 17;
constexpr double negligible = 1e-9;  // of lambda_max
constexpr std::string_view branch = "#555";

TreeLayout lay_out(const Dendrogram& picture, const Tree& tree, const std::vector<Index>& order) {
  TreeLayout out;
  const Index n = tree.leaves;
  if (n > 40) out.row = 15, out.font = 11;
  double widest = 0;
  for (const std::string& name : picture.leaves)
    widest = std::max(widest, std::min(svg::text_width(name, out.font), svg::longest_label));
  out.left = margin + widest + 8;
  out.top = margin + svg::Heading{picture.title}.height() + (picture.cut ? 18 : 0) +
            (picture.mark ? 18 : 0);
  out.bottom = out.top + out.row * static_cast<double>(n);

  // The axis begins some way before the first merge. What is negligible stands at 0, in front of it.
  double least = picture.lambda_max;
  bool at_zero = false;
  const auto include = [&](double lambda) {
    if (lambda < negligible * picture.lambda_max)
      at_zero = true;
    else
      least = std::min(least, lambda);
  };
  for (Index node = n; node < std::ssize(tree.parent); ++node)
    if (tree.shown[node]) include(tree.lambda[node]);
  if (picture.cut) include(*picture.cut);
  if (picture.mark) include(picture.mark->lambda);
  const double decades = std::max(1.0, std::log10(picture.lambda_max / least));
  out.axis = {.low = least / std::pow(10, 0.08 * decades),
              .high = picture.lambda_max,
              .first = out.left + (at_zero ? 40 : 0),
              .last = out.left + plot_width,
              .logarithmic = true};
  out.leaf_end = out.left + (at_zero ? 14 : 0);

  out.node.resize(tree.parent.size());
  for (Index i = 0; i < n; ++i)
    out.node[order[i]] = {out.left, out.top + (static_cast<double>(i) + 0.5) * out.row};
  for (Index node = n; node < std::ssize(tree.parent); ++node)
    if (tree.shown[node])
      out.node[node] = {
          out.x(tree.lambda[node]),
          (out.node[tree.children[node].front()].y + out.node[tree.children[node].back()].y) / 2};
  return out;
}

std::vector<std::string> notes_below(const Dendrogram& picture, const Tree& tree) {
  std::vector<std::string> notes;
  if (tree.roots.size() > 1)
    notes.push_back(fmt::format("dotted ends: {} parts that do not join", tree.roots.size()));
  if (std::ranges::any_of(picture.merges, &TreeMerge::in_pieces))
    notes.emplace_back(
        "dashed: together as long as if they joined here, but not in one piece; they part again");
  return notes;
}

void draw_axis(svg::Drawing& drawing, const Dendrogram& picture, const Tree& tree,
               const TreeLayout& at) {
  drawing.begin("axis");
  std::vector<svg::TickName> names;
  if (at.leaf_end > at.left) names.push_back({at.leaf_end, "0"});
  for (const double value : svg::ticks(at.axis, 9))
    names.push_back({at.axis.pixel(value), svg::number_text(value)});
  for (const svg::TickName& name : names)
    drawing.line({name.x, at.top}, {name.x, at.bottom + 4}, {.colour = "#e6e6e6"});
  svg::draw_tick_names(drawing, names, at.bottom + 7, margin, at.axis.last + open_end + margin);
  drawing.line({at.axis.first, at.bottom}, {at.axis.last, at.bottom});
  drawing.text_within(plot_width, {(at.axis.first + at.axis.last) / 2, at.bottom + 36},
                      picture.lambda_name, {.anchor = svg::Anchor::middle});
  double y = at.bottom + axis_height + 5;
  for (const std::string& note : notes_below(picture, tree)) {
    drawing.text({(at.axis.first + at.axis.last) / 2, y}, note,
                 {.size = 11, .anchor = svg::Anchor::middle, .colour = svg::quiet});
    y += note_height;
  }
  drawing.end();
}

// As they are known, numbered by their first leaf; else as the merges have them.
std::vector<Index> groups_of_cut(const Dendrogram& picture, const Tree& tree) {
  if (picture.groups.empty()) return find_groups(tree, *picture.cut);
  std::vector<Index> out;
  for (const Index g : picture.groups)
    out.push_back(std::ranges::find(picture.groups, g) - picture.groups.begin());
  return out;
}

// The colour of each node below the cut, if it is in a group of several; otherwise empty.
std::vector<std::string_view> colour_groups(const Dendrogram& picture, const Tree& tree,
                                            const std::vector<Index>& order) {
  std::vector<std::string_view> out(tree.parent.size());
  if (!picture.cut) return out;
  const std::vector<Index> group = groups_of_cut(picture, tree);
  std::vector<Index> size(tree.leaves, 0), rank(tree.leaves, -1);
  for (const Index g : group) ++size[g];
  Index coloured = 0;
  constexpr Index hues = 8;  // the last two of the colours are too close to that of the branches
  for (const Index leaf : order) {
    const Index g = group[leaf];
    if (size[g] < 2) continue;
    if (rank[g] < 0) rank[g] = coloured++;
    out[leaf] = svg::colour(rank[g] % hues);
  }
  std::vector<Index> whole(tree.parent.size(), -1);  // the group of all leaves below, if it is one
  for (Index leaf = 0; leaf < tree.leaves; ++leaf) whole[leaf] = group[leaf];
  for (Index node = tree.leaves; node < std::ssize(tree.parent); ++node) {
    const auto& children = tree.children[node];
    const Index first = whole[children.front()];
    if (std::ranges::all_of(children, [&](Index child) { return whole[child] == first; }))
      whole[node] = first;
    if (whole[node] >= 0 && tree.lambda[node] <= *picture.cut)
      out[node] = out[tree.first_leaf[node]];
  }
  return out;
}

struct Segment {
  Point from, to;
};

// The lines of the tree; returns them, so that numbers can keep clear of them.
std::vector<Segment> draw_branches(svg::Drawing& drawing, const Dendrogram& picture,
                                   const Tree& tree, const TreeLayout& at,
                                   const std::vector<std::string_view>& colours) {
  std::vector<Segment> out;
  const auto draw = [&](Point from, Point to, std::string_view colour, bool dashed = false) {
    drawing.line(from, to,
                 {.colour = colour.empty() ? branch : colour,
                  .width = colour.empty() ? 1.2 : 1.8,
                  .dashes = dashed ? "4 2.5" : ""});
    out.push_back({from, to});
  };
  drawing.begin("branches");
  for (Index node = 0; node < std::ssize(tree.parent); ++node) {
    if (!tree.shown[node]) continue;
    const Point joint = at.node[node];
    if (node >= tree.leaves) {
      const auto& children = tree.children[node];
      draw({joint.x, at.node[children.front()].y}, {joint.x, at.node[children.back()].y},
           colours[node], picture.merges[node - tree.leaves].in_pieces);
    }
    const bool is_root = std::find(tree.roots.begin(), tree.roots.end(), node) != tree.roots.end();
    const double end = is_root ? at.axis.last : at.node[tree.parent[node]].x;
    // Colour ends at the cut.
    const double change =
        colours[node].empty() ? joint.x : std::clamp(at.x(*picture.cut), joint.x, end);
    if (change > joint.x) draw(joint, {change, joint.y}, colours[node]);
    if (end > change) draw({change, joint.y}, {end, joint.y}, {});
    if (is_root && tree.roots.size() > 1)
      drawing.line({end, joint.y}, {end + open_end, joint.y},
                   {.colour = branch, .width = 1.2, .dashes = "1.5 3"});
  }
  drawing.end();
  return out;
}

struct Box {
  double left, top, right, bottom;
  bool meets(const Box& b) const {
    return left < b.right && b.left < right && top < b.bottom && b.top < bottom;
  }
};

// A dot at each joint that has a support, dark for a high one, and the number beside it: on a side where no lines are, else where
// no other number is, else only in the tip of the dot.
void draw_support(svg::Drawing& drawing, const Dendrogram& picture, const Tree& tree,
                  const TreeLayout& at, const std::vector<Segment>& lines) {
  constexpr double size = 10, radius = 3;
  std::vector<Box> barriers, taken;
  for (const auto& [from, to] : lines)
    barriers.push_back({std::min(from.x, to.x) - 1, std::min(from.y, to.y) - 1,
                        std::max(from.x, to.x) + 1, std::max(from.y, to.y) + 1});
  for (Index k = 0; k < std::ssize(picture.merges); ++k)
    if (picture.merges[k].support && tree.shown[tree.leaves + k]) {
      const Point joint = at.node[tree.leaves + k];
      taken.push_back({joint.x - radius, joint.y - radius, joint.x + radius, joint.y + radius});
    }
  drawing.begin("support");
  for (Index k = 0; k < std::ssize(picture.merges); ++k) {
    const TreeMerge& merge = picture.merges[k];
    const Index node = tree.leaves + k;
    if (!merge.support || !tree.shown[node]) continue;
    const Point joint = at.node[node];
    const std::string words = fmt::format("{:.2f}", *merge.support);
    drawing.circle(
        joint, radius, svg::ramp(*merge.support), {.colour = branch, .width = 0.8},
        fmt::format("support {} of the group formed at {}", words, svg::number_text(merge.lambda)));
    const double width = svg::text_width(words, size);
    const auto box_at = [&](bool right, bool above) {
      const double x = right ? joint.x + 4 : joint.x - 4 - width;
      const double baseline = above ? joint.y - 3.5 : joint.y + 3 + 0.76 * size;
      return Box{x, baseline - 0.76 * size, x + width, baseline + 1};
    };
    const std::array<Box, 4> places = {box_at(true, true), box_at(false, true), box_at(true, false),
                                       box_at(false, false)};
    const auto is_free = [](const Box& place, const std::vector<Box>& others) {
      return std::none_of(others.begin(), others.end(),
                          [&](const Box& other) { return place.meets(other); });
    };
    const auto inside = [&](const Box& place) {
      return place.left >= at.left && place.right <= at.axis.last + open_end &&
             place.top >= at.top - 4 && place.bottom <= at.bottom + 2;
    };
    const auto best = [&](auto good) { return std::find_if(places.begin(), places.end(), good); };
    auto place =
        best([&](const Box& b) { return inside(b) && is_free(b, taken) && is_free(b, barriers); });
    if (place == places.end())
      place = best([&](const Box& b) { return inside(b) && is_free(b, taken); });
    if (place == places.end()) continue;
    drawing.text({place->left, place->bottom - 1}, words,
                 {.size = size, .colour = "#444", .halo = true});
    taken.push_back(*place);
  }
  drawing.end();
}

void write_above(svg::Drawing& drawing, const TreeLayout& at, double x, double y,
                 const std::string& words, std::string_view colour) {
  const double half = svg::text_width(words, 12) / 2;
  const double right = std::max(at.left + half, at.axis.last + open_end - half);
  drawing.text({std::clamp(x, at.left + half, right), y}, words,
               {.anchor = svg::Anchor::middle, .colour = colour});
}

void draw_cut(svg::Drawing& drawing, const Dendrogram& picture, const Tree& tree,
              const TreeLayout& at) {
  std::vector<Index> group = groups_of_cut(picture, tree);
  std::ranges::sort(group);
  const Index groups = std::ranges::unique(group).begin() - group.begin();
  const double x = at.x(*picture.cut);
  const std::string words = fmt::format("{} group{} at {}", groups, groups == 1 ? "" : "s",
                                        svg::number_text(*picture.cut, 3));
  drawing.begin("cut");
  drawing.line({x, at.top - 4}, {x, at.bottom}, {.dashes = "5 3"});
  write_above(drawing, at, x, at.top - 9, words, svg::ink);
  drawing.end();
}

void draw_mark(svg::Drawing& drawing, const Dendrogram& picture, const TreeLayout& at) {
  const double x = at.x(picture.mark->lambda);
  const double rise = picture.cut ? 18 : 0;
  drawing.begin("mark");
  drawing.line({x, at.top - 4 - rise}, {x, at.bottom}, svg::mark_stroke);
  write_above(drawing, at, x, at.top - 9 - rise, picture.mark->words, svg::mark_stroke.colour);
  drawing.end();
}

}  // namespace

std::vector<Index> leaf_order(const Dendrogram& tree) { return order_leaves(build_tree(tree)); }

std::vector<Index> groups_at(const Dendrogram& tree, double lambda) {
  return find_groups(build_tree(tree), lambda);
}

std::string as_svg(const Dendrogram& picture) {
  const Tree tree = build_tree(picture);
  check(!picture.cut || (std::isfinite(*picture.cut) && *picture.cut >= 0),
        fmt::format("the cut is at {}; it must be finite and not negative",
                    svg::number_text(picture.cut.value_or(0))));
  check(picture.groups.empty() || std::ssize(picture.groups) == tree.leaves,
        fmt::format("there are {} groups for {} leaves", picture.groups.size(), tree.leaves));
  check(!picture.mark || picture.mark->lambda >= 0,
        fmt::format("the mark is at {}; it must not be negative",
                    svg::number_text(picture.mark ? picture.mark->lambda : 0)));
  const std::vector<Index> order = order_leaves(tree);
  const TreeLayout at = lay_out(picture, tree, order);
  const std::vector<std::string_view> colours = colour_groups(picture, tree, order);
  const double width = at.axis.last + open_end + margin;
  const double height = at.bottom + axis_height +
                        note_height * static_cast<double>(notes_below(picture, tree).size());

  svg::Drawing drawing;
  svg::Heading{picture.title}.draw(drawing, {margin, margin}, width - 2 * margin);
  draw_axis(drawing, picture, tree, at);
  drawing.begin("leaves");
  for (Index leaf = 0; leaf < tree.leaves; ++leaf)
    drawing.text_within(svg::longest_label, {at.left - 6, at.node[leaf].y + 0.36 * at.font},
                        picture.leaves[leaf],
                        {.size = at.font,
                         .anchor = svg::Anchor::end,
                         .colour = colours[leaf].empty() ? svg::ink : colours[leaf]});
  drawing.end();
  std::vector<Segment> lines = draw_branches(drawing, picture, tree, at, colours);
  if (picture.cut) {
    draw_cut(drawing, picture, tree, at);
    lines.push_back({{at.x(*picture.cut), at.top}, {at.x(*picture.cut), at.bottom}});
  }
  if (picture.mark) {
    draw_mark(drawing, picture, at);
    lines.push_back(
        {{at.x(picture.mark->lambda), at.top}, {at.x(picture.mark->lambda), at.bottom}});
  }
  draw_support(drawing, picture, tree, at, lines);
  return drawing.finish(width, height, picture.title);
}

}  // namespace coterie
