#include <gtest/gtest.h>

#include "coterie/report/heat_map.hpp"

namespace coterie {
namespace {

TEST(Svg, HasATitle) {
  EXPECT_NE(as_svg(HeatMap{.title = "a<b"}).find("<title>a&lt;b</title>"), std::string::npos);
}

}  // namespace
}  // namespace coterie
