#include "coterie/baseline/pareto.hpp"

#include <fmt/format.h>

#include <cmath>

#include "coterie/baseline/shared_weights.hpp"

namespace coterie {

Fit fit_pareto(const MtmklProblem& problem, double power, const FitSettings& settings,
               const ProgressCallback& progress, const WarmStart& start, Workspace* workspace) {
  // The objective is T^(1/p) times a mean of the tasks' objectives.
  if (std::log10(static_cast<double>(problem.T())) / power > 250)
    throw InputError(
        fmt::format("power is {}: too small for {} tasks, the objective would overflow. Ask for at "
                    "least {:.2g}.",
                    power, problem.T(), std::log10(static_cast<double>(problem.T())) / 240));
  return fit_shared(problem, {.share = 1, .power = power}, settings, progress, start, workspace);
}

}  // namespace coterie
