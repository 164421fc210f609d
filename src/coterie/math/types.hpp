// The vocabulary of every room: vectors, matrices and the one exception for bad input.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <stdexcept>

namespace coterie {

using Index = Eigen::Index;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstVectorRef = Eigen::Ref<const Vector>;
using VectorRef = Eigen::Ref<Vector>;
using ConstMatrixRef = Eigen::Ref<const Matrix>;

// Half the distance between 1 and the next number, 2^-53 of double: how far rounding may be off.
inline constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
inline constexpr double long_roundoff =
    static_cast<double>(std::numeric_limits<long double>::epsilon()) / 2;

// Input or settings that cannot be used. The text stands alone: where, what was found, what to do.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace coterie
