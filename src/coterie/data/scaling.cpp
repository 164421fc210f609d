#include "coterie/data/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace coterie {
namespace {

bool same(const Vector& a, const Vector& b) { return a.size() == b.size() && a == b; }

// Mean and standard deviation of every column, in long double: a spread that is small beside the mean loses no digits, and the square of
// any double is a number there.
std::pair<Vector, Vector> moments(ConstMatrixRef X, const std::vector<Index>& rows) {
  using Long = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
  const long double n = static_cast<long double>(rows.size());
  Long mean = Long::Zero(X.cols()), squares = mean;
  for (const Index i : rows) mean += X.row(i).transpose().cast<long double>();
  mean /= n;
  for (const Index i : rows)
    squares += (X.row(i).transpose().cast<long double>() - mean).cwiseAbs2();
  return {mean.cast<double>(), (squares / n).cwiseSqrt().cast<double>()};
}

// Correlations that differ by rounding alone are equal: the order of the columns then decides, not that of the rows.
constexpr double kSteps = 0x1p32;

// The first d columns of some rows, with mean 0 and length 1; 0 where they are constant.
Matrix unit_columns(ConstMatrixRef X, const std::vector<Index>& rows, Index d) {
  Matrix Z = X(rows, Eigen::seqN(0, d));
  for (Index j = 0; j < d; ++j) {
    const double low = Z.col(j).minCoeff(), high = Z.col(j).maxCoeff();
    if (low == high) {
      Z.col(j).setZero();
      continue;
    }
    Z.col(j) = (Z.col(j).array() - low) / (high - low);  // squares of it are numbers
    Z.col(j).array() -= Z.col(j).mean();
    Z.col(j).normalize();
  }
  return Z;
}

std::vector<Index> learn_neighbours(ConstMatrixRef X, const std::vector<Index>& rows, Index d,
                                    Index smooth) {
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor> Z =
      unit_columns(X, rows, d);
  Matrix nearness = Matrix::Zero(d, d);
  for (Index i = 0; i < d; ++i)
    for (Index j = i + 1; j < d; ++j)
      nearness(i, j) = nearness(j, i) = std::round(kSteps * Z.col(i).dot(Z.col(j)));
  std::vector<Index> out;
  for (Index j = 0; j < d; ++j) {
    std::vector<Index> others;
    for (Index i = 0; i < d; ++i)
      if (i != j && nearness(i, j) > 0) others.push_back(i);
    std::ranges::stable_sort(others, std::ranges::greater(),
                             [&](Index i) { return nearness(i, j); });
    others.insert(others.begin(), j);
    others.resize(static_cast<std::size_t>(smooth), j);
    out.insert(out.end(), others.begin(), others.end());
  }
  return out;
}

}  // namespace

bool Scaling::operator==(const Scaling& other) const {
  return kind == other.kind && same(shift, other.shift) && same(factor, other.factor) &&
         smooth == other.smooth && neighbours == other.neighbours;
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

std::vector<bool> constant_columns(const Dataset& data) {
  std::vector<bool> constant(static_cast<std::size_t>(data.X.cols()), true);
  for (const Task& task : data.tasks)
    for (const Index row : task.rows)
      for (Index j = 0; j < data.X.cols(); ++j)
        if (data.X(row, j) != data.X(task.rows.front(), j))
          constant[static_cast<std::size_t>(j)] = false;
  return constant;
}

Scaling learn_scaling(Scaling::Kind kind, ConstMatrixRef X, const std::vector<Index>& rows,
                      Index kept, Index smooth) {
  Scaling scaling;
  scaling.kind = kind;
  scaling.smooth = smooth;
  if (!scaling.changes()) return scaling;
  if (rows.empty()) throw InputError("scaling cannot be learnt from no rows.");
  if (smooth > 1) scaling.neighbours = learn_neighbours(X, rows, X.cols() - kept, smooth);
  if (kind == Scaling::Kind::none) return scaling;

  Vector low = X.row(rows[0]), high = low;
  for (const Index i : rows) {
    low = low.cwiseMin(X.row(i).transpose());
    high = high.cwiseMax(X.row(i).transpose());
  }
  Vector shift = low, spread = high - low;
  if (kind == Scaling::Kind::standard) std::tie(shift, spread) = moments(X, rows);
  scaling.shift = shift;
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

Scaling learn_scaling(Scaling::Kind kind, const Dataset& data, Index smooth) {
  return learn_scaling(kind, data.X, rows_used(data), 0, smooth);
}

Matrix apply_scaling(const Scaling& scaling, Matrix X) {
  const auto check = [&](Index features) {
    if (X.cols() != features)
      throw InputError(fmt::format("the scaling was learnt for {} features, but the data has {}.",
                                   features, X.cols()));
  };
  if (scaling.kind != Scaling::Kind::none) {
    check(scaling.shift.size());
    X.rowwise() -= scaling.shift.transpose();
    X.array().rowwise() *= scaling.factor.transpose().array();
  }
  if (scaling.smooth == 1) return X;
  const Index d = std::ssize(scaling.neighbours) / scaling.smooth;
  if (X.cols() < d) check(d);
  const Matrix from = X.leftCols(d);
  X.leftCols(d).setZero();
  const Index* neighbour = scaling.neighbours.data();
  for (Index j = 0; j < d; ++j)
    for (Index k = 0; k < scaling.smooth; ++k) X.col(j) += from.col(*neighbour++);
  X.leftCols(d) /= static_cast<double>(scaling.smooth);
  for (Index j = 0; j < d; ++j)
    if (!X.col(j).allFinite())
      throw InputError(fmt::format(
          "the mean of feature {} and of those that rise with it is too large for a number. "
          "Scale the features, or leave `smooth` at 1.",
          j + 1));
  return X;
}

}  // namespace coterie
