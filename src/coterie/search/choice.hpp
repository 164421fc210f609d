// Choosing a point of a grid by its cross-validated scores, and how far the choice can be trusted.
#pragma once

#include <cstdint>
#include <vector>

#include "coterie/search/grid_scores.hpp"

namespace coterie {

// Best score first; of equal scores the stronger sharing (larger lambda), then the simpler parameters in the method's order
// (Parameter::larger_is_simpler), the smaller C, the earlier norm and normalisation.
struct Ranked {
  GridPoint point;
  double score = 0;
  double standard_error = 0;  // NaN when there is one fold and one task
};
std::vector<Ranked> rank_points(const GridScores& scores);

// The strongest sharing, then the simplest parameters, then the smallest C, whose score is within one standard error of the best.
GridPoint one_standard_error(const std::vector<Ranked>& ranked, Score score);

// How sure a choice is.
//
//   within         points whose score is within one standard error of the best: the data do not tell them apart
//   chosen_again   share of bootstrap resamples of the (fold, task) scores in which the same point is best
//   near           share in which a point of the same norm and normalisation at most one step away in every other list is best
//   optimism       by how much the best score flatters: mean over folds of the difference between the fold's own best point and
//                  the point chosen (Tibshirani and Tibshirani, 2009); NaN with a single fold
struct Confidence {
  Index within = 0;
  double chosen_again = 0, near = 0, optimism = 0;
  Index resamples = 0;
};
Confidence judge_choice(const GridScores& scores, const std::vector<Ranked>& ranked,
                        const GridPoint& chosen, Index resamples, std::uint64_t seed);

// Coarse to fine: the points at every steps.C-th C and every steps.lambda-th lambda, the ends included, that lie within one step of the points
// given; without points, all of these.
struct Steps {
  Index C = 1, lambda = 1;
};
std::vector<GridPoint> refine(const Grid& grid, const Steps& steps,
                              const std::vector<GridPoint>& around);

// Scores every second C and every fourth lambda, then finer steps around the best point of each of the best four C, until nothing better
// turns up. It finds the best point of a smooth landscape; one of many peaks may hide from it.
GridScores score_coarse_to_fine(const SearchData& search, const std::vector<Split>& splits,
                                const Grid& grid, Score score = Score::accuracy,
                                const SearchHooks& hooks = {});

}  // namespace coterie
