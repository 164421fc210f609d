#include "coterie/math/anderson.hpp"

#include <Eigen/Cholesky>

namespace coterie {

void Anderson::forget() {
  dF_.clear();
  dG_.clear();
  products_.resize(0, 0);
  f_.resize(0, 0);
  oldest_ = 0;
}

Matrix Anderson::next(const Matrix& v, const Matrix& image) {
  const Matrix f = image - v;
  if (f_.size() == 0) {
    f_ = f;
    image_ = image;
    return image;
  }
  Index place = std::ssize(dF_);
  if (place < memory_) {
    dF_.emplace_back();
    dG_.emplace_back();
    products_.conservativeResize(place + 1, place + 1);
  } else {
    place = oldest_;
    oldest_ = (oldest_ + 1) % memory_;
  }
  const std::size_t k = static_cast<std::size_t>(place);
  dF_[k] = f - f_;
  dG_[k] = image - image_;
  f_ = f;
  image_ = image;

  const Index count = std::ssize(dF_);
  Vector right(count);
  for (Index i = 0; i < count; ++i) {
    const Matrix& dF = dF_[static_cast<std::size_t>(i)];
    products_(i, place) = products_(place, i) = dF.cwiseProduct(dF_[k]).sum();
    right[i] = dF.cwiseProduct(f).sum();
  }
  // Differences shrink from step to step, so each is measured by its own length; the small multiple of the identity makes up for
  // those that are nearly dependent.
  const Vector length = products_.diagonal().cwiseSqrt();
  if (!(length.minCoeff() > 0)) return image;
  const Vector inverse = length.cwiseInverse();
  Eigen::MatrixXd scaled = inverse.asDiagonal() * products_ * inverse.asDiagonal();
  scaled.diagonal().array() += 1e-13;
  const Vector gamma = inverse.cwiseProduct(scaled.ldlt().solve(inverse.cwiseProduct(right)));
  Matrix result = image;
  for (Index i = 0; i < count; ++i) result -= gamma[i] * dG_[static_cast<std::size_t>(i)];
  return result.allFinite() ? result : image;
}

}  // namespace coterie
