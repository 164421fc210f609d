#include "coterie/math/dense.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cassert>
#include <utility>

namespace coterie {

namespace {

// f of the matrix in its storage order.
template <typename F>
void in_order(const MatrixView& A, F f) {
  const Eigen::OuterStride<> stride(A.stride);
  if (A.by_rows)
    f(Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>(A.data, A.rows, A.cols, stride));
  else
    f(Eigen::Map<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>(A.data, A.rows, A.cols, stride));
}

MatrixView transposed(MatrixView A) {
  std::swap(A.rows, A.cols);
  A.by_rows = !A.by_rows;
  return A;
}

}  // namespace

void set_product(ColumnsRef C, const MatrixView& A, const MatrixView& B) {
  assert(A.cols == B.rows && C.rows() == A.rows && C.cols() == B.cols);
  in_order(A, [&](const auto& a) { in_order(B, [&](const auto& b) { C.noalias() = a * b; }); });
}

Matrix product(const MatrixView& A, const MatrixView& B) {
  Matrix C(A.rows, B.cols);
  set_product(C.transpose(), transposed(B), transposed(A));
  return C;
}

Vector times(const MatrixView& A, const MatrixView& x) {
  assert(x.cols == 1 && x.rows == A.cols && !x.by_rows);
  Vector y(A.rows);
  const Eigen::Map<const Vector> right(x.data, x.rows);
  in_order(A, [&](const auto& a) { y.noalias() = a * right; });
  return y;
}

void add_squares(ColumnsRef H, ConstMatrixRef A) {
  H.selfadjointView<Eigen::Lower>().rankUpdate(A.transpose());
}

// Column block by column block.
bool cholesky(ColumnsRef A, const KeepGoing& keep_going) {
  constexpr Index width = 512;
  const Index n = A.rows();
  for (Index k = 0; k < n; k += width) {
    const Index w = std::min(width, n - k);
    ColumnsRef corner = A.block(k, k, w, w);
    const Eigen::LLT<ColumnsRef> factor(corner);
    if (factor.info() != Eigen::Success) return false;
    ColumnsRef below = A.block(k + w, k, n - k - w, w);
    corner.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(below);
    for (Index j = k + w; j < n; j += width) {
      ask(keep_going);
      const Index columns = std::min(width, n - j);
      A.block(j, j, n - j, columns).noalias() -=
          A.block(j, k, n - j, w) * A.block(j, k, columns, w).transpose();
    }
  }
  return true;
}

void solve_lower(ConstColumnsRef L, ColumnsRef X) {
  const auto triangle = L.triangularView<Eigen::Lower>();
  if (X.cols() == 1) {
    VectorRef x = X.col(0);
    triangle.solveInPlace(x);
  } else {
    triangle.solveInPlace(X);
  }
}

void solve_lower_transposed(ConstColumnsRef L, ColumnsRef X) {
  const auto triangle = L.transpose().triangularView<Eigen::Upper>();
  if (X.cols() == 1) {
    VectorRef x = X.col(0);
    triangle.solveInPlace(x);
  } else {
    triangle.solveInPlace(X);
  }
}

Vector cholesky_solve(ConstColumnsRef L, Vector x) {
  solve_lower(L, x);
  solve_lower_transposed(L, x);
  return x;
}

Eigen::MatrixXd cholesky_solve(ConstColumnsRef L, Eigen::MatrixXd X) {
  solve_lower(L, X);
  solve_lower_transposed(L, X);
  return X;
}

Eigen::MatrixXd cholesky_inverse(ConstColumnsRef L) {
  return cholesky_solve(L, Eigen::MatrixXd(Eigen::MatrixXd::Identity(L.rows(), L.cols())));
}

}  // namespace coterie
