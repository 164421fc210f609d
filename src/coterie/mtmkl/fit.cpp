#include "coterie/mtmkl/fit.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "coterie/kernel/single_threaded_blas.hpp"
#include "coterie/math/dense.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/mtmkl/newton.hpp"
#include "coterie/mtmkl/parts.hpp"

namespace coterie {

std::string to_string(Claim claim) {
  switch (claim) {
    case Claim::optimum:
      return "optimum";
    case Claim::given_clusters:
      return "given clusters";
    case Claim::stationary:
      return "stationary";
  }
  assert(false);
  return {};
}

std::optional<Claim> claim_from(const std::string& text) {
  for (const Claim claim : {Claim::optimum, Claim::given_clusters, Claim::stationary})
    if (text == to_string(claim)) return claim;
  return {};
}

std::string to_string(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::step_limit:
      return "step limit";
    case Status::stopped:
      return "stopped";
    case Status::stalled:
      return "stalled";
    case Status::precision:
      return "precision";
  }
  return "";
}

std::optional<Status> status_from(const std::string& text) {
  for (const Status status :
       {Status::converged, Status::step_limit, Status::stopped, Status::stalled, Status::precision})
    if (text == to_string(status)) return status;
  return {};
}

namespace {

// Of several parts the one that most needs a word.
int rank(Status status) {
  switch (status) {
    case Status::converged:
      return 0;
    case Status::step_limit:
      return 1;
    case Status::stalled:
      return 2;
    case Status::precision:
      return 3;
    case Status::stopped:
      break;
  }
  return 4;
}

// The part's share of a warm start; weights that are not given are equal.
WarmStart start_of(const MtmklProblem& problem, const Part& part, const Vector& kappa,
                   const WarmStart& start) {
  WarmStart own;
  own.theta.resize(part.units, problem.M());
  own.theta.rowwise() = problem.weights.uniform(problem.M()).transpose();
  for (std::size_t k = 0; k < part.tasks.size(); ++k) {
    const Index t = part.tasks[k];
    if (start.theta.rows() == problem.T()) own.theta.row(part.unit[k]) = start.theta.row(t);
    if (std::ssize(start.alpha) == problem.T())
      own.alpha.push_back(start.alpha[static_cast<std::size_t>(t)]);
  }
  if (start.nu.rows() == std::ssize(problem.graph) && !part.edges.empty()) {
    own.nu = start.nu(part.edges, Eigen::all);
    pull_inside(own.nu, kappa);  // those of a larger lambda are cut to their balls
  }
  return own;
}

NewtonResult solve_part(const MtmklProblem& problem, const Part& part, const FitSettings& settings,
                        const WarmStart& start, Workspace& workspace,
                        const ProgressCallback& progress, const Progress& report) {
  Vector kappa(std::ssize(part.graph));
  for (std::size_t i = 0; i < part.graph.size(); ++i)
    kappa[static_cast<Index>(i)] = problem.lambda * part.graph[i].weight;
  const WarmStart own = start_of(problem, part, kappa, start);
  TiedWeights coupling({part.unit, part.units, part.graph, std::move(kappa), {}, problem.weights});
  return minimise(problem, part.tasks, coupling, settings, own, workspace, progress, report);
}

Fit join(const MtmklProblem& problem, const std::vector<Part>& parts,
         std::vector<NewtonResult> results, double tolerance) {
  Fit fit;
  fit.theta.resize(problem.T(), problem.M());
  fit.alpha.resize(static_cast<std::size_t>(problem.T()));
  fit.bias.resize(problem.T());
  fit.task_objective.resize(problem.T());
  const bool paired = problem.lambda > 0 && std::isfinite(problem.lambda);
  fit.nu = Matrix::Zero(paired ? std::ssize(problem.graph) : 0, problem.M());
  long double primal = 0;
  long double dual = 0;
  double error = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Part& part = parts[k];
    NewtonResult& result = results[k];
    primal += result.proof.primal;
    dual += result.proof.dual;
    error += result.proof.error;
    fit.coarseness = std::max(fit.coarseness, result.coarseness);
    fit.outer_steps = std::max(fit.outer_steps, result.outer_steps);
    fit.svm_solves += result.svm_solves;
    fit.cycle = std::max(fit.cycle, result.cycle);
    fit.theta_iterations += result.theta_iterations;
    for (std::size_t i = 0; i < part.tasks.size(); ++i) {
      const Index t = part.tasks[i];
      fit.theta.row(t) = result.theta.row(part.unit[i]);
      fit.alpha[static_cast<std::size_t>(t)] = std::move(result.alpha[i]);
      fit.bias[t] = result.bias[static_cast<Index>(i)];
      fit.task_objective[t] = result.objective[static_cast<Index>(i)];
    }
    for (std::size_t i = 0; i < part.edges.size(); ++i)
      fit.nu.row(part.edges[i]) = result.nu.row(static_cast<Index>(i));
    if (rank(result.status) > rank(fit.status)) fit.status = result.status;
  }
  fit.groups = equal_rows(fit.theta);
  fit.primal = static_cast<double>(primal);
  fit.dual = static_cast<double>(dual);
  error += 4 * std::numeric_limits<double>::epsilon() * (fit.primal + std::abs(fit.dual));
  fit.gap = static_cast<double>((primal - dual) / primal);
  fit.bound = error / fit.primal;
  // A part may miss its own share of a tolerance that the whole meets.
  if (fit.status != Status::stopped && fit.gap + fit.bound <= tolerance && fit.gap >= -fit.bound)
    fit.status = Status::converged;
  return fit;
}

}  // namespace

