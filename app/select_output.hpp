// What a selection found, as text, tables, picture and JSON.
#pragma once

#include <string>
#include <vector>

#include "coterie/front/contest.hpp"
#include "text.hpp"

namespace coterie::app {

std::string size_text(const Grid& grid);  // "21 C x 21 lambda"

void print_selection(const Selection& selection);
Json json_selection(const Selection& selection);
Json json_grid(const Selection& selection);
std::string csv_grid(const Selection& selection);
std::string heat_map(const Selection& selection);  // SVG

// Several candidates side by side: who took part, with which score, and who is left out.
void print_contest(const Contest& contest);
Json json_contest(const Contest& contest);  // "methods" and "left_out"
std::string csv_contest(const Contest& contest);

// A note when the choice is at the end of a list, where better ones may lie beyond; else nothing. `all_share`: the model has one group.
std::string edges_text(const Selection& selection, bool all_share);

}  // namespace coterie::app
