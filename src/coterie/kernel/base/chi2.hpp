// chi2    sum_j 2 x_j z_j / (x_j + z_j),  for features >= 0    docs/maths.md (10)
#pragma once

#include "coterie/kernel/base/base_kernel.hpp"

namespace coterie {

struct Chi2 : OfSimilarity {
  static constexpr std::string_view name = "chi2", grammar = "chi2";
  static constexpr bool needs_nonnegative = true;

  struct Quantity {
    static constexpr coterie::Quantity::From from = coterie::Quantity::From::pairs;
    template <typename Real>
    static Real term(Real x, Real z) {
      return x + z > 0 ? static_cast<Real>(2 * x * z / (x + z)) : Real(0);  // 0 / 0 counts as 0
    }
    // Over the columns outside and the points inside, where the numbers of many pairs lie side by side.
    static Matrix pairs(const Matrix& A, const Matrix& B) {
      const Matrix columns = B.transpose();
      Matrix S = Matrix::Zero(A.rows(), B.rows());
      for (Index i = 0; i < A.rows(); ++i) {
        for (Index k = 0; k < A.cols(); ++k) {
          const double x = A(i, k);
          if (x == 0) continue;
          S.row(i).array() += 2 * x * columns.row(k).array() / (columns.row(k).array() + x);
        }
      }
      return S;
    }
  };

  static Vector diagonal(const Matrix& X) { return row_sums(X); }  // term(x, x) = x
};

}  // namespace coterie
