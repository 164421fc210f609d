#include "coterie/stats/partitions.hpp"

#include <cassert>
#include <map>
#include <utility>

namespace coterie {

namespace {

double pairs(Index n) { return 0.5 * static_cast<double>(n) * static_cast<double>(n - 1); }

template <typename Counts>
double pairs_within(const Counts& counts) {
  double sum = 0;
  for (const auto& [label, n] : counts) sum += pairs(n);
  return sum;
}

}  // namespace

// With A, B the pairs of things that a, b put together, and AB those that both do, out of N pairs:
//
//   index = (AB - A B / N) / ((A + B)/2 - A B / N)
//
// The denominator is 0 only for A = B = 0 and A = B = N.
double adjusted_rand_index(const std::vector<Index>& a, const std::vector<Index>& b) {
  assert(a.size() == b.size());
  std::map<Index, Index> in_a, in_b;
  std::map<std::pair<Index, Index>, Index> in_both;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ++in_a[a[i]];
    ++in_b[b[i]];
    ++in_both[{a[i], b[i]}];
  }
  const double A = pairs_within(in_a);
  const double B = pairs_within(in_b);
  const double N = pairs(static_cast<Index>(a.size()));
  if (A == B && (A == 0 || A == N)) return 1;
  const double expected = A * B / N;
  return (pairs_within(in_both) - expected) / ((A + B) / 2 - expected);
}

}  // namespace coterie
