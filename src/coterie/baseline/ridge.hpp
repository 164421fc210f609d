// The simplest penalty, kappa ||W||^2: tasks have nothing to do with each other.
#pragma once

#include "coterie/baseline/linear_proof.hpp"

namespace coterie {

class RidgePenalty : public Penalty {
 public:
  explicit RidgePenalty(double kappa) : kappa_(kappa) {}
  double value(const Matrix& W) override { return kappa_ * W.squaredNorm(); }
  Matrix prox(const Matrix& Z, double step, double) override { return Z / (1 + 2 * kappa_ * step); }
  double conjugate(const Matrix& Z, double) override { return Z.squaredNorm() / (4 * kappa_); }
  PenaltyProof prove(const Matrix& W, const Matrix& Z) override {
    const double relative_error = static_cast<double>(W.size() + 4) * unit_roundoff;
    const double R = value(W), conjugate_R = conjugate(Z, 0);
    return {{R, relative_error * R},
            {conjugate_R, relative_error * conjugate_R},
            1 / (4 * kappa_),
            kappa_};
  }

 private:
  double kappa_;
};

}  // namespace coterie
