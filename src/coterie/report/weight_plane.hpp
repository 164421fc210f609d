// Tasks in the plane of two kernel weights: who uses which kernel, and who shares one.
#pragma once

#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

struct WeightPlane {
  std::string title = {}, remark = {};
  std::string x_name = {}, y_name = {};  // kernels
  std::vector<std::string> tasks = {};
  Matrix weights = {};                          // tasks x 2, >= 0
  std::vector<std::vector<Index>> groups = {};  // of tasks; those of two or more have a colour
};

// The picture as SVG text: a point for each place, and the names of the tasks there beside the plane, in the colour of their group. Throws
// InputError where the sizes do not fit each other or a weight is not a number >= 0.
std::string as_svg(const WeightPlane& plane);

}  // namespace coterie
