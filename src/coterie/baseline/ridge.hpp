// The simplest penalty, kappa ||W||^2: tasks have nothing to do with each other.
#pragma once

#include "coterie/baseline/linear.hpp"

namespace coterie {

class RidgePenalty : public Penalty {
 public:
  explicit RidgePenalty(double kappa) : kappa_(kappa) {}
  double value(const Matrix& W) override { return kappa_ * W.squaredNorm(); }
  Matrix prox(const Matrix& Z, double step, double) override { return Z / (1 + 2 * kappa_ * step); }
  double conjugate(const Matrix& Z) override { return Z.squaredNorm() / (4 * kappa_); }

 private:
  double kappa_;
};

}  // namespace coterie
