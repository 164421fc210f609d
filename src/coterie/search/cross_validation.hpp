// Decision values of samples by fits that did not see them, for any method.
#pragma once

#include <functional>
#include <vector>

#include "coterie/search/fold.hpp"

namespace coterie {

// Per task, in the order of its samples: NaN for samples that no split holds out. Empty when the callback said stop.
std::vector<Vector> cross_validated_scores(
    const SearchData& search, const std::vector<Split>& splits,
    const std::function<bool(Index done, Index folds)>& progress = {});

}  // namespace coterie
