// Cross-validated scores of the points of a method's grid: what grid_scores.hpp does for the main method, for those that it is compared with.
//
// One list of the grid is walked: the longest of C and the parameters that are not whole numbers, from simple to complex. A row is one
// fold at one choice of everything else. Its first fit begins cold, each other where the one before ended if the problem is convex; else
// every fit begins cold, so that a point is judged by what a fit of it alone would give. Rows are independent of each other and run
// side by side; neither the number of threads nor an interruption changes a bit.
#pragma once

#include "coterie/search/grid_scores.hpp"

namespace coterie {

// Adds the scores of all points of the grid to `scores`. Keys of rows have a fold and, as their C, the number of the row.
void score_method(const SearchData& search, const std::vector<Split>& splits, const Grid& grid,
                  const SearchHooks& hooks, GridScores& scores);

}  // namespace coterie
