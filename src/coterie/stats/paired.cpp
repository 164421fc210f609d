#include "coterie/stats/paired.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "coterie/stats/distributions.hpp"
#include "coterie/stats/ranks.hpp"

namespace coterie {
namespace {

constexpr Index largest_exact = 50;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// P(sum of the ranks with sign + <= limit) when every sign is + or - with probability 1/2.
double signed_rank_lower_tail(Index n, double limit) {
  std::vector<double> chance(static_cast<std::size_t>(n * (n + 1) / 2 + 1), 0.0);  // of every sum
  chance[0] = 1;
  std::size_t largest = 0;
  for (Index rank = 1; rank <= n; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    largest += r;
    for (std::size_t sum = largest + 1; sum-- > 0;)
      chance[sum] = (chance[sum] + (sum >= r ? chance[sum - r] : 0)) / 2;
  }
  double tail = 0;
  for (std::size_t sum = 0; sum <= largest && static_cast<double>(sum) <= limit; ++sum)
    tail += chance[sum];
  return tail;
}

// Sum over groups of t equal ranks of t^3 - t.
double tie_sum(const Vector& ranks) {
  std::vector<double> sorted(ranks.begin(), ranks.end());
  std::ranges::sort(sorted);
  double sum = 0;
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto end = std::upper_bound(first, sorted.end(), *first);
    const double t = static_cast<double>(end - first);
    sum += t * t * t - t;
    first = end;
  }
  return sum;
}

// Of n values whose mean has the standard error sqrt(variance_factor s^2).
MeanInterval interval_of(ConstVectorRef values, double variance_factor, double confidence) {
  assert(values.size() > 0 && confidence > 0 && confidence < 1);
  const double n = static_cast<double>(values.size());
  MeanInterval out{values.mean(), nan, nan, nan};
  if (values.size() < 2) return out;
  const double variance = (values.array() - out.mean).square().sum() / (n - 1);
  const bool equal = values.maxCoeff() == values.minCoeff();  // the mean may be off by rounding
  out.standard_error = equal ? 0 : std::sqrt(variance_factor * variance);
  const double reach = student_quantile((1 + confidence) / 2, n - 1) * out.standard_error;
  out.low = out.mean - reach;
  out.high = out.mean + reach;
  return out;
}

}  // namespace

Wilcoxon wilcoxon_test(ConstVectorRef differences) {
  std::vector<double> kept;
  for (const double d : differences)
    if (d != 0) kept.push_back(d);
  Wilcoxon out;
  out.n = std::ssize(kept);
  if (kept.empty()) return out;
  const Vector d = Eigen::Map<const Vector>(kept.data(), out.n);
  const Vector ranks = rank_descending(-d.cwiseAbs());
  out.plus = (d.array() > 0).select(ranks, 0).sum();
  out.minus = ranks.sum() - out.plus;
  const double n = static_cast<double>(out.n), ties = tie_sum(ranks);
  out.exact = out.n <= largest_exact && ties == 0;
  if (out.exact) {
    out.p = std::min(1.0, 2 * signed_rank_lower_tail(out.n, std::min(out.plus, out.minus)));
    return out;
  }
  const double distance = std::max(0.0, std::abs(out.plus - n * (n + 1) / 4) - 0.5);
  out.p = normal_two_sided(distance / std::sqrt(n * (n + 1) * (2 * n + 1) / 24 - ties / 48));
  return out;
}

MeanInterval mean_interval(ConstVectorRef values, double confidence) {
  return interval_of(values, 1 / static_cast<double>(values.size()), confidence);
}

PairedT resampled_t_test(ConstVectorRef differences, double test_train_ratio, double confidence) {
  assert(test_train_ratio >= 0);
  const double n = static_cast<double>(differences.size());
  PairedT out;
  out.difference = interval_of(differences, 1 / n + test_train_ratio, confidence);
  out.degrees = n - 1;
  out.t = out.difference.mean == 0 && out.difference.standard_error == 0
              ? 0
              : out.difference.mean / out.difference.standard_error;
  out.p = std::isnan(out.t) ? nan : student_two_sided(out.t, out.degrees);
  return out;
}

}  // namespace coterie
