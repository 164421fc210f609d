#include "coterie/math/spectrum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

Eigen::MatrixXd random_matrix(Random& random, Index rows, Index columns) {
  Eigen::MatrixXd A(rows, columns);
  for (double& v : A.reshaped()) v = random.normal();
  return A;
}

void expect_orthonormal(const Eigen::MatrixXd& U) {
  const Eigen::MatrixXd I = Eigen::MatrixXd::Identity(U.cols(), U.cols());
  EXPECT_LE((U.transpose() * U - I).norm(), 1e-13);
}

TEST(Spectrum, SingularValuesAndVectorsMakeTheMatrix) {
  Random random(1);
  for (const auto& [rows, columns] :
       {std::pair{7, 3}, std::pair{3, 7}, std::pair{4, 4}, std::pair{1, 1}}) {
    const Eigen::MatrixXd A = random_matrix(random, rows, columns);
    const Svd svd = svd_of(A);
    EXPECT_EQ(svd.sigma.size(), std::min(rows, columns));
    expect_orthonormal(svd.U);
    expect_orthonormal(svd.V);
    EXPECT_LE((svd.U * svd.sigma.asDiagonal() * svd.V.transpose() - A).norm(), 1e-13);
    for (Index i = 1; i < svd.sigma.size(); ++i) EXPECT_GE(svd.sigma[i - 1], svd.sigma[i]);
    EXPECT_GE(svd.sigma.minCoeff(), 0);
    EXPECT_LE((singular_values(A) - svd.sigma).norm(), 1e-13);
  }
}

TEST(Spectrum, EigenvaluesAndVectorsMakeTheMatrix) {
  Random random(2);
  for (const Index n : {1, 2, 6}) {
    Eigen::MatrixXd A = random_matrix(random, n, n);
    A += Eigen::MatrixXd(A.transpose());
    const Spectrum spectrum = spectrum_of(A);
    expect_orthonormal(spectrum.vectors);
    EXPECT_LE(
        (spectrum.vectors * spectrum.values.asDiagonal() * spectrum.vectors.transpose() - A).norm(),
        1e-13);
    for (Index i = 1; i < n; ++i) EXPECT_LE(spectrum.values[i - 1], spectrum.values[i]);
    EXPECT_LE((eigenvalues(A) - spectrum.values).norm(), 1e-13);
  }
}

TEST(Spectrum, AFunctionOfAMatrixActsOnItsEigenvalues) {
  Random random(4);
  Eigen::MatrixXd A = random_matrix(random, 6, 6);
  A += Eigen::MatrixXd(A.transpose());
  const Matrix X = random_matrix(random, 6, 4);
  const Spectrum spectrum = spectrum_of(A);
  const Matrix once = spectral_product(spectrum.vectors, spectrum.values, X);
  EXPECT_LE((once - A * X).norm(), 1e-13);
  const Matrix twice = spectral_product(spectrum.vectors, spectrum.values.cwiseAbs2(), X);
  EXPECT_LE((twice - A * once).norm(), 1e-12);
}

TEST(Spectrum, AnOrthonormalBasisHoldsTheColumns) {
  Random random(3);
  for (const auto& [rows, columns] :
       {std::pair{7, 3}, std::pair{3, 7}, std::pair{4, 4}, std::pair{1, 1}}) {
    const Eigen::MatrixXd A = random_matrix(random, rows, columns), Q = orthonormal(A);
    EXPECT_EQ(Q.rows(), rows);
    EXPECT_EQ(Q.cols(), std::min(rows, columns));
    expect_orthonormal(Q);
    EXPECT_LE((Q * (Q.transpose() * A) - A).norm(), 1e-13);
  }
}

}  // namespace
}  // namespace coterie
