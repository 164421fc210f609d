// What a selection found, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "coterie/report/selection.hpp"
#include "text.hpp"

namespace coterie::app {

void print_selection(const Selection& selection);
Json json_selection(const Selection& selection);
Json json_grid(const Selection& selection);

// Several candidates side by side: who took part, with which score, and who is left out.
void print_contest(const Contest& contest);
Json json_contest(const Contest& contest);  // "methods" and "left_out"

// A note when the choice is at the end of a list, where better ones may lie beyond; else nothing. `all_share`: the model has one group.
std::string edges_text(const Selection& selection, bool all_share);

}  // namespace coterie::app
