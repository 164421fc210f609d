#include "coterie/report/weight_paths.hpp"

#include "coterie/report/svg.hpp"

namespace coterie {

std::string as_svg(const WeightPaths& paths) {
  svg::Drawing drawing;
  return drawing.finish(640, 400, paths.title);
}

}  // namespace coterie
