// One fold of a cross-validation for any method, as fold.hpp has it for kernels.
//
// Linear methods are prepared from the training rows alone: scaling, and the map of features when there is one. The held-out rows are
// scaled and mapped once. `pooled` has folds of the pool.
#pragma once

#include <vector>

#include "coterie/model/train.hpp"
#include "coterie/search/fold.hpp"

namespace coterie {

struct MethodFold {
  Fold kernel;                   // of methods that learn kernel weights
  std::vector<Index> first;      // `pooled`: where in the pool a task begins
  MethodProblem training;        // of linear methods
  std::vector<Matrix> held_out;  // of linear methods: [task] features of the held-out samples
  Split split;                   // of the tasks
};

// All folds of the settings' method under one normalisation.
std::vector<MethodFold> make_method_folds(const SearchData& search,
                                          const std::vector<Split>& splits,
                                          const Normalisation& normalisation, GramCache& cache);

// The fit of the fold's training side at these settings, which differ from those of the search in C, norm and parameters.
MethodFit fit_fold(const MethodFold& fold, const SearchData& search, const Settings& settings,
                   int threads, const ProgressCallback& progress = {},
                   const MethodFit* start = nullptr,
                   double memory = std::numeric_limits<double>::infinity());

// Decision values of task t at its held-out samples.
Vector held_out_decisions(const MethodFold& fold, const MethodFit& fit, Index t);

}  // namespace coterie
