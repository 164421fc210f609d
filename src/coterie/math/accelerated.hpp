// Accelerated proximal gradient with restarts (Beck and Teboulle 2009; O'Donoghue and Candes 2015), docs/methods.md (2):
//
//   minimise   f(x) + R(x)        f smooth, R through its proximal map
#pragma once

#include <functional>

#include "coterie/math/types.hpp"

namespace coterie {

struct Composite {
  std::function<double(const Matrix& x, Matrix& gradient)> smooth;  // f, and its gradient
  std::function<Matrix(const Matrix& z, double step)> prox;  // argmin 1/2 ||x - z||^2 + step R(x)
  std::function<double(const Matrix& x)> penalty;            // R
};

struct AcceleratedSettings {
  double tolerance = 1e-6;  // stop when L ||x+ - z||_max <= tolerance * max(1, ||x||_max)
  Index max_iterations = 1000;
  double L =
      1;  // first guess of the Lipschitz constant of the gradient; doubled where it is too small
  bool monotone = false;  // never take a step that raises the objective
};

struct Accelerated {
  Matrix x;
  double objective = 0;
  double residual = 0;  // L ||x+ - z||_max / max(1, ||x||_max) of the last step
  double L = 0;         // at the end
  Index iterations = 0;
  bool converged = false;
};
Accelerated minimise_accelerated(const Composite& problem, Matrix start,
                                 const AcceleratedSettings& settings,
                                 const std::function<bool(Index, double)>& progress = {});

}  // namespace coterie
