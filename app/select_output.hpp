// What a selection found, as text, tables, picture and JSON.
#pragma once

#include <string>
#include <vector>

#include "coterie/search/choice.hpp"
#include "text.hpp"

namespace coterie::app {

struct Selection {
  Grid grid;
  Score score = Score::accuracy;
  std::string judged_by;  // "5-fold cross-validation"
  bool coarse = false, one_se = false;
  GridScores scores;
  std::vector<Ranked> ranked;
  GridPoint chosen;
  Confidence confidence;
  Index saved = 0;  // points that were not looked at
  const Ranked& of_chosen() const { return *std::ranges::find(ranked, chosen, &Ranked::point); }
};

std::string size_text(const Grid& grid);  // "21 C x 21 lambda"

void print_selection(const Selection& selection);
Json json_selection(const Selection& selection);
Json json_grid(const Selection& selection);
std::string csv_grid(const Selection& selection);
std::string heat_map(const Selection& selection);  // SVG

// A note when the choice is at the end of a list, where better ones may lie beyond; else nothing. `all_share`: the model has one group.
std::string edges_text(const Selection& selection, bool all_share);

}  // namespace coterie::app
