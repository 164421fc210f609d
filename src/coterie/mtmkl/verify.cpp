#include "coterie/mtmkl/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coterie/mtmkl/verify_sums.hpp"

namespace coterie {

namespace {

// min over D of c'theta, docs/maths.md (5).
double smallest_over_weights(const std::vector<double>& c, double p) {
  if (p == 1) return *std::min_element(c.begin(), c.end());
  std::vector<double> negative;
  for (const double v : c) negative.push_back(std::max(0.0, -v));
  return -p_norm(negative, std::isinf(p) ? 1 : p / (p - 1));
}

}  // namespace

Verification verify(const Model& extended, const Dataset& data,
                    const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const std::function<void()> one_done = counting(data, progress);
  const Model model = base_of(extended);
  check_fit_to_model(model, 0, std::ssize(model.tasks), data, precomputed);
  Verification check;
  const std::size_t T = model.tasks.size();
  const std::size_t M = model.kernels.size();
  const double lambda = model.certificate.lambda;
  const double p = model.settings.norm;
  const auto infeasible = [&](double amount, double allowed, const std::string& what) {
    note_infeasible(check, amount, allowed, what);
  };
  const Matrix X = scaled(model, data.X);
  check_scaling(model, data, check.findings);
  check_divisors(model, data, X, precomputed, check.findings);
  const LambdaChoice wanted = parse_lambda(model.settings.lambda);
  if (!wanted.relative && wanted.value != lambda)
    check.findings.push_back(fmt::format("lambda is {:.10g}, not {} as the settings say", lambda,
                                         model.settings.lambda));

  std::vector<std::vector<double>> S;  // [task]
  for (std::size_t t = 0; t < T; ++t) {
    const TaskValues values =
        recompute_task(model, model.tasks[t], data.tasks[t], X, 0, precomputed, check, one_done);
    check.primal += values.primal;
    check.dual += values.alpha_sum;
    S.push_back(values.S);
  }

  // Edges: every pair, or those of the task graph.
  TaskGraph graph = model.certificate.graph;
  if (model.certificate.complete) {
    graph.clear();
    for (std::size_t t = 0; t < T; ++t)
      for (std::size_t s = t + 1; s < T; ++s)
        graph.push_back({static_cast<Index>(t), static_cast<Index>(s), 1});
  }
  std::vector<std::vector<double>> c(
      T, std::vector<double>(M, 0));  // -1/2 S + the pull of the pair duals
  for (std::size_t t = 0; t < T; ++t)
    for (std::size_t m = 0; m < M; ++m) c[t][m] = -S[t][m] / 2;
  const bool paired = lambda > 0 && std::isfinite(lambda);
  if (paired && model.certificate.nu.rows() != std::ssize(graph))
    throw InputError("The model does not hold one pair dual for every pair of tasks.");
  std::vector<std::size_t> part(T);  // connected parts of the graph, for lambda = inf
  for (std::size_t t = 0; t < T; ++t) part[t] = t;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Edge& edge = graph[i];
    const std::size_t t = static_cast<std::size_t>(edge.t);
    const std::size_t s = static_cast<std::size_t>(edge.s);
    double distance = 0;
    double length = 0;
    for (std::size_t m = 0; m < M; ++m) {
      const Index k = static_cast<Index>(m);
      distance += std::pow(model.tasks[t].theta[k] - model.tasks[s].theta[k], 2);
      if (!paired) continue;
      const double nu = model.certificate.nu(static_cast<Index>(i), k);
      length += nu * nu;
      c[t][m] += nu;
      c[s][m] -= nu;
    }
    if (paired) {
      check.primal += lambda * edge.weight * std::sqrt(distance);
      infeasible(std::max(0.0, std::sqrt(length) / lambda - edge.weight), 1e-9,
                 fmt::format("the pair dual of tasks '{}' and '{}' leaves its ball",
                             model.tasks[t].name, model.tasks[s].name));
    } else if (std::isinf(lambda) && edge.weight > 0) {
      infeasible(std::sqrt(distance), 0,
                 fmt::format("tasks '{}' and '{}' differ though lambda is infinite",
                             model.tasks[t].name, model.tasks[s].name));
      const std::size_t from = part[s];
      for (std::size_t& number : part)
        if (number == from) number = part[t];
    }
  }
  for (std::size_t t = 0; t < T;
       ++t) {  // min over D: per task, or per connected part when all its tasks share theta
    if (part[t] != t) continue;
    std::vector<double> sum(M, 0);
    for (std::size_t s = 0; s < T; ++s)
      for (std::size_t m = 0; m < M; ++m)
        if (part[s] == t) sum[m] += c[s][m];
    check.dual += smallest_over_weights(sum, p);
  }

