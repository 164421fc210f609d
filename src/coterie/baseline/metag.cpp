#include "coterie/baseline/metag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "coterie/math/fusion.hpp"

namespace coterie {

namespace {

// The penalty, docs/methods.md (11), with N(W) = sum_{s<t} ||w_s - w_t|| and D nu as in math/fusion.hpp:
//
//   R(W)  = lambda N(W) + rho/2 ||W||^2
//   R*(Z) = min { ||Z - D nu||^2 / (2 rho) :  ||nu_st|| <= lambda }
//
// Its proximal map is that of the fusion, scaled; its conjugate too is the dual of a fusion, and any feasible nu bounds it from above.
// At the optimum both have the same nu in units of lambda, so each call begins with the duals of the one before.
class MetagPenalty : public Penalty {
 public:
  // `tolerance`: what the bound of R* may be too large by, relative to the last value of R.
  MetagPenalty(double lambda, double rho, double tolerance, const Matrix& nu)
      : lambda_(lambda), rho_(rho), tolerance_(tolerance) {
    if (lambda > 0) unit_ = nu / lambda;
  }

  double value(const Matrix& W) override {
    value_ = lambda_ * sum_of_distances(W) + rho_ / 2 * W.squaredNorm();
    return value_;
  }

  // Half of the squared distance to the exact map is at most the gap of the fusion.
  Matrix prox(const Matrix& Z, double step, double accuracy) override {
    const double shrink = 1 + step * rho_;
    const double kappa = step * lambda_ / shrink;
    const Matrix at = Z / shrink;
    const double gap = std::pow(accuracy * at.norm(), 2) / 2;
    return fuse(at, kappa, std::max(gap / std::max(largest_primal(at, kappa), 1e-300), 1e-15)).U;
  }

  // Half of ||Z - D nu||^2 exceeds its minimum by no more than the gap of the fusion, whose primal is at most both bounds below.
  double conjugate(const Matrix& Z) override {
    const double primal = largest_primal(Z, lambda_);
    const double accuracy =
        std::max(tolerance_ * std::max(value_, 1e-9) * rho_ / std::max(primal, 1e-300), 1e-14);
    VectorFusion fusion = fuse(Z, lambda_, accuracy);
    nu_ = std::move(fusion.nu);
    group_ = std::move(fusion.group);
    return (Z - spread_of_duals(nu_, Z.rows())).squaredNorm() / (2 * rho_);
  }

  // Of the last conjugate: its duals, and the tasks that they fuse.
  const Matrix& nu() const { return nu_; }
  const std::vector<Index>& group() const { return group_; }

 private:
  // Of a fusion: that of no step at all, and that of one row for all.
  static double largest_primal(const Matrix& Z, double lambda) {
    return std::min((Z.rowwise() - Z.colwise().mean()).squaredNorm() / 2,
                    lambda * sum_of_distances(Z));
  }

  VectorFusion fuse(const Matrix& Z, double lambda, double accuracy) {
    VectorFusion fusion = fuse_vectors(Z, lambda, accuracy, lambda * unit_, most_iterations);
    if (lambda > 0) unit_ = fusion.nu / lambda;
    return fusion;
  }

  static constexpr Index most_iterations = 10'000;

  double lambda_, rho_, tolerance_;
  double value_ = 0;
  Matrix unit_;  // nu / lambda of the last fusion
  Matrix nu_;
  std::vector<Index> group_;
};

void check(const MetagParameters& p) {
  const auto must = [](bool holds, const char* name, double value, const char* rule) {
    if (!holds || !std::isfinite(value))
      throw InputError(fmt::format("metag: {} is {}, but must be {}.", name, value, rule));
  };
  must(p.lambda >= 0, "lambda", p.lambda, ">= 0");
  must(p.ridge > 0, "ridge", p.ridge, "> 0");
  must(p.levels >= 1, "levels", static_cast<double>(p.levels), ">= 1");
  must(p.ratio > 0, "ratio", p.ratio, "> 0");
}

// Tasks for which `alike` holds, pair by pair.
template <typename Alike>
Groups groups_by(Index T, const Alike& alike) {
  const TaskGraph graph = complete_graph(T);
  std::vector<bool> joined;
  for (const Edge& edge : graph) joined.push_back(alike(edge.t, edge.s));
  return connected_parts(T, graph, joined);
}

Groups equal_rows(const Matrix& W) {
  return groups_by(W.rows(), [&](Index t, Index s) { return W.row(t) == W.row(s); });
}

// The proof at W, with the duals of its own.
LinearFit prove_at(const Matrix& W, const LinearFit& fit, const LinearProblem& problem,
                   MetagPenalty& penalty, LinearSettings settings) {
  LinearStart start;
  start.W = W;
  start.b = fit.b;
  settings.max_steps = 0;
  LinearFit proved = minimise(problem, penalty, settings, start);
  proved.nu = penalty.nu();
  proved.clusters = equal_rows(proved.W);
  proved.steps = fit.steps;
  if (proved.status != Status::converged) proved.status = fit.status;
  return proved;
}

}  // namespace

// H levels W = W_1 + .. + W_H with lambda_h = lambda / ratio^(h-1) have the penalty  min sum_h lambda_h N(W_h). N is a seminorm, so that
// is at least min_h lambda_h N(W), and everything on the cheapest level attains it: the levels are one level with the smallest lambda_h.
LinearFit fit_metag(const LinearProblem& problem, const MetagParameters& parameters,
                    const LinearSettings& settings, const LinearStart& start,
                    const ProgressCallback& progress) {
  check(parameters);
  const double last =
      parameters.lambda / std::pow(parameters.ratio, static_cast<double>(parameters.levels - 1));
  const double lambda = std::min(parameters.lambda, last);
  MetagPenalty penalty(lambda, parameters.ridge, 0.01 * settings.gap_tolerance, start.nu);
  LinearFit fit = minimise(problem, penalty, settings, start, progress);
  fit.nu = penalty.nu();
  fit.clusters = equal_rows(fit.W);

  // The proximal map leaves fused tasks equal bit for bit, but W may also be a mean of two such points, or where the search began. If the
  // duals fuse tasks that W does not, W with their means is taken if its own proof is good enough.
  const Index T = problem.T();
  const std::vector<Index> group = penalty.group();
  const Groups fused = groups_by(T, [&](Index t, Index s) { return group[t] == group[s]; });
  if (common_refinement(T, fused, fit.clusters) == fused) return fit;
  LinearFit merged = prove_at(mean_of_groups(fit.W, fused), fit, problem, penalty, settings);
  return merged.gap <= std::max(fit.gap, settings.gap_tolerance) ? merged : fit;
}

}  // namespace coterie
