#include "coterie/report/heat_map.hpp"

#include "coterie/report/svg.hpp"

namespace coterie {

std::string as_svg(const HeatMap& map) {
  svg::Drawing drawing;
  return drawing.finish(640, 400, map.title);
}

}  // namespace coterie
