#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "coterie/math/random.hpp"
#include "coterie/report/affinity.hpp"
#include "coterie/report/dendrogram.hpp"
#include "coterie/report/heat_map.hpp"
#include "coterie/report/svg.hpp"
#include "coterie/report/svg_check.hpp"
#include "coterie/report/weight_paths.hpp"

namespace coterie {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// Names as users have them, and as nobody should have them.
std::string draw_name(Random& random) {
  static const std::vector<std::string> pieces = {"a|b",
                                                  "<b>",
                                                  "&amp;",
                                                  "\"",
                                                  "'",
                                                  "]]>",
                                                  "school 7",
                                                  "\xC3\xA9t\xC3\xA9",
                                                  "\xE6\x97\xA5\xE6\x9C\xAC",
                                                  "\x01",
                                                  "\xFF\xFE",
                                                  "\n",
                                                  "\t",
                                                  "\x7F",
                                                  "x",
                                                  "0",
                                                  "\xF0\x9F\x98\x80",
                                                  "\xC0\xAF",
                                                  "\xED\xA0\x80",
                                                  "\xE2\x80\xAE",
                                                  "e\xCC\x81",
                                                  "--",
                                                  "WWWW",
                                                  "a rather long name of a task ",
                                                  ""};
  std::string out;
  for (Index k = random.below(5); k >= 0; --k) out += pieces[random.below(std::ssize(pieces))];
  if (random.uniform() < 0.05) out += std::string(200, 'm');
  return out;
}

std::vector<std::string> draw_names(Random& random, Index n) {
  std::vector<std::string> out;
  for (Index i = 0; i < n; ++i) out.push_back(draw_name(random));
  return out;
}

std::vector<std::string> number_names(const std::string& stem, Index n) {
  std::vector<std::string> out;
  for (Index i = 0; i < n; ++i) out.push_back(stem + std::to_string(i));
  return out;
}

Matrix draw_matrix(Random& random, Index rows, Index columns) {
  Matrix out(rows, columns);
  for (double& value : out.reshaped()) value = random.uniform();
  return out;
}

// ---- The drawing layer -----------------------------------------------------------------------------------------------------

TEST(Svg, EscapesWhatXmlCannotHold) {
  EXPECT_EQ(svg::escape("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(svg::escape("a\tb\nc"), "a b c");
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(svg::escape(std::string("\x00", 1)), replaced);
  EXPECT_EQ(svg::escape("\x1B"), replaced);
  EXPECT_EQ(svg::escape("\xED\xA0\x80"), replaced + replaced + replaced);  // a surrogate
  EXPECT_EQ(svg::escape("\xC0\xAF"), replaced + replaced);                 // '/' in two bytes
  EXPECT_EQ(svg::escape("\xE6\x97"), replaced + replaced);                 // cut short
  EXPECT_EQ(svg::escape("\xEF\xBF\xBF"), replaced);                        // U+FFFF
  EXPECT_EQ(svg::escape("\xE2\x80\xAE"), replaced);  // turns the direction of writing
  EXPECT_EQ(svg::escape("\xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80"),
            "\xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80");
}

TEST(Svg, ShortensToTheWidthAskedFor) {
  Random random(1);
  for (int k = 0; k < 300; ++k) {
    const std::string words = draw_name(random) + draw_name(random);
    const double width = random.uniform(20, 200);
    const std::string shown = svg::shorten(words, width, 12);
    EXPECT_LE(svg::text_width(shown, 12), width + 1e-9);
    EXPECT_EQ(shown == words, svg::text_width(words, 12) <= width);
  }
}

TEST(Svg, WritesNumbersForPeople) {
  EXPECT_EQ(svg::number_text(0.001), "0.001");
  EXPECT_EQ(svg::number_text(1e-5), "1e-5");
  EXPECT_EQ(svg::number_text(20000), "20000");
  EXPECT_EQ(svg::number_text(123456), "123456");
  EXPECT_EQ(svg::number_text(2e6), "2e6");
  EXPECT_EQ(svg::number_text(infinity), "inf");
  EXPECT_EQ(svg::number_text(0.0872345, 3), "0.0872");
  EXPECT_EQ(svg::coordinate(-0.001), "0");
  EXPECT_EQ(svg::coordinate(12.50), "12.5");
  EXPECT_EQ(svg::coordinate(100), "100");
  EXPECT_EQ(svg::tick_texts({0.900002, 0.900004}),
            (std::vector<std::string>{"0.900002", "0.900004"}));
  EXPECT_EQ(svg::tick_texts({0, 0.25, 0.5}), (std::vector<std::string>{"0.00", "0.25", "0.50"}));
}

// Within the axis, increasing, not more than asked for, and at least two where there is room for a few.
TEST(Svg, TicksAreRoundAndWithinTheAxis) {
  Random random(2);
  for (int k = 0; k < 2000; ++k) {
    const bool logarithmic = k % 2 == 0;
    const double low = logarithmic ? std::pow(10, random.uniform(-9, 6))
                                   : random.normal() * std::pow(10, random.uniform(-3, 5));
    const double high = logarithmic ? low * std::pow(10, random.uniform(0.5, 9))
                                    : low + std::pow(10, random.uniform(-3, 5));
    const svg::Axis axis{low, high, 0, 1, logarithmic};
    const Index most = 3 + random.below(10);
    const std::vector<double> ticks = svg::ticks(axis, most);
    EXPECT_TRUE(std::is_sorted(ticks.begin(), ticks.end()));
    EXPECT_LE(std::ssize(ticks), most + 1);
    EXPECT_GE(std::ssize(ticks), 1) << low << " to " << high;
    for (const double tick : ticks) {
      EXPECT_GE(axis.pixel(tick), -1e-6);
      EXPECT_LE(axis.pixel(tick), 1 + 1e-6);
    }
  }
  EXPECT_EQ(svg::ticks({0, 1}, 5), (std::vector<double>{0, 0.2, 0.4, 0.6, 0.8, 1}));
  EXPECT_FALSE(std::signbit(svg::ticks({0, 1}, 5).front()));
  EXPECT_EQ(svg::ticks({1e-3, 1, 0, 1, true}, 4), (std::vector<double>{1e-3, 1e-2, 1e-1, 1}));
}

// The order of the ramp survives grey print: luminance falls all the way.
TEST(Svg, RampDarkensEvenly) {
  double before = 0.98;  // white is lighter than the light end
  for (int k = 0; k <= 100; ++k) {
    const std::string colour = svg::ramp(k / 100.0);
    const auto part = [&](int i) {
      return std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    };
    const double grey = 0.299 * part(0) + 0.587 * part(1) + 0.114 * part(2);
    EXPECT_LT(grey, before) << k;
    EXPECT_GT(grey, before - 0.03) << k;
    before = grey;
  }
}

// ---- Heat map --------------------------------------------------------------------------------------------------------------

HeatMap draw_heat_map(Random& random) {
  const Index rows = 1 + random.below(25), columns = 1 + random.below(30);
  HeatMap map{.title = draw_name(random),
              .x_name = draw_name(random),
              .x_labels = draw_names(random, columns),
              .y_name = draw_name(random),
              .y_labels = draw_names(random, rows),
              .value_name = draw_name(random),
              .higher_is_better = random.uniform() < 0.5,
              .panels_across = random.below(4)};
  for (Index k = 1 + random.below(5); k > 0; --k) {
    HeatPanel panel{draw_name(random), draw_matrix(random, rows, columns), {}};
    for (double& value : panel.values.reshaped())
      if (random.uniform() < 0.1) value = nan;
    for (Index m = random.below(4); m > 0; --m)
      panel.marks.push_back({random.below(rows), random.below(columns), draw_name(random)});
    map.panels.push_back(panel);
  }
  return map;
}

TEST(HeatMap, EveryPictureIsValidAndHasACellForEachValue) {
  Random random(3);
  for (int k = 0; k < 40; ++k) {
    SCOPED_TRACE(k);
    const HeatMap map = draw_heat_map(random);
    const std::string picture = as_svg(map);
    const std::vector<Element> elements = check_picture(picture);
    Index missing = 0, cells = 0;
    for (const HeatPanel& panel : map.panels) {
      cells += panel.values.size();
      missing += (!panel.values.array().isFinite()).count();
    }
    EXPECT_EQ(count(elements, "rect", "cells"), cells);
    EXPECT_EQ(count(elements, "line", "hatching"), missing);
    EXPECT_EQ(as_svg(map), picture);
  }
}

// Fill of the cell at the left end of its row; the first row is at the bottom.
TEST(HeatMap, BetterIsDarkerAndTheFirstRowIsAtTheBottom) {
  HeatMap map{.x_labels = {"x"},
              .y_labels = {"1", "2", "3"},
              .panels = {{.values = Matrix{{0.2}, {0.5}, {0.9}}}}};
  for (const bool higher : {true, false}) {
    map.higher_is_better = higher;
    std::map<double, std::string> fill_at;  // by height
    for (const Element& e : check_picture(as_svg(map)))
      if (e.name == "rect" && e.is_in("cells")) fill_at[e.number("y")] = e.attributes.at("fill");
    ASSERT_EQ(fill_at.size(), 3u);
    EXPECT_EQ(fill_at.begin()->second, svg::ramp(higher ? 1 : 0));
    EXPECT_EQ(fill_at.rbegin()->second, svg::ramp(higher ? 0 : 1));
  }
}

TEST(HeatMap, HandlesNothingKnownAndASingleValue) {
  HeatMap map{.title = "t",
              .x_labels = {"a", "b"},
              .y_labels = {"c"},
              .panels = {{.values = Matrix::Constant(1, 2, nan)}}};
  EXPECT_EQ(count(check_picture(as_svg(map)), "line", "hatching"), 2);
  map.panels[0].values.setConstant(0.7);
  EXPECT_EQ(count(check_picture(as_svg(map)), "rect", "cells"), 2);
  map.panels[0].values.setConstant(0);
  check_picture(as_svg(map));
  // Nearly the same value: by rounding, and by little more than it.
  for (const double step : {1.2e-16, 1e-14, 1e-8, 1e-6, 1e-4}) {
    map.panels[0].values = Matrix{{0.9, 0.9 + step}};
    EXPECT_EQ(count(check_picture(as_svg(map)), "rect", "cells"), 2);
  }
}

template <typename Picture>
std::string error_of(const Picture& picture) {
  try {
    as_svg(picture);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(HeatMap, SaysWhichSizesDoNotFit) {
  HeatMap map{
      .x_labels = {"a", "b"}, .y_labels = {"c"}, .panels = {{.values = Matrix::Zero(2, 2)}}};
  EXPECT_EQ(error_of(map),
            "heat map: panel 0 has 2 x 2 values, but there are 1 labels of y and 2 of x");
  map.panels[0].values = Matrix::Zero(1, 2);
  map.panels[0].marks = {{0, 2, "best"}};
  EXPECT_EQ(error_of(map), "heat map: panel 0 marks the cell (0, 2), but has 1 x 2 cells");
  EXPECT_EQ(error_of(HeatMap{.x_labels = {"a"}, .y_labels = {"b"}}),
            "heat map: there are no panels; it needs at least one");
}

// ---- Weight paths ----------------------------------------------------------------------------------------------------------

WeightPaths draw_paths(Random& random, Index tasks, Index kernels, Index steps, bool ends) {
  WeightPaths out{.title = draw_name(random),
                  .lambda_name = draw_name(random),
                  .lambda = Vector(steps),
                  .tasks = draw_names(random, tasks),
                  .kernels = draw_names(random, kernels)};
  for (Index i = 0; i < steps; ++i)
    out.lambda(i) = 1e-4 * std::pow(1e4, static_cast<double>(i) /
                                             static_cast<double>(std::max<Index>(1, steps - 1)));
  if (ends) {
    out.lambda(0) = 0;
    out.lambda(steps - 1) = infinity;
  }
  for (Index t = 0; t < tasks; ++t) out.theta.push_back(draw_matrix(random, steps, kernels));
  for (Index k = random.below(5); k > 0; --k)
    out.merges.push_back(std::pow(10, random.uniform(-5, 1)));
  return out;
}

TEST(WeightPaths, EveryPictureIsValidAndHasALineForEachWeight) {
  Random random(4);
  for (int k = 0; k < 40; ++k) {
    SCOPED_TRACE(k);
    const Index tasks = 1 + random.below(k % 4 == 0 ? 70 : 10), kernels = 1 + random.below(14),
                steps = 5 + random.below(10);
    const bool ends = k % 2 == 0;
    const WeightPaths paths = draw_paths(random, tasks, kernels, steps, ends);
    const std::string picture = as_svg(paths);
    const std::vector<Element> elements = check_picture(picture);
    EXPECT_EQ(count(elements, "polyline", "lines"), tasks * kernels);
    EXPECT_EQ(count(elements, "circle", "lines"), ends ? 2 * tasks * kernels : 0);
    EXPECT_EQ(std::count_if(elements.begin(), elements.end(),
                            [](const Element& e) {
                              return e.name == "g" && e.attributes.at("class") == "lines";
                            }),
              tasks <= 48 ? tasks : kernels);
    EXPECT_EQ(as_svg(paths), picture);
  }
}

TEST(WeightPaths, LinesStandWhereTheirWeightsAre) {
  WeightPaths paths{.lambda = Vector{{0.01, 0.1, 1}},
                    .theta = {Matrix{{0}, {0.5}, {1}}},
                    .tasks = {"t"},
                    .kernels = {"k"}};
  std::string points;
  double left = 0, top = 0, height = 0;
  for (const Element& e : check_picture(as_svg(paths))) {
    if (e.name == "polyline") points = e.attributes.at("points");
    if (e.name == "rect" && e.attributes.at("fill") == "none")
      left = e.number("x"), top = e.number("y"), height = e.number("height");
  }
  const double y0 = top + height, y1 = top + height / 2;
  const std::size_t second = points.find(' ') + 1;
  EXPECT_EQ(points.substr(0, second - 1), svg::coordinate(left + 4) + "," + svg::coordinate(y0));
  EXPECT_EQ(points.substr(points.find(',', second) + 1,
                          points.find(' ', second) - points.find(',', second) - 1),
            svg::coordinate(y1));
}

TEST(WeightPaths, PausesWhereAWeightIsUnknownAndTakesOneLambda) {
  WeightPaths paths{.lambda = Vector{{0.01, 0.03, 0.1, 0.3, 1}},
                    .theta = {Matrix{{0.1}, {0.2}, {nan}, {0.4}, {0.5}}},
                    .tasks = {"t"},
                    .kernels = {"k"}};
  EXPECT_EQ(count(check_picture(as_svg(paths)), "polyline", "lines"), 2);
  for (const double lambda : {0.0, 0.5, infinity}) {
    const WeightPaths single{.lambda = Vector::Constant(1, lambda),
                             .theta = {Matrix{{0.3}}},
                             .tasks = {"t"},
                             .kernels = {"k"}};
    EXPECT_EQ(count(check_picture(as_svg(single)), "circle", "lines"), 1);
  }
}

TEST(WeightPaths, SaysWhatDoesNotFit) {
  WeightPaths paths{.lambda = Vector{{0.1, 0.1}},
                    .theta = {Matrix::Zero(2, 1)},
                    .tasks = {"t"},
                    .kernels = {"k"}};
  EXPECT_EQ(error_of(paths), "weight paths: lambda 1 is 0.1; they must increase from 0 or more");
  paths.lambda = Vector{{0.1, nan}};
  EXPECT_EQ(error_of(paths), "weight paths: lambda 1 is nan; they must increase from 0 or more");
  paths.lambda = Vector{{0.1, 0.2, 0.3}};
  EXPECT_EQ(
      error_of(paths),
      "weight paths: task 0 has 2 x 1 weights, but there are 3 values of lambda and 1 kernels");
  paths.tasks = {"t", "s"};
  EXPECT_EQ(error_of(paths), "weight paths: there are weights of 1 tasks and names of 2");
}

// ---- Dendrogram ------------------------------------------------------------------------------------------------------------

Dendrogram draw_tree(Random& random, Index leaves) {
  Dendrogram out{.title = draw_name(random),
                 .lambda_name = draw_name(random),
                 .leaves = draw_names(random, leaves)};
  std::vector<Index> alive(leaves);
  std::iota(alive.begin(), alive.end(), Index{0});
  random.shuffle(alive);
  const Index parts = 1 + random.below(3);
  double lambda = random.uniform() < 0.3 ? 0 : 1e-4;
  while (std::ssize(alive) > parts) {
    TreeMerge merge{.lambda = lambda};
    for (Index k = std::min<Index>(2 + random.below(2), std::ssize(alive)); k > 0; --k) {
      const Index at = random.below(std::ssize(alive));
      merge.children.push_back(alive[at]);
      alive.erase(alive.begin() + at);
    }
    if (random.uniform() < 0.8) merge.support = random.uniform();
    alive.push_back(leaves + std::ssize(out.merges));
    out.merges.push_back(merge);
    lambda = random.uniform() < 0.2 ? lambda
                                    : std::max(lambda, 1e-4) *
                                          (1 + 20 * random.uniform() / static_cast<double>(leaves));
  }
  if (random.uniform() < 0.6)
    out.cut = random.uniform() < 0.2 ? 0 : std::pow(10, random.uniform(-5, 0.2));
  return out;
}

// Groups by repeated joining, without a tree.
std::vector<Index> slow_groups(const Dendrogram& tree, double lambda) {
  std::vector<std::set<Index>> below;
  for (Index i = 0; i < std::ssize(tree.leaves); ++i) below.push_back({i});
  std::vector<Index> label(tree.leaves.size());
  std::iota(label.begin(), label.end(), Index{0});
  for (const TreeMerge& merge : tree.merges) {
    std::set<Index> all;
    for (const Index child : merge.children) all.insert(below[child].begin(), below[child].end());
    below.push_back(all);
    if (merge.lambda <= lambda)
      for (const Index leaf : all) label[leaf] = *all.begin();
  }
  std::vector<Index> out(label.size());
  std::map<Index, Index> number;
  for (std::size_t i = 0; i < label.size(); ++i)
    out[i] = number.emplace(label[i], std::ssize(number)).first->second;
  return out;
}

TEST(Dendrogram, EveryPictureIsValidAndItsGroupsAreRight) {
  Random random(5);
  for (int k = 0; k < 60; ++k) {
    SCOPED_TRACE(k);
    const Index leaves = 1 + random.below(k % 10 == 0 ? 200 : 30);
    const Dendrogram tree = draw_tree(random, leaves);
    const std::string picture = as_svg(tree);
    const std::vector<Element> elements = check_picture(picture);
    EXPECT_EQ(count(elements, "text", "leaves"), leaves);
    EXPECT_EQ(as_svg(tree), picture);
    for (const double lambda : {0.0, 1e-4, 1e-3, 1e-2, 0.5, infinity})
      EXPECT_EQ(groups_at(tree, lambda), slow_groups(tree, lambda));
    // No lines cross: what joins stands side by side.
    const std::vector<Index> order = leaf_order(tree);
    std::vector<Index> place(leaves, -1);
    for (Index i = 0; i < leaves; ++i) place[order[i]] = i;
    EXPECT_TRUE(std::find(place.begin(), place.end(), -1) == place.end());
    for (const double lambda : {1e-4, 1e-3, 1e-2, 1.0}) {
      const std::vector<Index> group = groups_at(tree, lambda);
      std::set<Index> seen;
      for (Index i = 0; i < leaves; ++i)
        if (i == 0 || group[order[i]] != group[order[i - 1]]) {
          EXPECT_TRUE(seen.insert(group[order[i]]).second);
        }
    }
    if (tree.cut) {
      const std::vector<Index> group = slow_groups(tree, *tree.cut);
      const Index groups = *std::max_element(group.begin(), group.end()) + 1;
      const auto label = std::find_if(elements.begin(), elements.end(), [](const Element& e) {
        return e.name == "text" && e.is_in("cut");
      });
      ASSERT_NE(label, elements.end());
      EXPECT_EQ(label->text.substr(0, label->text.find(' ')), std::to_string(groups));
    }
  }
}

TEST(Dendrogram, KeepsTheOrderOfTheLeavesWhereItCan) {
  const Dendrogram tree{.leaves = {"a", "b", "c", "d"},
                        .merges = {{{3, 1}, 0.1}, {{2, 0}, 0.2}, {{5, 4}, 0.3}}};
  EXPECT_EQ(leaf_order(tree), (std::vector<Index>{0, 2, 1, 3}));
  EXPECT_EQ(groups_at(tree, 0.15), (std::vector<Index>{0, 1, 2, 1}));
  EXPECT_EQ(groups_at(tree, 0.3), (std::vector<Index>{0, 0, 0, 0}));
}

// A merge beyond the largest lambda leaves open ends; so does one that is not there.
TEST(Dendrogram, ShowsWhatNeverJoins) {
  Dendrogram tree{.leaves = {"a", "b", "c"}, .merges = {{{0, 1}, 0.1}, {{3, 2}, infinity}}};
  const std::string apart = as_svg(tree);
  EXPECT_NE(apart.find("2 parts that do not join"), std::string::npos);
  check_picture(apart);
  tree.merges.pop_back();
  EXPECT_EQ(as_svg(tree), apart);
  tree.merges.push_back({{3, 2}, 1.0});
  EXPECT_EQ(as_svg(tree).find("do not join"), std::string::npos);
  check_picture(as_svg({.leaves = {"a", "b"}}));
}

TEST(Dendrogram, ShowsWhatPartsAgainTheGroupsGivenAndTheMark) {
  Dendrogram tree{.leaves = {"a", "b", "c"},
                  .merges = {{{0, 1}, 0.1, {}, true}, {{3, 2}, 0.5}},
                  .cut = 0.2,
                  .groups = {1, 2, 2},
                  .mark = LambdaMark{0.3, "best here"}};
  const std::string text = as_svg(tree);
  EXPECT_NE(text.find("not in one piece"), std::string::npos);
  EXPECT_NE(text.find("stroke-dasharray=\"4 2.5\""), std::string::npos);
  EXPECT_NE(text.find("2 groups at 0.2"), std::string::npos);
  EXPECT_NE(text.find("best here"), std::string::npos);
  // b and c are one group, which no part of the tree is: their own lines and names have its colour, the joint of a and b has none.
  EXPECT_NE(text.find("stroke=\"#555\" stroke-width=\"1.2\" stroke-dasharray=\"4 2.5\""),
            std::string::npos);
  EXPECT_NE(text.find("fill=\"" + std::string(svg::colour(0))), std::string::npos);
  tree.merges[0].in_pieces = false;
  tree.mark->lambda = infinity;
  const std::string whole = as_svg(tree);
  EXPECT_EQ(whole.find("not in one piece"), std::string::npos);
  EXPECT_EQ(error_of(Dendrogram{.leaves = {"a"}, .groups = {1, 2}}),
            "dendrogram: there are 2 groups for 1 leaves");
  EXPECT_EQ(error_of(Dendrogram{.leaves = {"a"}, .mark = LambdaMark{-1, ""}}),
            "dendrogram: the mark is at -1; it must not be negative");
}

// What joins at a lambda that is zero but for rounding does not stretch the axis.
TEST(Dendrogram, TakesNegligibleLambdaAsZero) {
  Dendrogram tree{.leaves = {"a", "b", "c"}, .merges = {{{0, 1}, 0}, {{3, 2}, 0.5}}};
  const std::string zero = as_svg(tree);
  tree.merges[0].lambda = 1e-300;
  EXPECT_EQ(as_svg(tree), zero);
}

TEST(Dendrogram, PrintsTheSupportOfEachMerge) {
  const Dendrogram tree{.leaves = number_names("task ", 4),
                        .merges = {{{0, 1}, 0.01, 0.93}, {{2, 3}, 0.1, 0.5}, {{4, 5}, 0.5, 1.0}}};
  std::multiset<std::string> printed;
  for (const Element& e : check_picture(as_svg(tree)))
    if (e.name == "text" && e.is_in("support")) printed.insert(e.text);
  EXPECT_EQ(printed, (std::multiset<std::string>{"0.50", "0.93", "1.00"}));
}

TEST(Dendrogram, TakesAChainOfAThousand) {
  Dendrogram tree{.leaves = number_names("t", 1000)};
  for (Index k = 0; k + 1 < 1000; ++k)
    tree.merges.push_back({{k == 0 ? 0 : 999 + k, k + 1}, static_cast<double>(k) / 1000});
  EXPECT_EQ(std::ssize(leaf_order(tree)), 1000);
  XmlReader(as_svg(tree)).read();
}

TEST(Dendrogram, SaysWhatIsNoTree) {
  const auto error = [](std::vector<TreeMerge> merges) {
    return error_of(Dendrogram{.leaves = {"a", "b", "c"}, .merges = std::move(merges)});
  };
  EXPECT_EQ(error({{{0}, 0.1}}), "dendrogram: merge 0 has 1 children; it needs two or more");
  EXPECT_EQ(error({{{0, 3}, 0.1}}),
            "dendrogram: merge 0 joins node 3; it may join the leaves and earlier merges, 0 to 2");
  EXPECT_EQ(error({{{0, 1}, 0.1}, {{0, 2}, 0.2}}),
            "dendrogram: merge 1 joins node 0, which is joined before; a node joins once");
  EXPECT_EQ(error({{{0, 1}, 0.3}, {{3, 2}, 0.2}}),
            "dendrogram: merge 1 is at lambda 0.2, below its part, node 3, at 0.3; lambda must not "
            "fall towards the root");
  EXPECT_EQ(error({{{0, 1}, nan}}),
            "dendrogram: merge 0 is at lambda nan; it must not be negative");
  EXPECT_EQ(error({{{0, 1}, 0.1, 1.5}}),
            "dendrogram: merge 0 has support 1.5; it must lie in [0, 1]");
  EXPECT_EQ(error_of(Dendrogram{}), "dendrogram: there are no leaves; name at least one task");
  EXPECT_EQ(error_of(Dendrogram{.leaves = {"a"}, .cut = -1}),
            "dendrogram: the cut is at -1; it must be finite and not negative");
}

// ---- Affinity --------------------------------------------------------------------------------------------------------------

// The colour of each cell as drawn: pieces "M x y h width v ..." of a path for each colour, in cells of equal size.
std::vector<std::vector<std::string>> fills_of(const std::vector<Element>& elements, Index n) {
  struct Piece {
    double x, y, width;
    std::string fill;
  };
  std::vector<Piece> pieces;
  double left = infinity, top = infinity, area = 0, height = 0;
  for (const Element& e : elements) {
    if (e.name != "path") continue;
    const std::string& d = e.attributes.at("d");
    for (std::size_t at = d.find('M'); at != d.npos; at = d.find('M', at + 1)) {
      const std::size_t space = d.find(' ', at), h = d.find('h', at), v = d.find('v', at);
      pieces.push_back({std::stod(d.substr(at + 1)), std::stod(d.substr(space + 1)),
                        std::stod(d.substr(h + 1)), e.attributes.at("fill")});
      height = std::stod(d.substr(v + 1));
      left = std::min(left, pieces.back().x);
      top = std::min(top, pieces.back().y);
      area += pieces.back().width;
    }
  }
  EXPECT_NEAR(area, height * static_cast<double>(n * n), 1e-6);  // none twice
  std::vector<std::vector<std::string>> out(n, std::vector<std::string>(n));
  for (const Piece& piece : pieces) {
    const Index i = std::lround((piece.y - top) / height),
                j = std::lround((piece.x - left) / height);
    for (Index k = 0; k < std::lround(piece.width / height); ++k) out.at(i).at(j + k) = piece.fill;
  }
  return out;
}

std::vector<std::vector<std::string>> expected_fills(const Affinity& affinity) {
  const Index n = std::ssize(affinity.names);
  std::vector<std::vector<std::string>> out(n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      const double value = affinity.order.empty()
                               ? affinity.values(i, j)
                               : affinity.values(affinity.order[i], affinity.order[j]);
      out[i].push_back(std::isfinite(value) ? svg::ramp(std::round(100 * value) / 100)
                                            : std::string(svg::missing));
    }
  return out;
}

TEST(Affinity, EveryPictureIsValidAndOutlinesItsGroups) {
  Random random(6);
  for (int k = 0; k < 40; ++k) {
    SCOPED_TRACE(k);
    const Index n = 1 + random.below(k % 10 == 0 ? 200 : 30);
    const Dendrogram tree = draw_tree(random, n);
    Affinity affinity{.title = draw_name(random),
                      .value_name = draw_name(random),
                      .values = draw_matrix(random, n, n),
                      .names = tree.leaves};
    if (k % 3 == 0) affinity.values = affinity.values.array().round();  // neighbours of one colour
    if (random.uniform() < 0.3) affinity.values(random.below(n), random.below(n)) = nan;
    if (random.uniform() < 0.7) affinity.order = leaf_order(tree);
    if (!affinity.order.empty()) affinity.groups = groups_at(tree, 0.001);
    const std::string picture = as_svg(affinity);
    const std::vector<Element> elements = check_picture(picture);
    std::map<Index, Index> sizes;
    for (const Index group : affinity.groups) ++sizes[group];
    EXPECT_EQ(
        count(elements, "rect", "groups"),
        std::count_if(sizes.begin(), sizes.end(), [](const auto& s) { return s.second > 1; }));
    EXPECT_EQ(fills_of(elements, n), expected_fills(affinity));
    EXPECT_EQ(as_svg(affinity), picture);
  }
}

// Permuting the tasks and undoing it by the order gives the same picture.
TEST(Affinity, FollowsItsOrder) {
  Random random(7);
  const Index n = 9;
  const Affinity plain{.values = draw_matrix(random, n, n),
                       .names = number_names("task ", n),
                       .groups = {0, 0, 1, 1, 1, 2, 3, 3, 4}};
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  random.shuffle(order);
  Affinity permuted{.values = Matrix(n, n),
                    .names = std::vector<std::string>(n),
                    .order = order,
                    .groups = std::vector<Index>(n)};
  for (Index i = 0; i < n; ++i) {
    permuted.names[order[i]] = plain.names[i];
    permuted.groups[order[i]] = plain.groups[i];
    for (Index j = 0; j < n; ++j) permuted.values(order[i], order[j]) = plain.values(i, j);
  }
  EXPECT_EQ(as_svg(permuted), as_svg(plain));
}

TEST(Affinity, SaysWhatDoesNotFit) {
  Affinity affinity{.values = Matrix::Constant(2, 2, 0.5), .names = {"a", "b"}};
  EXPECT_EQ(error_of(affinity), "no error");
  affinity.order = {0, 0};
  EXPECT_EQ(error_of(affinity), "affinity: the order must hold each task once, 0 to 1");
  affinity.order = {};
  affinity.groups = {1};
  EXPECT_EQ(error_of(affinity), "affinity: there are 1 groups for 2 names");
  affinity.groups = {};
  affinity.values(0, 1) = 1.5;
  EXPECT_EQ(error_of(affinity), "affinity: a value is 1.5; it must lie in [0, 1]");
  affinity.values = Matrix::Zero(2, 3);
  EXPECT_EQ(error_of(affinity), "affinity: there are 2 x 3 values for 2 names");
}

}  // namespace
}  // namespace coterie
