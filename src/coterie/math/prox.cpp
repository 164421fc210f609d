#include "coterie/math/prox.hpp"

namespace coterie {

Pair prox_pairwise(ConstVectorRef a, ConstVectorRef b, double kappa) {
  const Vector d = a - b;
  const double distance = d.norm();
  if (distance <= 2 * kappa) {
    const Vector mean = (a + b) / 2;
    return {mean, mean};
  }
  const Vector step = (kappa / distance) * d;
  return {a - step, b + step};
}

}  // namespace coterie
