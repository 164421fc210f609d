#include "coterie/report/weight_plane.hpp"

#include <gtest/gtest.h>

#include "coterie/math/random.hpp"
#include "coterie/report/svg_check.hpp"

namespace coterie {
namespace {

WeightPlane draw_plane(Random& random) {
  WeightPlane out;
  const Index T = 1 + random.below(60);
  out.title = random.uniform() < 0.5 ? "<letter> & 10 %" : "";
  out.remark = random.uniform() < 0.5 ? "lambda=4" : "";
  out.x_name = "gauss:2";
  out.y_name = random.uniform() < 0.1 ? std::string(200, 'W') : "gauss:256";
  out.weights.resize(T, 2);
  for (Index t = 0; t < T; ++t) {
    out.tasks.push_back(t % 7 == 6 ? std::string(80, 'W') : "a|" + std::to_string(t));
    const double weight = random.uniform() < 0.3 ? 0 : random.uniform();
    out.weights.row(t) << weight, (random.uniform() < 0.1 ? 3 : 1) - weight;
  }
  for (Index t = 0; t + 1 < T; t += 3) {
    out.groups.push_back({t, t + 1});
    out.weights.row(t + 1) = out.weights.row(t);
  }
  return out;
}

// The reader of the picture checks that no texts overlap and nothing leaves it.
TEST(WeightPlane, NamesEveryTaskOnceAndOverlapsNothing) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    const WeightPlane plane = draw_plane(random);
    const std::string picture = as_svg(plane);
    const std::vector<Element> elements = check_picture(picture);
    const Index T = std::ssize(plane.tasks);
    EXPECT_EQ(count(elements, "text", "tasks"), T);
    EXPECT_EQ(count(elements, "circle", "points"), T);
    EXPECT_EQ(count(elements, "line", "leaders"), T);
    EXPECT_EQ(as_svg(plane), picture);
  }
}

TEST(WeightPlane, ColoursGroupsAndPlacesByWeight) {
  const auto elements = check_picture(as_svg({.x_name = "a",
                                              .y_name = "b",
                                              .tasks = {"one", "two", "three"},
                                              .weights = Matrix{{1, 0}, {0.25, 0.75}, {1, 0}},
                                              .groups = {{0, 2}, {1}}}));
  std::vector<const Element*> points;
  for (const Element& e : elements)
    if (e.name == "circle") points.push_back(&e);
  ASSERT_EQ(points.size(), 3U);  // the highest first
  EXPECT_EQ(points[1]->number("cx"), points[2]->number("cx"));
  EXPECT_EQ(points[1]->attributes.at("fill"), points[2]->attributes.at("fill"));
  EXPECT_NE(points[0]->attributes.at("fill"), points[1]->attributes.at("fill"));
  EXPECT_NEAR(points[1]->number("cx") - points[0]->number("cx"), 0.75 * 360, 0.02);
  EXPECT_NEAR(points[1]->number("cy") - points[0]->number("cy"), 0.75 * 360, 0.02);
}

TEST(WeightPlane, RefusesWhatDoesNotFit) {
  const WeightPlane good{.tasks = {"one", "two"}, .weights = Matrix::Constant(2, 2, 0.5)};
  EXPECT_NO_THROW(as_svg(good));
  WeightPlane bad = good;
  bad.weights = Matrix::Constant(2, 3, 0.5);
  EXPECT_THROW(as_svg(bad), InputError);
  bad = good;
  bad.weights(1, 1) = -0.1;
  EXPECT_THROW(as_svg(bad), InputError);
  bad = good;
  bad.groups = {{0, 2}};
  EXPECT_THROW(as_svg(bad), InputError);
  bad = good;
  bad.tasks.clear();
  EXPECT_THROW(as_svg(bad), InputError);
}

}  // namespace
}  // namespace coterie
