// Cheap methods beside a search: what they would have scored on the same folds. They never change what is chosen.
//
// Five, each with up to three points at the normalisation that was chosen: as many as take about a tenth of the search's time, by a
// count of its fits and an estimate of what one costs (no clock: the same search says the same), and none where that allows none:
//
//   cmtl      linear, clusters of tasks
//   uniform   equal kernel weights, every task alone; where the grid has norm inf, it has been looked at already
//   pooled    equal kernel weights, one model of a sample of the rows of all tasks, where labels mean the same in all
//   columns   the main method at the chosen point, with kernels of single columns besides (gauss:0.5,1@each)
//   smooth    the main method at the chosen point, on means of features that rise and fall together, where there are 16 or more
#pragma once

#include <vector>

#include "coterie/front/select.hpp"

namespace coterie {

inline constexpr Index kSmooth = 5;  // features that are averaged: good on letters (docs/study.md)
inline constexpr Index kLeastToSmooth =
    16;  // among fewer features, those averaged would be most of them

// Of a selection that was not stopped. Those that cannot be fitted here are left out; fewer when run.share says stop.
std::vector<Alternative> cheap_alternatives(const Dataset& data, const Selection& selection,
                                            const SelectSettings& how, const Run& run = {},
                                            const Extras& extras = {});

}  // namespace coterie