  compare(model.certificate, model.settings.tolerance, check);
  check_groups(model, check);
  return check;
}

Verification verify_extension(const Model& model, std::size_t number, const Dataset& data,
                              const VerifyProgress& progress) {
  const std::function<void()> one_done = counting(data, progress);
  const Extension& added = model.extensions.at(number);
  const Certificate& proof = added.certificate;
  const Index old = added.base_tasks;
  check_fit_to_model(model, old, added.tasks, data, {});
  if (data.X.rows() != added.rows)
    throw InputError(
        fmt::format("The data has {} rows, that of the extension {}.", data.X.rows(), added.rows));
  Index first_row = model.training_rows;
  for (std::size_t k = number; k < model.extensions.size(); ++k)
    first_row -= model.extensions[k].rows;
  Verification check;
  const std::size_t M = model.kernels.size();
  const Matrix X = scaled(model, data.X);
  std::vector<std::vector<double>> c;  // [new task] -1/2 S + the pull of the pair duals
  for (std::size_t u = 0; u < data.tasks.size(); ++u) {
    const TaskValues values = recompute_task(model, model.tasks[static_cast<std::size_t>(old) + u],
                                             data.tasks[u], X, first_row, {}, check, one_done);
    check.primal += values.primal;
    check.dual += values.alpha_sum;
    c.emplace_back();
    for (const double S : values.S) c.back().push_back(-S / 2);
  }

  // Old weights are given numbers: an edge to one adds nu'a to the dual value, and pulls the new task alone.
  const TaskGraph edges = edges_of(added);
  const bool paired = proof.lambda > 0 && std::isfinite(proof.lambda);
  if (paired && proof.nu.rows() != std::ssize(edges))
    throw InputError("The model does not hold one pair dual for every pair of tasks.");
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Edge& edge = edges[i];
    const TaskModel& t = model.tasks[static_cast<std::size_t>(edge.t)];
    const TaskModel& s = model.tasks[static_cast<std::size_t>(edge.s)];
    double distance = 0;
    double length = 0;
    for (std::size_t m = 0; m < M; ++m) {
      const Index k = static_cast<Index>(m);
      distance += std::pow(t.theta[k] - s.theta[k], 2);
      if (!paired) continue;
      const double nu = proof.nu(static_cast<Index>(i), k);
      length += nu * nu;
      if (edge.t < old)
        check.dual += nu * t.theta[k];
      else
        c[static_cast<std::size_t>(edge.t - old)][m] += nu;
      c[static_cast<std::size_t>(edge.s - old)][m] -= nu;
    }
    if (paired) {
      check.primal += proof.lambda * edge.weight * std::sqrt(distance);
      note_infeasible(
          check, std::max(0.0, std::sqrt(length) / proof.lambda - edge.weight),
          1e-9 * std::max(1.0, edge.weight),
          fmt::format("the pair dual of tasks '{}' and '{}' leaves its ball", t.name, s.name));
    } else if (std::isinf(proof.lambda)) {
      note_infeasible(
          check, std::sqrt(distance), 0,
          fmt::format("tasks '{}' and '{}' differ though lambda is infinite", t.name, s.name));
    }
  }
  for (std::size_t u = 0; u < c.size(); ++u) {
    if (!std::isinf(proof.lambda)) {
      check.dual += smallest_over_weights(c[u], model.settings.norm);
      continue;
    }
    const Vector& theta = model.tasks[static_cast<std::size_t>(old) + u].theta;  // the one choice
    for (std::size_t m = 0; m < M; ++m) check.dual += c[u][m] * theta[static_cast<Index>(m)];
  }
  compare(proof, added.tolerance, check);
  check_groups(model, check);
  return check;
}

}  // namespace coterie
