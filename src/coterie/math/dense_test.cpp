#include "coterie/math/dense.hpp"

#include <gtest/gtest.h>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

Eigen::MatrixXd random_matrix(Random& random, Index rows, Index columns) {
  Eigen::MatrixXd A(rows, columns);
  for (double& v : A.reshaped()) v = random.normal();
  return A;
}

// By the definition, coefficient by coefficient.
template <typename A, typename B>
Matrix slow_product(const A& a, const B& b) {
  Matrix c = Matrix::Zero(a.rows(), b.cols());
  for (Index i = 0; i < a.rows(); ++i)
    for (Index j = 0; j < b.cols(); ++j)
      for (Index k = 0; k < a.cols(); ++k) c(i, j) += a(i, k) * b(k, j);
  return c;
}

TEST(Dense, ProductsInEveryStorageOrder) {
  Random random(1);
  for (const Index n : {0, 1, 2, 7, 40}) {
    const Eigen::MatrixXd A = random_matrix(random, n, n + 3), B = random_matrix(random, n + 3, 5);
    const Matrix A_rows = A, B_rows = B, expected = slow_product(A, B);
    const Eigen::MatrixXd A_transposed = A.transpose();
    const Matrix B_transposed = B.transpose();
    const double rounding = 1e-14 * static_cast<double>(n + 3) * (1 + A.norm() * B.norm());
    EXPECT_LE((product(A, B) - expected).norm(), rounding);
    EXPECT_LE((product(A_rows, B) - expected).norm(), rounding);
    EXPECT_LE((product(A, B_rows) - expected).norm(), rounding);
    EXPECT_LE((product(A_rows, B_rows) - expected).norm(), rounding);
    EXPECT_LE((product(A_transposed.transpose(), B_transposed.transpose()) - expected).norm(),
              rounding);
    EXPECT_LE((product(A, B.middleCols(1, 3)) - expected.middleCols(1, 3)).norm(), rounding);
    EXPECT_LE((product(A_rows, B_rows.middleCols(1, 3)) - expected.middleCols(1, 3)).norm(),
              rounding);
    EXPECT_LE((times(A_rows, B.col(2)) - expected.col(2)).norm(), rounding);
    EXPECT_LE((times(A, B_transposed.row(2).transpose()) - expected.col(2)).norm(), rounding);
    Eigen::MatrixXd whole = Eigen::MatrixXd::Constant(n + 2, 5, 7);
    set_product(whole.topRows(n), A_rows, B);
    EXPECT_LE((whole.topRows(n) - expected).norm(), rounding);
    EXPECT_EQ(whole.bottomRows(2), Eigen::MatrixXd::Constant(2, 5, 7));
  }
}

TEST(Dense, SquaresAreAddedToTheLowerHalf) {
  Random random(2);
  const Matrix A = random_matrix(random, 9, 6);
  Eigen::MatrixXd H = Eigen::MatrixXd::Constant(6, 6, 2);
  add_squares(H, A);
  const Matrix squares = slow_product(A.transpose(), A);
  for (Index j = 0; j < 6; ++j)
    for (Index i = 0; i < 6; ++i) EXPECT_NEAR(H(i, j), 2 + (i >= j ? squares(i, j) : 0), 1e-13);
}

// 600: more than one block of columns.
TEST(Dense, FactorsAndTheirSolutions) {
  Random random(3);
  for (const Index n : {1, 2, 10, 600}) {
    const Eigen::MatrixXd half = random_matrix(random, n, n);
    Eigen::MatrixXd A = slow_product(half, half.transpose());
    A.diagonal().array() += static_cast<double>(n);
    const double rounding = 1e-14 * static_cast<double>(n) * A.norm();
    Eigen::MatrixXd L = A;
    L.triangularView<Eigen::StrictlyUpper>().setConstant(NAN);  // is not read
    ASSERT_TRUE(cholesky(L));
    const Eigen::MatrixXd factor = L.triangularView<Eigen::Lower>();
    EXPECT_LE((product(factor, factor.transpose()) - Matrix(A)).norm(), rounding);

    const Eigen::MatrixXd B = random_matrix(random, n, 3);
    const Eigen::MatrixXd X = cholesky_solve(L, B);
    EXPECT_LE((product(A, X) - Matrix(B)).norm(), rounding * X.norm());
    EXPECT_LE((product(A, cholesky_inverse(L)) - Matrix::Identity(n, n)).norm(), 1e-12);
    const Vector x = cholesky_solve(L, Vector(B.col(0)));
    EXPECT_LE((x - X.col(0)).norm(), 1e-12 * x.norm());
  }
}

TEST(Dense, AnIndefiniteMatrixHasNoFactor) {
  Eigen::MatrixXd A = Eigen::MatrixXd::Identity(600, 600);
  A(550, 550) = -1;
  EXPECT_FALSE(cholesky(A));
}

TEST(Dense, AFactorisationCanBeStopped) {
  Eigen::MatrixXd A = Eigen::MatrixXd::Identity(600, 600);
  EXPECT_THROW(cholesky(A, [] { return false; }), Stopped);
}

}  // namespace
}  // namespace coterie
