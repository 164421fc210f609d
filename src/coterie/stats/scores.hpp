// How good decision values and probabilities are, given the true labels.
//
//   f   decision values: the label said is positive iff f > 0
//   p   probabilities of the positive class
//   y   true labels, -1 or +1, as many
//
// A score that is undefined (no samples, or a class absent where both are needed) is NaN.
#pragma once

#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

Index count_errors(ConstVectorRef f, ConstVectorRef y);

double accuracy(ConstVectorRef f, ConstVectorRef y);

// Mean over the classes present of the share of their samples that are labelled right.
double balanced_accuracy(ConstVectorRef f, ConstVectorRef y);

// The same of any number of classes, from counts: true class x class said.
double balanced_accuracy(ConstMatrixRef confusion);

// Area under the ROC curve: the share of pairs (positive, negative) whose positive has the larger score; ties count half.
double auc(ConstVectorRef f, ConstVectorRef y);

// Mean of -log(probability of the true label). Probabilities are held within [eps, 1 - eps] for the eps of doubles (2.2e-16), as
// scikit-learn does: certainty that proves wrong costs 36, not infinity.
double log_loss(ConstVectorRef p, ConstVectorRef y);

// The same of any number of classes: p is samples x classes, `label` the true column of every row.
double log_loss(ConstMatrixRef p, const std::vector<Index>& label);

// Mean of (p - [y = +1])^2.
double brier_score(ConstVectorRef p, ConstVectorRef y);

// Of the samples whose p lies in [low, high) (the last bin includes its end): what was said, and what was seen. Both are NaN when
// there are none.
struct ReliabilityBin {
  double low = 0, high = 1;
  Index count = 0;
  double mean_predicted = 0, share_observed = 0;
};
std::vector<ReliabilityBin> reliability_table(ConstVectorRef p, ConstVectorRef y, Index bins = 10);

}  // namespace coterie
