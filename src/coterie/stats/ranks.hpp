// Comparison of k methods on N data sets by their ranks, after Demsar, Statistical comparisons of classifiers over multiple data sets,
// JMLR 7 (2006), section 3.2.
#pragma once

#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// 1 for the largest; equal values share the mean of their ranks.
Vector rank_descending(ConstVectorRef values);

// The ranks of every row: data sets x methods.
Matrix rank_methods(ConstMatrixRef scores);

// Friedman's test of "all methods are alike", and its sharper form by Iman and Davenport (1980). With r the ranks, R their column means
// and m = (k+1)/2 the mean of all,
//
//   between = N sum_j (R_j - m)^2      total = sum_ij (r_ij - m)^2
//   chi_square = N (k-1) between / total               k-1 degrees of freedom
//   F = (N-1) between / (total - between)              k-1 and (k-1)(N-1)
//
// Without ties total is N k (k^2-1) / 12, and chi_square is 12 N / (k (k+1)) (sum_j R_j^2 - k (k+1)^2 / 4), as most textbooks and Demsar
// print it. Ties make total smaller: to use it as it is, is the tie correction. When nothing differs at all, the statistics are 0.
struct RankStatistic {
  double chi_square = 0, chi_square_p = 1;
  double F = 0, F_p = 1;  // infinite when every data set has the same ranks
};
struct Friedman {
  double degrees = 0, F_degrees_below = 0;
  RankStatistic corrected;    // for ties
  RankStatistic uncorrected;  // by the formula without ties
};
// Throws InputError for fewer than two data sets or methods.
Friedman friedman_test(ConstMatrixRef ranks);

// Holm's step-down: p-values in rising order, the i-th of n (from 0) against alpha / (n - i), until the first that is not smaller.
struct HolmStep {
  Index which = 0;  // of the p-values as given
  double p = 1;
  double adjusted_alpha = 0;  // alpha / (n - i)
  double adjusted_p = 1;      // smaller than alpha iff rejected
  bool rejected = false;
};
std::vector<HolmStep> holm_steps(const std::vector<double>& p, double alpha);

// Every other method against the control, in Holm's order:
//
//   z = (R_i - R_control) / sqrt(k (k+1) / (6 N)),  p two-sided.
struct AgainstControl {
  Index method = 0;
  double z = 0;  // positive: the control has the better rank
  HolmStep holm = {};
};
std::vector<AgainstControl> compare_with_control(ConstVectorRef average_ranks, Index datasets,
                                                 Index control, double alpha);

// Nemenyi: two methods differ when their average ranks are at least the critical difference apart,
//
//   q sqrt(k (k+1) / (6 N)),  q the upper alpha quantile of the range of k normal variables, divided by sqrt(2).
struct Nemenyi {
  double q = 0;
  double critical_difference = 0;
  std::vector<std::vector<Index>> groups =
      {};  // largest sets that do not differ, of two or more; best ranks first
};
Nemenyi nemenyi_test(ConstVectorRef average_ranks, Index datasets, double alpha);

}  // namespace coterie
