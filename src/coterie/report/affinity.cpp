#include "coterie/report/affinity.hpp"

#include "coterie/report/svg.hpp"

namespace coterie {

std::string as_svg(const Affinity& affinity) {
  svg::Drawing drawing;
  return drawing.finish(640, 400, affinity.title);
}

}  // namespace coterie
