#include "coterie/report/score_plot.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "coterie/math/random.hpp"
#include "coterie/report/svg_check.hpp"

namespace coterie {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(ScorePlot, ShowsEveryKnownScoreWithinThePicture) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    ScorePlot plot{.title = round % 2 ? "scores at <10> %" : "", .remark = "mean & error"};
    const Index k = 1 + random.below(14);
    for (Index m = 0; m < k; ++m)
      plot.methods.push_back(m % 5 == 4 ? std::string(80, 'W') : "method " + std::to_string(m));
    if (round % 3) plot.marked = random.below(k);
    Index dots = 0, bars = 0;
    for (Index d = random.below(9); d >= 0; --d) {
      ScorePanel panel{.title = d % 4 == 3 ? std::string(60, 'M') : "data set",
                       .remark = d % 2 ? std::string(90, 'n') : "N 20",
                       .mean = Vector(k),
                       .error = Vector(k)};
      const double scale = std::pow(10.0, random.uniform(-4, 4));
      for (Index m = 0; m < k; ++m) {
        panel.mean[m] = random.uniform() < 0.2 ? nan : scale * random.uniform(-1, 1);
        panel.error[m] = random.uniform() < 0.3 ? nan : scale * random.uniform(0, 0.4);
        if (round % 7 == 0 && !std::isnan(panel.mean[m])) panel.mean[m] = scale, panel.error[m] = 0;
        dots += std::isnan(panel.mean[m]) ? 0 : 1;
        bars += std::isnan(panel.mean[m]) || std::isnan(panel.error[m]) ? 0 : 1;
      }
      plot.panels.push_back(panel);
    }
    const std::string picture = as_svg(plot);
    const std::vector<Element> elements = check_picture(picture);
    EXPECT_EQ(count(elements, "circle", "scores"), dots);
    EXPECT_EQ(count(elements, "line", "scores"), 3 * bars);
    EXPECT_EQ(as_svg(plot), picture);
  }
}

// Even distances of means are even distances of dots, and a bar reaches as far as its error says.
TEST(ScorePlot, PlacesByScore) {
  const auto elements = check_picture(as_svg(
      {.methods = {"a", "b", "c"},
       .panels = {{.title = "d", .mean = Vector{{90, 92, 98}}, .error = Vector{{1, nan, 2}}}}}));
  std::vector<double> dots, from, to;
  for (const Element& e : elements) {
    if (e.name == "circle") dots.push_back(e.number("cx"));
    if (e.name == "line" && e.is_in("scores") && e.number("x1") != e.number("x2")) {
      from.push_back(e.number("x1"));
      to.push_back(e.number("x2"));
    }
  }
  ASSERT_EQ(dots.size(), 3);
  ASSERT_EQ(from.size(), 2);
  const double point = (dots[2] - dots[0]) / 8;
  EXPECT_NEAR(dots[1] - dots[0], 2 * point, 0.02);
  EXPECT_NEAR(dots[0] - from[0], point, 0.02);
  EXPECT_NEAR(to[1] - dots[2], 2 * point, 0.02);
}

TEST(ScorePlot, SaysWhatDoesNotFit) {
  const auto error_of = [](const ScorePlot& plot) -> std::string {
    try {
      as_svg(plot);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  ScorePlot plot{.methods = {"a"},
                 .panels = {{.title = "d", .mean = Vector{{1}}, .error = Vector{{1}}}}};
  EXPECT_EQ(error_of(plot), "no error");
  plot.marked = 1;
  EXPECT_EQ(error_of(plot), "score plot: method 1 of 1 is marked");
  plot = {.methods = {"a", "b"}, .panels = plot.panels};
  EXPECT_EQ(error_of(plot), "score plot: 'd' has 1 means and 1 errors of 2 methods");
  EXPECT_EQ(error_of({.methods = {"a"}}), "score plot: there is no data set");
  EXPECT_EQ(error_of({.panels = plot.panels}), "score plot: there is no method");
}

}  // namespace
}  // namespace coterie
