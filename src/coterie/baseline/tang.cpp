#include "coterie/baseline/tang.hpp"

#include "coterie/baseline/shared_weights.hpp"

namespace coterie {

Fit fit_tang(const MtmklProblem& problem, double share, const FitSettings& settings,
             const ProgressCallback& progress, const WarmStart& start, Workspace* workspace) {
  return fit_shared(problem, {.share = share, .power = 1}, settings, progress, start, workspace);
}

}  // namespace coterie
