// A table of results, and all that is said of a block of it: which methods are better than others, and how sure that is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/stats/paired.hpp"
#include "coterie/stats/ranks.hpp"

namespace coterie {

// Results that are compared with each other, such as those of one size of training sets. Every method has a score on every data set, one
// or several (repetitions, such as splits: the same for all methods).
struct ResultBlock {
  std::string name = {};  // empty: the only one
  std::vector<std::string> datasets = {}, methods = {};
  std::vector<Matrix> scores = {};  // of every data set: methods x repetitions
};

enum class Better { higher, lower };  // which scores are

// Scores averaged over the repetitions: data sets x methods. Means are rounded to 12 digits, so that those of equal scores in another
// order are equal.
Matrix mean_scores(const ResultBlock& block);

struct Comparison {
  Index control = 0;
  Vector average_ranks;  // of the methods, by their mean scores; 1 is the best
  Friedman friedman;
  std::vector<AgainstControl> holm;  // the other methods, in Holm's order
  std::vector<Wilcoxon>
      wilcoxon;  // of the same, by differences to 12 digits; positive: the control is better
  Nemenyi nemenyi;
};

// Throws InputError where the block is too small or has no such control.
Comparison compare_methods(const ResultBlock& block, const std::string& control, double alpha,
                           Better better = Better::higher);

// One method on one data set with repetitions, and what the control gains over it: more, or less where less is better.
struct RepeatedScore {
  std::string dataset, method;
  MeanInterval score;
  std::optional<PairedT> control_gain;  // none of the control itself, and without a ratio
};
// `test_train_ratio`: that of resampled_t_test. Intervals hold with 1 - alpha.
std::vector<RepeatedScore> repeated_scores(const ResultBlock& block, Index control, double alpha,
                                           std::optional<double> test_train_ratio,
                                           Better better = Better::higher);

}  // namespace coterie
