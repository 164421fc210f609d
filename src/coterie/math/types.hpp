// The vocabulary of every room: vectors, matrices and the one exception for bad input.
#pragma once

#include <Eigen/Core>
#include <stdexcept>

namespace coterie {

using Index = Eigen::Index;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstVectorRef = Eigen::Ref<const Vector>;
using VectorRef = Eigen::Ref<Vector>;
using ConstMatrixRef = Eigen::Ref<const Matrix>;

// Input or settings that cannot be used. The text stands alone: where, what was found, what to do.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace coterie
