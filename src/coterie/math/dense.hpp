// Products, Cholesky factors and triangular systems of dense matrices, as plain functions: like those of spectrum.hpp, compiled once.
// What is small or simple is written with Eigen where it is used.
#pragma once

#include "coterie/math/parallel.hpp"
#include "coterie/math/types.hpp"

namespace coterie {

// A matrix or vector to read: whole, a block or transposed, of either storage order, so that nothing is copied. It points into what it
// was made of.
struct MatrixView {
  template <typename Derived>
  MatrixView(const Eigen::DenseBase<Derived>& A)  // NOLINT(google-explicit-constructor): arguments
      : data(A.derived().data()),
        rows(A.rows()),
        cols(A.cols()),
        stride(A.derived().outerStride()),
        by_rows(Derived::IsRowMajor) {
    static_assert(Derived::InnerStrideAtCompileTime == 1, "write Matrix(...) around an expression");
  }
  const double* data;
  Index rows, cols;
  Index stride;  // between the rows or columns that are stored one after the other
  bool by_rows;
};
using ColumnsRef = Eigen::Ref<Eigen::MatrixXd>;  // stored by columns
using ConstColumnsRef = Eigen::Ref<const Eigen::MatrixXd>;

Matrix product(const MatrixView& A, const MatrixView& B);  // A B
Vector times(const MatrixView& A, const MatrixView& x);    // A x, x a column

// For large results, in place.
void set_product(ColumnsRef C, const MatrixView& A, const MatrixView& B);  // C = A B
void add_squares(ColumnsRef H, ConstMatrixRef A);                          // lower half of H += A'A

// A becomes L of A = L L' in its lower half, which is all that is read of it. False: A is not positive definite.
bool cholesky(ColumnsRef A, const KeepGoing& keep_going = {});

void solve_lower(ConstColumnsRef L, ColumnsRef X);             // X <- L^-1 X
void solve_lower_transposed(ConstColumnsRef L, ColumnsRef X);  // X <- L'^-1 X

// By the factor of A: A^-1 x, A^-1 X, A^-1.
Vector cholesky_solve(ConstColumnsRef L, Vector x);
Eigen::MatrixXd cholesky_solve(ConstColumnsRef L, Eigen::MatrixXd X);
Eigen::MatrixXd cholesky_inverse(ConstColumnsRef L);

}  // namespace coterie
