#include "coterie/stats/scores.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

namespace coterie {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

double ratio(double part, double whole) { return whole > 0 ? part / whole : undefined; }

double surprise(double probability) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  return -std::log(std::clamp(probability, eps, 1 - eps));
}

// Counts of the two classes: true class x class said.
Matrix confusion_of(ConstVectorRef f, ConstVectorRef y) {
  assert(f.size() == y.size());
  Matrix counts = Matrix::Zero(2, 2);
  for (Index i = 0; i < f.size(); ++i) ++counts(y[i] > 0, f[i] > 0);
  return counts;
}

}  // namespace

Index count_errors(ConstVectorRef f, ConstVectorRef y) {
  const Matrix counts = confusion_of(f, y);
  return static_cast<Index>(counts(0, 1) + counts(1, 0));
}

double accuracy(ConstVectorRef f, ConstVectorRef y) {
  return ratio(confusion_of(f, y).trace(), static_cast<double>(f.size()));
}

double balanced_accuracy(ConstVectorRef f, ConstVectorRef y) {
  return balanced_accuracy(confusion_of(f, y));
}

double balanced_accuracy(ConstMatrixRef confusion) {
  double recalls = 0;
  double present = 0;
  for (Index c = 0; c < confusion.rows(); ++c) {
    const double n = confusion.row(c).sum();
    if (n == 0) continue;
    recalls += confusion(c, c) / n;
    ++present;
  }
  return ratio(recalls, present);
}

// In order of score, each positive wins against the negatives before it, and half against those of its own score. Counts and
// halves of counts are exact, so that the order of equal scores cannot matter.
double auc(ConstVectorRef f, ConstVectorRef y) {
  assert(f.size() == y.size());
  std::vector<Index> order(static_cast<std::size_t>(f.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, {}, [&](Index i) { return f[i]; });
  double wins = 0;
  double positives = 0;
  double negatives = 0;
  for (std::size_t start = 0; start < order.size();) {
    const double score = f[order[start]];
    double here[2] = {0, 0};
    for (; start < order.size() && f[order[start]] == score; ++start) ++here[y[order[start]] > 0];
    wins += here[1] * (negatives + here[0] / 2);
    negatives += here[0];
    positives += here[1];
  }
  return ratio(wins, positives * negatives);
}

double log_loss(ConstVectorRef p, ConstVectorRef y) {
  assert(p.size() == y.size());
  double sum = 0;
  for (Index i = 0; i < p.size(); ++i) sum += surprise(y[i] > 0 ? p[i] : 1 - p[i]);
  return ratio(sum, static_cast<double>(p.size()));
}

double log_loss(ConstMatrixRef p, const std::vector<Index>& label) {
  assert(p.rows() == std::ssize(label));
  double sum = 0;
  for (Index i = 0; i < p.rows(); ++i) sum += surprise(p(i, label[static_cast<std::size_t>(i)]));
  return ratio(sum, static_cast<double>(p.rows()));
}

double brier_score(ConstVectorRef p, ConstVectorRef y) {
  assert(p.size() == y.size());
  double sum = 0;
  for (Index i = 0; i < p.size(); ++i) sum += std::pow(p[i] - (y[i] > 0 ? 1 : 0), 2);
  return ratio(sum, static_cast<double>(p.size()));
}

std::vector<ReliabilityBin> reliability_table(ConstVectorRef p, ConstVectorRef y, Index bins) {
  assert(p.size() == y.size() && bins > 0);
  std::vector<ReliabilityBin> table(static_cast<std::size_t>(bins));
  for (Index b = 0; b < bins; ++b) {
    table[static_cast<std::size_t>(b)].low = static_cast<double>(b) / static_cast<double>(bins);
    table[static_cast<std::size_t>(b)].high =
        static_cast<double>(b + 1) / static_cast<double>(bins);
  }
  for (Index i = 0; i < p.size(); ++i) {
    // The last bin that does not begin beyond p.
    const auto after = std::ranges::upper_bound(table, p[i], {}, &ReliabilityBin::low);
    ReliabilityBin& bin = *std::prev(after);
    ++bin.count;
    bin.mean_predicted += p[i];
    bin.share_observed += y[i] > 0 ? 1 : 0;
  }
  for (ReliabilityBin& bin : table) {
    bin.mean_predicted = ratio(bin.mean_predicted, static_cast<double>(bin.count));
    bin.share_observed = ratio(bin.share_observed, static_cast<double>(bin.count));
  }
  return table;
}

}  // namespace coterie
