#include "coterie/data/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace coterie {
namespace {

// Standard deviations beyond these may have lost digits, because their squares did.
constexpr double kSmallSpread = 1e-140;
constexpr double kLargeSpread = 1e150;

bool same(const Vector& a, const Vector& b) { return a.size() == b.size() && a == b; }

// Mean and standard deviation of a column whose squares, or whose sum, leave the numbers: as shares of its largest value, and of its
// largest distance from the mean.
std::pair<double, double> spread_of_extremes(ConstMatrixRef X, Index j,
                                             const std::vector<Index>& rows) {
  double largest = 0, mean = 0, farthest = 0, squares = 0;
  const double n = static_cast<double>(rows.size());
  for (const Index i : rows) largest = std::max(largest, std::abs(X(i, j)));
  for (const Index i : rows) mean += X(i, j) / largest / n;
  mean *= largest;
  for (const Index i : rows) farthest = std::max(farthest, std::abs(X(i, j) - mean));
  for (const Index i : rows) {
    const double share = (X(i, j) - mean) / farthest;
    squares += share * share / n;
  }
  return {mean, farthest * std::sqrt(squares)};
}

}  // namespace

bool Scaling::operator==(const Scaling& other) const {
  return kind == other.kind && same(shift, other.shift) && same(factor, other.factor);
}

std::string to_string(Scaling::Kind kind) {
  switch (kind) {
    case Scaling::Kind::standard:
      return "standard";
    case Scaling::Kind::minmax:
      return "minmax";
    case Scaling::Kind::none:
      break;
  }
  return "none";
}

std::optional<Scaling::Kind> scaling_kind_from(const std::string& text) {
  using enum Scaling::Kind;
  for (const Scaling::Kind kind : {none, standard, minmax}) {
    if (text == to_string(kind)) return kind;
  }
  return {};
}

std::vector<Index> rows_used(const Dataset& data) {
  std::vector<bool> used(data.X.rows(), false);
  for (const Task& task : data.tasks) {
    for (const Index row : task.rows) used[row] = true;
  }
  std::vector<Index> rows;
  for (Index i = 0; i < data.X.rows(); ++i) {
    if (used[i]) rows.push_back(i);
  }
  return rows;
}

Scaling learn_scaling(Scaling::Kind kind, ConstMatrixRef X, const std::vector<Index>& rows,
                      Index kept) {
  Scaling scaling{kind, {}, {}};
  if (kind == Scaling::Kind::none) return scaling;
  if (rows.empty()) throw InputError("scaling cannot be learnt from no rows.");

  Vector low = X.row(rows[0]), high = low, mean = Vector::Zero(X.cols());
  for (const Index i : rows) {
    low = low.cwiseMin(X.row(i).transpose());
    high = high.cwiseMax(X.row(i).transpose());
    mean += X.row(i).transpose();
  }
  mean /= static_cast<double>(rows.size());
  Vector spread = high - low;
  if (kind == Scaling::Kind::standard) {
    spread.setZero();
    for (const Index i : rows) spread += (X.row(i).transpose() - mean).cwiseAbs2();
    spread = (spread / static_cast<double>(rows.size())).cwiseSqrt();
    for (Index j = 0; j < X.cols(); ++j)
      if (low[j] < high[j] && !(spread[j] > kSmallSpread && spread[j] < kLargeSpread))
        std::tie(mean[j], spread[j]) = spread_of_extremes(X, j, rows);
  }
  scaling.shift = kind == Scaling::Kind::standard ? mean : low;
  scaling.factor = spread.cwiseInverse();
  scaling.shift.tail(kept).setZero();
  scaling.factor.tail(kept).setOnes();
  for (Index j = 0; j < X.cols() - kept; ++j) {
    if (low[j] == high[j]) {  // exact, where the deviation of equal numbers may be rounding
      scaling.shift[j] = low[j];
      scaling.factor[j] = 1;
    } else if (!std::isnormal(scaling.factor[j]) || !std::isfinite(scaling.shift[j])) {
      throw InputError(fmt::format(
          "feature number {} runs from {} to {}, which cannot be scaled in double precision. Leave "
          "the feature out, or give it in another unit.",
          j + 1, low[j], high[j]));
    }
  }
  return scaling;
}

Scaling learn_scaling(Scaling::Kind kind, const Dataset& data) {
  return learn_scaling(kind, data.X, rows_used(data));
}

Matrix apply_scaling(const Scaling& scaling, Matrix X) {
  if (scaling.kind == Scaling::Kind::none) return X;
  if (X.cols() != scaling.shift.size()) {
    throw InputError(fmt::format("the scaling was learnt for {} features, but the data has {}.",
                                 scaling.shift.size(), X.cols()));
  }
  X.rowwise() -= scaling.shift.transpose();
  X.array().rowwise() *= scaling.factor.transpose().array();
  return X;
}

}  // namespace coterie
