#include "coterie/math/accelerated.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace coterie {

// With z the extrapolated point and g the gradient of f there,
//
//   x+ = prox_{R/L}(z - g/L),    L such that  f(x+) <= f(z) + <g, x+ - z> + L/2 ||x+ - z||^2
//   t+ = (1 + sqrt(1 + 4 t^2)) / 2,    z+ = x+ + (t - 1)/t+ (x+ - x)
//
// Momentum that points uphill, <z - x+, x+ - x> > 0, is dropped: t+ = 1. The monotone variant also drops it, and the step with it,
// when the objective rises; a step without momentum cannot raise it but by rounding.
Accelerated minimise_accelerated(const Composite& problem, Matrix start,
                                 const AcceleratedSettings& settings,
                                 const std::function<bool(Index, double)>& progress) {
  constexpr double rounding = 16 * std::numeric_limits<double>::epsilon();
  Accelerated result;
  result.x = std::move(start);
  result.L = settings.L;
  Matrix& x = result.x;
  Matrix z = x;
  Matrix gradient(x.rows(), x.cols()), unused(x.rows(), x.cols());
  result.objective = problem.smooth(x, unused) + problem.penalty(x);
  double t = 1;
  while (result.iterations < settings.max_iterations && !result.converged) {
    ++result.iterations;
    const double f = problem.smooth(z, gradient);
    Matrix next, step;
    double f_next = 0;
    for (;; result.L *= 2) {
      next = problem.prox(z - gradient / result.L, 1 / result.L);
      step = next - z;
      f_next = problem.smooth(next, unused);
      const double model =
          f + gradient.cwiseProduct(step).sum() + result.L / 2 * step.squaredNorm();
      if (f_next <= model + rounding * std::max(1.0, std::abs(f))) break;
    }
    const double size = std::max(1.0, x.size() ? x.cwiseAbs().maxCoeff() : 0);
    result.residual = result.L * (step.size() ? step.cwiseAbs().maxCoeff() : 0) / size;
    result.converged = result.residual <= settings.tolerance;
    const double objective = f_next + problem.penalty(next);
    if (settings.monotone && objective > result.objective) {
      if (t == 1) {  // without momentum: rounding is all that is left
        result.converged = true;
        break;
      }
      t = 1;
      z = x;
      result.converged = false;
      continue;
    }
    const Matrix move = next - x;
    const bool uphill = -step.cwiseProduct(move).sum() > 0;
    const double t_next = uphill ? 1 : (1 + std::sqrt(1 + 4 * t * t)) / 2;
    x = std::move(next);
    z = uphill ? x : Matrix(x + (t - 1) / t_next * move);
    t = t_next;
    result.objective = objective;
    if (progress && !progress(result.iterations, objective)) break;
  }
  return result;
}

}  // namespace coterie
