// Two methods on the same data sets or the same splits, by the differences of their scores; and the mean of scores.
#pragma once

#include "coterie/math/types.hpp"

namespace coterie {

// Wilcoxon's signed-rank test, two-sided. Differences of 0 are dropped, as Wilcoxon did; n counts the others. The sizes of the rest
// are ranked from 1 for the smallest, equal ones share the mean.
//
// With n <= 50 and no equal sizes, p is exact: a sum of ranks under 2^n signs alike. Otherwise it is that of
//
//   z = (plus - n (n+1) / 4 -+ 1/2) / sqrt(n (n+1) (2n+1) / 24 - sum over ties of (t^3 - t) / 48),
//
// the normal distribution with the corrections for continuity and for t equal sizes. Without any difference p is 1.
struct Wilcoxon {
  Index n = 0;
  double plus = 0, minus = 0;  // sums of the ranks of positive and negative differences
  double p = 1;
  bool exact = true;
};
Wilcoxon wilcoxon_test(ConstVectorRef differences);

// The mean of values, and an interval that holds the true one with the confidence asked for if they are independent and normal (Student).
struct MeanInterval {
  double mean = 0, standard_error = 0, low = 0,
         high = 0;  // all but the mean are NaN of a single value
};
MeanInterval mean_interval(ConstVectorRef values, double confidence = 0.95);

// The corrected resampled t-test of Nadeau and Bengio, Inference for the generalization error, Machine Learning 52 (2003): for
// differences of two methods on n random splits of one data set, whose training sets overlap. With s^2 their variance,
//
//   t = mean / sqrt((1/n + test_train_ratio) s^2),  n-1 degrees of freedom, two-sided,
//
// where test_train_ratio is the number of test samples divided by that of training samples. 0 gives the usual paired t-test, which
// finds too many differences. When all differences are equal, t is infinite, or 0 where they are 0.
struct PairedT {
  MeanInterval difference;
  double t = 0, degrees = 0, p = 1;  // NaN of a single difference
};
PairedT resampled_t_test(ConstVectorRef differences, double test_train_ratio,
                         double confidence = 0.95);

}  // namespace coterie
