#include "coterie/mtmkl/anchored_fit.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "coterie/kernel/single_threaded_blas.hpp"

namespace coterie {

namespace {

// Every new task begins at the mean of the anchors that draw it.
Matrix drawn_weights(const AnchoredTasks& problem, Index M) {
  const Index A = problem.anchors.rows();
  Matrix theta(std::ssize(problem.grams), M);
  for (Index u = 0; u < theta.rows(); ++u) {
    Vector mean = Vector::Zero(M);
    double weights = 0;
    for (const Edge& edge : problem.graph) {
      if (edge.s != A + u || edge.t >= A) continue;
      mean += edge.weight * problem.anchors.row(edge.t).transpose();
      weights += edge.weight;
    }
    theta.row(u) =
        weights > 0 && problem.lambda > 0 ? Vector(mean / weights) : problem.weights.uniform(M);
  }
  put_inside(theta, problem.weights);
  return theta;
}

// lambda = inf: the weights of the one anchor that each can be reached from.
Matrix only_weights(const AnchoredTasks& problem, Index M) {
  const Index A = problem.anchors.rows();
  Matrix theta(std::ssize(problem.grams), M);
  const std::vector<bool> joined(problem.graph.size(), true);
  for (const std::vector<Index>& part : connected_parts(A + theta.rows(), problem.graph, joined))
    for (const Index point : part)
      if (point >= A) theta.row(point - A) = problem.anchors.row(part.front());
  return theta;
}

}  // namespace

NewtonResult fit_to_anchors(const AnchoredTasks& problem, const FitSettings& settings,
                            const ProgressCallback& progress) {
  const SingleThreadedBlas guard;
  const Index U = std::ssize(problem.grams);
  const Index M = problem.grams.front().M();
  const bool common = std::isinf(problem.lambda);
  Tied tied{{}, U, {}, {}, problem.anchors, problem.weights, common};
  tied.unit.resize(static_cast<std::size_t>(U));
  std::iota(tied.unit.begin(), tied.unit.end(), Index{0});
  if (problem.lambda > 0 && !common) tied.graph = problem.graph;
  tied.kappa.resize(std::ssize(tied.graph));
  for (std::size_t i = 0; i < tied.graph.size(); ++i)
    tied.kappa[static_cast<Index>(i)] = problem.lambda * tied.graph[i].weight;
  const std::vector<Index> tasks = tied.unit;
  TiedWeights coupling(std::move(tied));
  WarmStart start;
  start.theta = common ? only_weights(problem, M) : drawn_weights(problem, M);
  Workspace workspace;
  workspace.make_room(U);
  Progress report;
  report.common = common;
  const TaskGraph none;
  const MtmklProblem svms{problem.grams,  problem.y, problem.C,
                          problem.lambda, none,      problem.weights};
  return minimise(svms, tasks, coupling, settings, start, workspace, progress, report);
}

}  // namespace coterie
