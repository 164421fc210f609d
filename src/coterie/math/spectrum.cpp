#include "coterie/math/spectrum.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>

#include "coterie/math/dense.hpp"

namespace coterie {

Svd svd_of(const Eigen::MatrixXd& A) {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(A, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return {svd.matrixU(), svd.singularValues(), svd.matrixV()};
}

Vector singular_values(const Eigen::MatrixXd& A) {
  return Eigen::JacobiSVD<Eigen::MatrixXd>(A).singularValues();
}

Spectrum spectrum_of(const Eigen::MatrixXd& A) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(A);
  return {eigen.eigenvalues(), eigen.eigenvectors()};
}

Vector eigenvalues(const Eigen::MatrixXd& A) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(A, Eigen::EigenvaluesOnly).eigenvalues();
}

Matrix spectral_product(const Eigen::MatrixXd& V, const Vector& factor, const Matrix& X) {
  Matrix along = product(V.transpose(), X);
  along.array().colwise() *= factor.array();
  return product(V, along);
}

Eigen::MatrixXd orthonormal(const Eigen::MatrixXd& A) {
  const Index columns = std::min(A.rows(), A.cols());
  return Eigen::HouseholderQR<Eigen::MatrixXd>(A).householderQ() *
         Eigen::MatrixXd::Identity(A.rows(), columns);
}

}  // namespace coterie
