// A matrix that grows row by row. Internal to this room.
#pragma once

#include <algorithm>
#include <limits>

#include "coterie/math/types.hpp"

namespace coterie::detail {

// Rows land where they will stay: the room is guessed from the share of the input read, and given back at the end. For large
// matrices both are a change of the address space (mremap), not a copy, and rows not yet written take no memory.
class RowBuffer {
 public:
  explicit RowBuffer(Index columns)
      : X_(std::clamp<Index>((1 << 18) / (columns + 1), 1, 1024), columns) {}

  Index rows() const { return rows_; }
  Index columns() const { return X_.cols(); }

  bool is_full() const { return rows_ == X_.rows(); }

  // `fraction_read` is the share of the input that holds the rows so far; 0: not known. `most`: rows that there may be, more than now.
  void grow(double fraction_read, double most = std::numeric_limits<double>::infinity()) {
    const auto rows = static_cast<double>(rows_);
    const double guess = fraction_read > 0 ? std::min(1.02 * rows / fraction_read, 1e12) : 0;
    Index room = std::max<Index>(rows_ + rows_ / 2 + 1, static_cast<Index>(guess) + 16);
    if (static_cast<double>(room) > most) room = std::max(rows_ + 1, static_cast<Index>(most));
    X_.conservativeResize(room, Eigen::NoChange);
  }

  double* add_row() { return X_.data() + X_.cols() * rows_++; }  // needs room; not set to zero

  Matrix take() {
    X_.conservativeResize(rows_, Eigen::NoChange);
    return std::move(X_);
  }

 private:
  Matrix X_;
  Index rows_ = 0;
};

}  // namespace coterie::detail
