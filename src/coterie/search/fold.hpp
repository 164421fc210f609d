// Training on some samples of every task and judging on the others, with kernels computed once and sliced.
//
// A fold equals what a fit from raw files of its training rows would see: the scaling of the features, the divisors of the kernels
// and the class weights are learnt from the training side alone. Kernels of unscaled features are the same in all folds, so one
// set of matrices serves them all; scaled features differ from fold to fold, and so each fold has its own.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "coterie/data/split.hpp"
#include "coterie/model/train.hpp"

namespace coterie {

// Kernel values of all samples of every task, divided by nothing.
struct WholeGrams {
  std::vector<Kernel> kernels;
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
};

// The kernels of one fold are those of its own scaling; without scaling they are those of any other fold. `rows` are the training rows.
WholeGrams whole_grams(const SearchData& search, const Normalisation& normalisation,
                       const std::vector<Index>& rows);

// One fold under one normalisation, at the settings' C: the training side with its kernels, and who is held out. Of the training
// side's data the tasks are there and the features, which nobody needs again, are not.
struct Fold {
  Prepared train;
  std::vector<TaskGrams> whole;  // training and held-out samples, with the training side's divisors
  Split split;
};

// Matrices by fold, kept from one normalisation to the next; all folds have the same when features are not scaled.
using GramCache = std::vector<std::shared_ptr<const WholeGrams>>;

// All folds under one normalisation.
std::vector<Fold> make_folds(const SearchData& search, const std::vector<Split>& splits,
                             const Normalisation& normalisation, GramCache& cache);

// Decision values of task t at some of its samples (positions among all of them), of a fit of the training side.
Vector decisions_at(const Fold& fold, const Fit& fit, Index t, const std::vector<Index>& samples);

// Whether the kernel matrices of all folds fit into the budget (bytes).
Storage storage_within(const SearchData& search, Index folds, double budget);

}  // namespace coterie
