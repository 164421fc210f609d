// Anderson acceleration (1965) of a fixed-point iteration v <- G(v).
#pragma once

#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

// With f = G(v) - v at the last points and the differences dF, dG of their residuals and images, the next point is
//
//   G(v) - dG gamma,      gamma = argmin ||f - dF gamma||
//
// that is, the image of the affine combination of past points whose residual would be smallest, were G affine.
class Anderson {
 public:
  explicit Anderson(Index memory) : memory_(memory) {}
  Matrix next(const Matrix& v, const Matrix& image);
  void forget();

 private:
  Index memory_;
  std::vector<Matrix> dF_, dG_;  // the oldest is overwritten first
  Eigen::MatrixXd products_;     // <dF_i, dF_j>
  Matrix f_, image_;             // of the last point; empty at first
  Index oldest_ = 0;
};

}  // namespace coterie
