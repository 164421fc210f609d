#include "coterie/report/critical_difference.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "coterie/math/random.hpp"
#include "coterie/report/svg_check.hpp"

namespace coterie {
namespace {

CriticalDifference draw_diagram(Random& random) {
  CriticalDifference out;
  const Index k = 2 + random.below(14);
  out.title = random.uniform() < 0.5 ? "train_percent 10: <methods> & \"sets\"" : "";
  out.remark = random.uniform() < 0.5 ? "average ranks" : "";
  out.average_ranks.resize(k);
  for (Index i = 0; i < k; ++i) {
    out.methods.push_back(i % 5 == 4 ? std::string(80, 'W') : "method " + std::to_string(i));
    out.average_ranks[i] = random.uniform(1, static_cast<double>(k));
    if (i > 0 && random.uniform() < 0.2) out.average_ranks[i] = out.average_ranks[i - 1];
  }
  out.critical_difference = random.uniform(0, 1.3 * static_cast<double>(k));
  for (Index i = 0; i + 1 < k; i += 3) out.groups.push_back({i, i + 1});
  return out;
}

TEST(CriticalDifference, ShowsEveryMethodAndGroup) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    std::vector<CriticalDifference> diagrams;
    Index methods = 0, groups = 0;
    for (Index i = random.below(3); i >= 0; --i) {
      diagrams.push_back(draw_diagram(random));
      methods += std::ssize(diagrams.back().methods);
      groups += std::ssize(diagrams.back().groups);
    }
    const std::string picture = as_svg(diagrams, "ranks");
    const std::vector<Element> elements = check_picture(picture);
    EXPECT_EQ(count(elements, "polyline", "methods"), methods);
    EXPECT_EQ(count(elements, "text", "methods"), 2 * methods);
    EXPECT_EQ(count(elements, "line", "groups"), groups);
    EXPECT_EQ(as_svg(diagrams, "ranks"), picture);
  }
}

// Dots stand at the ranks: even distances on the axis for even distances of rank.
TEST(CriticalDifference, PlacesByRank) {
  const auto elements = check_picture(as_svg({{.methods = {"a", "b", "c"},
                                               .average_ranks = Vector{{3, 1, 1.5}},
                                               .critical_difference = 1}},
                                             ""));
  std::map<std::string, double> x;
  std::vector<double> dots;
  for (const Element& e : elements)
    if (e.name == "circle") dots.push_back(e.number("cx"));
  ASSERT_EQ(dots.size(), 3);  // best first
  EXPECT_NEAR(dots[1] - dots[0], (dots[2] - dots[0]) / 4, 0.02);
  double ruler = 0;
  for (const Element& e : elements)
    if (e.name == "line" && e.is_in("axis") && ruler == 0) ruler = e.number("x2") - e.number("x1");
  EXPECT_NEAR(ruler, (dots[2] - dots[0]) / 2, 0.02);
}

TEST(CriticalDifference, SaysWhatDoesNotFit) {
  const auto error_of = [](const CriticalDifference& diagram) -> std::string {
    try {
      as_svg({diagram}, "");
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  CriticalDifference diagram{.methods = {"a", "b"}, .average_ranks = Vector{{1, 2}}};
  EXPECT_EQ(error_of(diagram), "no error");
  diagram.groups = {{0, 2}};
  EXPECT_EQ(error_of(diagram), "critical differences: a group names method 2 of 2");
  diagram.groups = {};
  diagram.average_ranks[0] = 0.5;
  EXPECT_EQ(error_of(diagram), "critical differences: a rank is 0.5; it must lie in [1, 2]");
  diagram.average_ranks.resize(3);
  EXPECT_EQ(error_of(diagram), "critical differences: there are 3 ranks for 2 methods");
  diagram.methods = {"a"};
  EXPECT_EQ(error_of(diagram), "critical differences: there are fewer than two methods");
}

}  // namespace
}  // namespace coterie