Fit fit(const MtmklProblem& problem, const FitSettings& settings, const ProgressCallback& progress,
        const WarmStart& start, Workspace* workspace) {
  const SingleThreadedBlas guard;
  const std::vector<Part> parts = split_into_parts(problem);
  // Each part reaches a gap relative to its own objective, so that their sum does.
  FitSettings part_settings = settings;
  if (parts.size() > 1) part_settings.threads = 1;  // the parts run side by side instead
  Workspace own;
  Workspace& shared = workspace ? *workspace : own;
  shared.make_room(problem.T());
  std::mutex one_report_at_a_time;
  ProgressCallback serial;
  if (progress)
    serial = [&](const Progress& report) {
      const std::lock_guard lock(one_report_at_a_time);
      return progress(report);
    };
  std::vector<NewtonResult> results(parts.size());
  parallel_for(std::ssize(parts), settings.threads, [&](Index k) {
    const std::size_t i = static_cast<std::size_t>(k);
    Progress report;
    report.part = k;
    report.parts = std::ssize(parts);
    report.common = std::isinf(problem.lambda);
    results[i] = solve_part(problem, parts[i], part_settings, start, shared, serial, report);
  });
  return join(problem, parts, std::move(results), settings.gap_tolerance);
}

// Within a part, pair duals nu_ts = w_ts (x_t - x_s) with L x = r, L the weighted Laplacian, balance the residual gradients r of the
// tasks; none is longer than lambda w_ts when lambda is at least the largest ||x_t - x_s||. On the simplex a constant may
// be taken off every gradient: it only moves the multiplier of sum theta = 1. For the complete graph x_t = (r_t - mean r)/T.
double lambda_max(const MtmklProblem& problem, const Fit& common, const KeepGoing& keep_going) {
  const Index M = problem.M();
  Matrix r(problem.T(), M);
  for (Index t = 0; t < problem.T(); ++t) {
    r.row(t) = gradient(problem, t, common.alpha[static_cast<std::size_t>(t)], keep_going);
    if (problem.weights.p() == 1) r.row(t).array() -= r.row(t).mean();
  }
  std::vector<bool> joined;
  for (const Edge& edge : problem.graph) joined.push_back(edge.weight > 0);
  double largest = 0;
  for (const std::vector<Index>& part : connected_parts(problem.T(), problem.graph, joined)) {
    const Index size = std::ssize(part);
    if (size < 2) continue;
    std::vector<Index> place(static_cast<std::size_t>(problem.T()), -1);
    for (std::size_t k = 0; k < part.size(); ++k)
      place[static_cast<std::size_t>(part[k])] = static_cast<Index>(k);
    Eigen::MatrixXd L = Eigen::MatrixXd::Constant(
        size, size, 1.0 / static_cast<double>(size));  // makes L regular, leaves x alone
    Eigen::MatrixXd right(size, M);
    for (std::size_t k = 0; k < part.size(); ++k) right.row(static_cast<Index>(k)) = r.row(part[k]);
    right.rowwise() -= right.colwise().mean().eval();
    for (const Edge& edge : problem.graph) {
      const Index t = place[static_cast<std::size_t>(edge.t)];
      const Index s = place[static_cast<std::size_t>(edge.s)];
      if (t < 0 || s < 0) continue;
      L(t, t) += edge.weight;
      L(s, s) += edge.weight;
      L(t, s) -= edge.weight;
      L(s, t) -= edge.weight;
    }
    cholesky(L);
    const Eigen::MatrixXd x = cholesky_solve(L, std::move(right));
    for (const Edge& edge : problem.graph) {
      const Index t = place[static_cast<std::size_t>(edge.t)];
      const Index s = place[static_cast<std::size_t>(edge.s)];
      if (t >= 0 && s >= 0 && edge.weight > 0)
        largest = std::max(largest, (x.row(t) - x.row(s)).norm());
    }
  }
  return largest;
}

}  // namespace coterie
