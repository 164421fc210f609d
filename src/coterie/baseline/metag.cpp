#include "coterie/baseline/metag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "coterie/baseline/linear_proof.hpp"
#include "coterie/math/fusion.hpp"

namespace coterie {

namespace {

// The penalty, docs/methods.md (16), with N(W) = sum_{s<t} ||w_s - w_t|| and D nu as in math/fusion.hpp:
//
//   R(W)  = lambda N(W) + rho/2 ||W||^2
//   R*(Z) = min { ||Z - D nu||^2 / (2 rho) :  ||nu_st|| <= lambda }
//
// Its proximal map is that of the fusion, scaled; its conjugate too is the dual of a fusion, and any feasible nu bounds it from above.
// At the optimum both have the same nu in units of lambda, so each call begins with the duals of the one before.
class MetagPenalty : public Penalty {
 public:
  MetagPenalty(double lambda, double rho, const Matrix& nu) : lambda_(lambda), rho_(rho) {
    if (lambda > 0) unit_ = nu / lambda;
  }

  double value(const Matrix& W) override {
    return lambda_ * sum_of_distances(W) + rho_ / 2 * W.squaredNorm();
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
  double conjugate(const Matrix& Z, double slack) override {
    const double primal = largest_primal(Z, lambda_);
    const double accuracy = std::max(slack * rho_ / std::max(primal, 1e-300), 1e-14);
    VectorFusion fusion = fuse(Z, lambda_, accuracy);
    nu_ = std::move(fusion.nu);
    group_ = std::move(fusion.group);
    return (Z - spread_of_duals(nu_, Z.rows())).squaredNorm() / (2 * rho_);
  }

  // With the duals of the last conjugate, put surely into their balls. Their sums are taken in long double: pair duals may be far larger
  // than what is left of them.
  PenaltyProof prove(const Matrix& W, const Matrix& Z) override {
    constexpr double u = unit_roundoff;
    const Index T = Z.rows(), d = Z.cols();
    pull_inside(nu_, Vector::Constant(nu_.rows(), lambda_));
    using Rows = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Rows left = Z.cast<long double>();
    Matrix size = Z.cwiseAbs();  // of the terms of each sum
    Index pair = 0;
    for (Index s = 0; s < T; ++s)
      for (Index t = s + 1; t < T; ++t, ++pair) {
        const auto nu = nu_.row(pair);
        left.row(s) -= nu.cast<long double>();
        left.row(t) += nu.cast<long double>();
        size.row(s) += nu.cwiseAbs();
        size.row(t) += nu.cwiseAbs();
      }
    const double half_epsilon =
        static_cast<double>(std::numeric_limits<long double>::epsilon()) / 2;
    const double off = static_cast<double>(T + 4) * half_epsilon * size.norm();
    PenaltyProof proof;
    proof.value.value = value(W);
    proof.value.error = static_cast<double>(T * T + (T + 1) * d + 8) * u * proof.value.value;
    proof.conjugate.value = static_cast<double>(left.squaredNorm() / (2 * rho_));
    proof.conjugate.error = change_of_square(proof.conjugate.value, off / std::sqrt(2 * rho_)) +
                            8 * u * proof.conjugate.value;
    proof.reach = 1 / (2 * rho_);
    proof.W_reach = rho_ / 2;
    proof.W_slope = lambda_ * static_cast<double>(T - 1) * std::sqrt(static_cast<double>(T));
    return proof;
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

  double lambda_, rho_;
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
  const double last = p.lambda / std::pow(p.ratio, static_cast<double>(p.levels - 1));
  must(p.lambda == 0 || last >= 1e-40, "lambda / ratio^(levels - 1)", last, ">= 1e-40");
}

// Tasks for which `alike` holds, pair by pair.
template <typename Alike>
Groups groups_by(Index T, const Alike& alike) {
  const TaskGraph graph = complete_graph(T);
  std::vector<bool> joined;
  for (const Edge& edge : graph) joined.push_back(alike(edge.t, edge.s));
  return connected_parts(T, graph, joined);
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
  MetagPenalty penalty(lambda, parameters.ridge, start.nu);
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
  const bool as_good = merged.gap + merged.bound <= fit.gap + fit.bound;
  const bool good_enough = merged.gap + merged.bound <= settings.gap_tolerance;
  return as_good || good_enough ? merged : fit;
}

}  // namespace coterie
