// Rows of a T x M matrix without the columns that are zero in every row, padded to whole lanes. Sums over edges run over such rows: the kernels that no
// task uses cost nothing, and where few are left their number is known to the compiler, so that the inner loops unroll.
#pragma once

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <vector>

#include "coterie/math/lanes.hpp"

namespace coterie {

class CompactRows {
 public:
  explicit CompactRows(Index M) : M_(M) {}

  Index width() const { return width_; }

  // Keeps the columns of x that are not zero.
  void choose_columns(const Matrix& x) {
    columns_.clear();
    for (Index m = 0; m < M_; ++m)
      if (!x.col(m).isZero(0)) columns_.push_back(m);
    width_ = std::max(kLanes, padded(std::ssize(columns_)));
  }

  void compress(const Matrix& x, Matrix& compact) const {
    compact.setZero(x.rows(), width_);
    for (Index t = 0; t < x.rows(); ++t)
      for (std::size_t k = 0; k < columns_.size(); ++k)
        compact(t, static_cast<Index>(k)) = x(t, columns_[k]);
  }

  // x += compact, every column where it came from
  void add(const Matrix& compact, Matrix& x) const {
    for (Index t = 0; t < x.rows(); ++t)
      for (std::size_t k = 0; k < columns_.size(); ++k)
        x(t, columns_[k]) += compact(t, static_cast<Index>(k));
  }

 private:
  Index M_;
  std::vector<Index> columns_;
  Index width_ = kLanes;
};

// Calls f with the width of compact rows, a constant where it is small.
template <class F>
void with_width(Index width, const F& f) {
  switch (width) {
    case 4:
      return f(std::integral_constant<int, 4>());
    case 8:
      return f(std::integral_constant<int, 8>());
    case 12:
      return f(std::integral_constant<int, 12>());
    case 16:
      return f(std::integral_constant<int, 16>());
    default:
      return f(std::integral_constant<int, Eigen::Dynamic>());
  }
}

template <int S>
using ConstRow = Eigen::Map<const Eigen::Array<double, S, 1>, Eigen::Aligned32>;
template <int S>
using Row = Eigen::Map<Eigen::Array<double, S, 1>, Eigen::Aligned32>;

}  // namespace coterie
