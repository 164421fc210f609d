// What `select` searches, a line each: C, lambda, norm, normalise, method, parameters.
#include "coterie/search/grid.hpp"

#include <cmath>

#include "target.hpp"

namespace coterie::fuzz {
namespace {

constexpr double most_points = 3000;  // that are looked at one by one

double size_of(const Grid& grid) {
  double size = 1;
  for (const std::size_t length :
       {grid.C.size(), grid.lambda.size(), grid.norm.size(), grid.normalise.size()})
    size *= static_cast<double>(length);
  for (const ParameterList& list : grid.parameters) size *= static_cast<double>(list.values.size());
  return size;
}

void fuzz_grid(Bytes bytes) {
  const std::vector<std::string> lines = split_lines(bytes, 6);
  GridText text;
  Settings base;
  if (!lines[0].empty()) text.C = lines[0];
  if (!lines[1].empty()) text.lambda = lines[1];
  if (!lines[2].empty()) text.norm = lines[2];
  if (!lines[3].empty()) text.normalise = lines[3];
  accepts(
      [&] {
        if (!lines[4].empty()) base.method = lines[4];
        Grid grid = parse_method_grid(base, text, lines[5]);
        for (const double C : grid.C) require(C > 0 && std::isfinite(C), "every C is positive");
        for (const Lambda& lambda : grid.lambda)
          require(Lambda(text_of(lambda)) == lambda, "every lambda reads as it is written");
        for (const double norm : grid.norm) require(norm >= 1, "every norm is at least 1");
        limit_clusters(grid, 5);
        require(size_of(grid) >= 1, "a grid has points");
        if (size_of(grid) > most_points) return;
        for (const GridPoint& point : all_points(grid)) {
          validate(settings_at(base, grid, point));
          for (const std::string& column : grid.columns)
            require(!value_at(grid, point, column).empty(), "every column has a value");
        }
      },
      false);
}

const Target grid_target("grid", fuzz_grid);

}  // namespace
}  // namespace coterie::fuzz
