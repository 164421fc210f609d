// Scores of methods on data sets: a small panel for each data set, a line for each method, a dot at its mean and a bar as long as its error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

struct ScorePanel {
  std::string title = {};
  std::string remark = {};
  Vector mean = {};   // of the methods; not finite: there is none
  Vector error = {};  // the bar reaches so far to both sides; not finite: no bar
};

struct ScorePlot {
  std::string title = {};
  std::string remark = {};
  std::vector<std::string> methods = {};  // one or more
  std::optional<Index> marked = {};       // a method to look at
  std::vector<ScorePanel> panels = {};    // one or more; each has an axis of its own
};

// Throws InputError where sizes do not fit each other.
std::string as_svg(const ScorePlot& plot);

}  // namespace coterie
