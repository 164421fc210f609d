// A heat map: one value for every pair of an x and a y setting, in one or several panels that share axes and colours.
#pragma once

#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// A cell that is outlined, and why in a word or two ("best"). The same word has the same outline in every panel.
struct HeatMark {
  Index row = 0;
  Index column = 0;
  std::string word = {};
  bool operator==(const HeatMark&) const = default;
};

struct HeatPanel {
  std::string title = {};
  Matrix values = {};  // y labels by x labels; what is not finite was not evaluated and is hatched
  std::vector<HeatMark> marks = {};
};

struct HeatMap {
  std::string title = {};
  std::string x_name = {};
  std::vector<std::string> x_labels = {};
  std::string y_name = {};
  std::vector<std::string> y_labels = {};  // the first is at the bottom
  std::string value_name = {};             // "mean accuracy over tasks, 5-fold"
  bool higher_is_better = true;            // the better value is always the darker one
  Index panels_across = 0;                 // panels side by side; 0: by their number
  std::vector<HeatPanel> panels = {};      // in reading order
};

// The picture as SVG text. Throws InputError where the sizes do not fit each other.
std::string as_svg(const HeatMap& map);

}  // namespace coterie
