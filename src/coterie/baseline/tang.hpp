// Partially shared kernels of Tang, Chen and Ye (2009): theta_t = mu + lambda_t with mu common to all tasks.
//
//   minimise   sum_t J_t(mu + lambda_t)        mu >= 0, sum mu = tau;   lambda_t >= 0, sum lambda_t = 1 - tau
#pragma once

#include "coterie/mtmkl/fit.hpp"

namespace coterie {

// `problem` says tasks, labels and C; its lambda, graph and weights have no part.
Fit fit_tang(const MtmklProblem& problem, double share, const FitSettings& settings,
             const ProgressCallback& progress = {}, const WarmStart& start = {},
             Workspace* workspace = nullptr);

}  // namespace coterie
