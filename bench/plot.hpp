// Log-log plots of measured points with their fitted power laws, as SVG.
#pragma once

#include <string>
#include <vector>

#include "measure.hpp"

namespace coterie::bench {

struct PlotSeries {
  std::string name;
  std::vector<double> x, y;
  PowerLaw law;
};

struct Plot {
  std::string x_name, y_name;
  std::vector<PlotSeries> series = {};
};

std::string as_svg(const Plot& plot);

}  // namespace coterie::bench
