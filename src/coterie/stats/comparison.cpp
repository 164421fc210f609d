#include "coterie/stats/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace coterie {
namespace {

Index find_control(const ResultBlock& block, const std::string& control) {
  const auto place = std::ranges::find(block.methods, control);
  if (place != block.methods.end()) return place - block.methods.begin();
  throw InputError(fmt::format("`control` is '{}', but {}the methods are {}. Name one of them.",
                               control, block.name.empty() ? "" : "in block '" + block.name + "' ",
                               fmt::join(block.methods, ", ")));
}

// To 12 digits after the point of numbers of the size of `scale`, but never to 0. Sums and differences that are equal on paper are then
// equal here, and so tied: 0.3 - 0.2 and 0.2 - 0.1, or the means of 0.1, 0.2, 0.3 in any order.
double round_decimal(double value, double scale) {
  if (!(scale > 1e-200 && scale < 1e200)) return value;
  const double unit = std::pow(10.0, 12 - std::ceil(std::log10(scale)));
  const double rounded = std::round(value * unit) / unit;
  return rounded == 0 ? value : rounded;
}

double mean_of(ConstVectorRef scores) {
  if (scores.size() == 1) return scores[0];
  const double mean = (scores / static_cast<double>(scores.size())).sum();  // cannot overflow
  return round_decimal(mean, scores.cwiseAbs().maxCoeff());
}

Vector differences_of(const Vector& a, const Vector& b) {
  const double scale = std::max(a.cwiseAbs().maxCoeff(), b.cwiseAbs().maxCoeff());
  return (a - b).unaryExpr([&](double d) { return round_decimal(d, scale); });
}

}  // namespace

Matrix mean_scores(const ResultBlock& block) {
  Matrix out(std::ssize(block.datasets), std::ssize(block.methods));
  for (Index i = 0; i < out.rows(); ++i)
    for (Index j = 0; j < out.cols(); ++j)
      out(i, j) = mean_of(block.scores[static_cast<std::size_t>(i)].row(j));
  return out;
}

Comparison compare_methods(const ResultBlock& block, const std::string& control, double alpha,
                           Better better) {
  Comparison out;
  out.control = find_control(block, control);
  const double sign = better == Better::higher ? 1 : -1;
  const Matrix scores = sign * mean_scores(block);
  const Matrix ranks = rank_methods(scores);
  try {
    out.friedman = friedman_test(ranks);
  } catch (const InputError& error) {
    if (block.name.empty()) throw;
    throw InputError(fmt::format("block '{}': {}", block.name, error.what()));
  }
  out.average_ranks = ranks.colwise().mean();
  out.holm = compare_with_control(out.average_ranks, scores.rows(), out.control, alpha);
  for (const AgainstControl& other : out.holm)
    out.wilcoxon.push_back(
        wilcoxon_test(differences_of(scores.col(out.control), scores.col(other.method))));
  out.nemenyi = nemenyi_test(out.average_ranks, scores.rows(), alpha);
  return out;
}

std::vector<RepeatedScore> repeated_scores(const ResultBlock& block, Index control, double alpha,
                                           std::optional<double> test_train_ratio, Better better) {
  std::vector<RepeatedScore> out;
  const double sign = better == Better::lower ? -1 : 1, confidence = 1 - alpha;
  for (std::size_t d = 0; d < block.datasets.size(); ++d) {
    const Matrix& scores = block.scores[d];
    for (Index m = 0; m < scores.rows(); ++m) {
      RepeatedScore row{block.datasets[d], block.methods[static_cast<std::size_t>(m)],
                        mean_interval(scores.row(m), confidence), std::nullopt};
      if (m != control && test_train_ratio)
        row.control_gain = resampled_t_test(sign * (scores.row(control) - scores.row(m)),
                                            *test_train_ratio, confidence);
      out.push_back(std::move(row));
    }
  }
  return out;
}

}  // namespace coterie
