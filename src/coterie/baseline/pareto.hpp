// Pareto-path multi-task MKL of Li, Georgiopoulos and Anagnostopoulos (2014): one theta for all tasks,
//
//   minimise   ( sum_t J_t(theta)^p )^(1/p)        theta in the simplex
//
// p = 1 is MTL; p > 1 weighs hard tasks more (convex), p < 1 easy ones (a local optimum).
#pragma once

#include "coterie/mtmkl/fit.hpp"

namespace coterie {

Fit fit_pareto(const MtmklProblem& problem, double power, const FitSettings& settings,
               const ProgressCallback& progress = {}, const WarmStart& start = {},
               Workspace* workspace = nullptr);

}  // namespace coterie
