// What a selection found, as tables and a picture; and its points in words.
#pragma once

#include <string>
#include <vector>

#include "coterie/front/contest.hpp"
#include "coterie/report/heat_map.hpp"

namespace coterie {

// The whole grid: a line per point, with its score in every fold.
std::string csv_grid(const Selection& selection);
// Several candidates side by side.
std::string csv_contest(const Contest& contest);
// Scores by lambda and C, or by the two longest lists of another method.
HeatMap heat_map_of(const Selection& selection);

std::string score_name(Score score);                // "balanced accuracy"
std::string score_text(double value, Score score);  // "97.53 %", "0.1234"; "-" for NaN

std::string size_text(const Grid& grid);                           // "21 C x 21 lambda"
std::string point_text(const Grid& grid, const GridPoint& point);  // "C 2^-4, lambda 0.1max"
std::string label_at(const Grid& grid, const GridPoint& point, const std::string& column);
std::vector<std::string> spoken_columns(const Grid& grid);  // C and lambda first
// Whether a column is one of the method's own parameters, which may be called lambda too.
bool is_parameter(const Grid& grid, const std::string& column);

}  // namespace coterie
