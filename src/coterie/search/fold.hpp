// Training on some samples of every task and judging on the others, with kernels computed once and sliced.
//
// A fold equals what a fit from raw files of its training rows would see: the scaling of the features, the divisors of the kernels
// and the class weights are learnt from the training side alone. Kernels of unscaled features are the same in all folds, so one
// set of matrices serves them all; scaled features differ from fold to fold, and so each fold has its own. So do scores of a first stage: it
// is learnt and cross-fitted within the training side, and scores the held-out samples as it would any others. Linear methods are prepared
// from the training rows alone, and the held-out rows are scaled and mapped once. `pooled` has folds of the pool.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "coterie/data/split.hpp"
#include "coterie/model/first_stage.hpp"
#include "coterie/model/train.hpp"

namespace coterie {

// Kernel values of all samples of every task, divided by nothing.
struct WholeGrams {
  std::vector<Kernel> kernels;
  // The samples with the scores of a first stage that the training side of a fold has learnt; null: those of the search.
  std::shared_ptr<const Scored> scored;
  Scaling scaling;  // of the features behind them
  std::vector<TaskGrams> tasks;
};

// What a search works on. Everything referred to must outlive it.
struct SearchData {
  const Dataset& data;
  const Settings& settings;  // those that the search does not choose
  const Extras& extras;
  double largest_C = 1;  // of all fits, before weights of classes and tasks
  Storage storage = Storage::stored;
  int threads = 0;
  double memory = std::numeric_limits<double>::infinity();  // bytes for kernel values of the fits
  double first_stage_memory = std::numeric_limits<double>::infinity();  // and of those of scores
};

// The kernels of one fold are those of its own scaling; without scaling they are those of any other fold. `rows` are the training rows.
WholeGrams whole_grams(const SearchData& search, const Normalisation& normalisation,
                       const std::vector<Index>& rows,
                       std::shared_ptr<const Scored> scored = nullptr);

// The samples that a fold does not train on, and what their decision values come from.
struct HeldOut {
  Split split;                       // of the tasks
  std::optional<Split> pooled = {};  // the same of the pool, where the method has one
  // Of methods that learn kernel weights: training and held-out samples, with the training side's divisors.
  std::vector<TaskGrams> whole = {};
  std::vector<Matrix> features = {};  // of linear methods: [task] the held-out samples
};

// What is trained on, with its kernels or features, and who is held out: nobody, where everything is trained on. A search is of folds under
// one normalisation at the settings' C; of the training sides of kernel methods the tasks are there and the features, which nobody
// needs again, are not.
struct Fold {
  MethodProblem train;
  std::optional<HeldOut> held_out = {};
};

// The training side with its kernels, of methods that learn kernel weights.
const Prepared& kernels_of(const Fold& fold);

// Matrices by fold, kept from one normalisation to the next; all folds have the same when features are not scaled.
using GramCache = std::vector<std::shared_ptr<const WholeGrams>>;

// All folds of the settings' method under one normalisation.
std::vector<Fold> make_folds(const SearchData& search, const std::vector<Split>& splits,
                             const Normalisation& normalisation, GramCache& cache);

// The fit of the fold's training side at these settings, which differ from those of the search in C, norm and parameters.
MethodFit fit_fold(const Fold& fold, const SearchData& search, const Settings& settings,
                   int threads, const ProgressCallback& progress = {},
                   const MethodFit* start = nullptr,
                   double memory = std::numeric_limits<double>::infinity());

// Decision values of task t at its held-out samples, and at those that were trained on.
Vector held_out_decisions(const Fold& fold, const MethodFit& fit, Index t);
Vector held_out_decisions(const Fold& fold, const Fit& fit, Index t);
Vector training_decisions(const Fold& fold, const Fit& fit, Index t);

// Whether the kernel matrices of all folds fit into the budget (bytes).
Storage storage_within(const SearchData& search, Index folds, double budget);

}  // namespace coterie
