#include "coterie/stats/ranks.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "coterie/stats/distributions.hpp"

namespace coterie {
namespace {

// Standard error of the difference of two average ranks.
double rank_error(Index methods, Index datasets) {
  const double k = static_cast<double>(methods);
  return std::sqrt(k * (k + 1) / (6 * static_cast<double>(datasets)));
}

// `between` and `total` are N times those of the header: sums of half-integers and their squares, which are exact.
RankStatistic statistic_of(double between, double total, double N, double k) {
  RankStatistic out;
  if (between == 0) return out;
  out.chi_square = N * (k - 1) * between / total;
  out.F = between < total ? (N - 1) * between / (total - between)
                          : std::numeric_limits<double>::infinity();
  out.chi_square_p = chi_square_upper_tail(out.chi_square, k - 1);
  out.F_p = f_upper_tail(out.F, k - 1, (k - 1) * (N - 1));
  return out;
}

}  // namespace

Vector rank_descending(ConstVectorRef values) {
  std::vector<Index> order(static_cast<std::size_t>(values.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, [&](Index a, Index b) { return values[a] > values[b]; });
  Vector ranks(values.size());
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = static_cast<double>(i + 1 + end) / 2;
  }
  return ranks;
}

Matrix rank_methods(ConstMatrixRef scores) {
  Matrix ranks(scores.rows(), scores.cols());
  for (Index i = 0; i < scores.rows(); ++i) ranks.row(i) = rank_descending(scores.row(i));
  return ranks;
}

Friedman friedman_test(ConstMatrixRef ranks) {
  if (ranks.rows() < 2)
    throw InputError("there is one data set only; ranks are compared over two or more.");
  if (ranks.cols() < 2)
    throw InputError("there is one method only; a comparison needs two or more.");
  const double N = static_cast<double>(ranks.rows()), k = static_cast<double>(ranks.cols());
  const double mean = (k + 1) / 2;
  const double between = (ranks.colwise().sum().array() - N * mean).square().sum();
  const double total = N * (ranks.array() - mean).square().sum();
  const double total_without_ties = N * N * k * (k * k - 1) / 12;
  return {.degrees = k - 1,
          .F_degrees_below = (k - 1) * (N - 1),
          .corrected = statistic_of(between, total, N, k),
          .uncorrected = statistic_of(between, total_without_ties, N, k)};
}

std::vector<HolmStep> holm_steps(const std::vector<double>& p, double alpha) {
  std::vector<HolmStep> steps;
  for (std::size_t i = 0; i < p.size(); ++i)
    steps.push_back({.which = static_cast<Index>(i), .p = p[i]});
  std::ranges::stable_sort(steps, {}, &HolmStep::p);
  double largest = 0;
  bool rejecting = true;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double left = static_cast<double>(steps.size() - i);
    HolmStep& step = steps[i];
    step.adjusted_alpha = alpha / left;
    step.adjusted_p = largest = std::max(largest, std::min(1.0, left * step.p));
    step.rejected = rejecting = rejecting && step.p < step.adjusted_alpha;
  }
  return steps;
}

std::vector<AgainstControl> compare_with_control(ConstVectorRef average_ranks, Index datasets,
                                                 Index control, double alpha) {
  assert(control >= 0 && control < average_ranks.size());
  const double error = rank_error(average_ranks.size(), datasets);
  std::vector<AgainstControl> others;
  std::vector<double> p;
  for (Index i = 0; i < average_ranks.size(); ++i) {
    if (i == control) continue;
    others.push_back({.method = i, .z = (average_ranks[i] - average_ranks[control]) / error});
    p.push_back(normal_two_sided(others.back().z));
  }
  std::vector<AgainstControl> out;
  for (const HolmStep& step : holm_steps(p, alpha)) {
    out.push_back(others[static_cast<std::size_t>(step.which)]);
    out.back().holm = step;
  }
  return out;
}

Nemenyi nemenyi_test(ConstVectorRef average_ranks, Index datasets, double alpha) {
  const Index k = average_ranks.size();
  Nemenyi out;
  out.q = range_upper_quantile(alpha, static_cast<double>(k)) / std::numbers::sqrt2;
  out.critical_difference = out.q * rank_error(k, datasets);
  std::vector<Index> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order,
                           [&](Index a, Index b) { return average_ranks[a] < average_ranks[b]; });
  std::size_t covered = 0;  // the last group ends here; one within it is not the largest
  for (std::size_t first = 0; first < order.size(); ++first) {
    std::size_t end = first;
    while (end < order.size() &&
           average_ranks[order[end]] - average_ranks[order[first]] < out.critical_difference)
      ++end;
    if (end > covered && end - first >= 2)
      out.groups.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(first),
                              order.begin() + static_cast<std::ptrdiff_t>(end));
    covered = std::max(covered, end);
  }
  return out;
}

}  // namespace coterie
