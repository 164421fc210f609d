#include "coterie/model/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "coterie/model/verify_sums.hpp"

namespace coterie {

namespace {

// Sums over the edges of a problem, with bounds of their errors: the penalty, and the pull of the pair duals on every task, (5), (54).
class Edges {
 public:
  // The weights of tasks before number `given` are part of the problem.
  Edges(const Model& model, const Certificate& proof, const TaskGraph& graph, Index given,
        Verification& check)
      : model_(model),
        proof_(proof),
        check_(check),
        M_(model.kernels.size()),
        given_(given),
        paired_(proof.lambda > 0 && std::isfinite(proof.lambda)) {
    if (paired_ && proof.nu.rows() != std::ssize(graph))
      throw InputError("The model does not hold one pair dual for every pair of tasks.");
    const double p = model.settings.norm;
    const double M = static_cast<double>(M_);
    reach_ = std::isinf(p) ? std::sqrt(M) : p <= 2 ? 1 : std::pow(M, 0.5 - 1 / p);
  }

  bool paired() const { return paired_; }
  long double penalty = 0;
  double error =
      0;  // of the penalty, and of dual values that use pair duals slightly outside their balls

  // Of edge number i. Returns its pair dual; nothing where there is none.
  std::vector<long double> look_at(const Edge& edge, Index i) {
    const TaskModel& t = model_.tasks[static_cast<std::size_t>(edge.t)];
    const TaskModel& s = model_.tasks[static_cast<std::size_t>(edge.s)];
    long double distance = 0;
    for (Index m = 0; m < t.theta().size(); ++m) {
      const long double d = static_cast<long double>(t.theta()[m]) - s.theta()[m];
      distance += d * d;
    }
    if (std::isinf(proof_.lambda) && edge.weight > 0)
      note_infeasible(
          check_, static_cast<double>(std::sqrt(distance)), 0,
          fmt::format("tasks '{}' and '{}' differ though lambda is infinite", t.name, s.name));
    if (!paired_) return {};
    const long double radius = static_cast<long double>(proof_.lambda) * edge.weight;
    const long double cost = radius * std::sqrt(distance);
    penalty += cost;
    error += 2 * long_roundoff * static_cast<double>(M_ + 8) * static_cast<double>(cost + penalty);
    // Weights that leave D by rounding are scaled back by one factor; given ones stay where they are.
    for (const TaskModel* end : {&t, &s})
      outside_ =
          std::max(outside_, within_margin(excess_of_weights(*end, model_.settings.norm), 1));
    if (edge.t < given_) pulled_ += static_cast<double>(radius);
    std::vector<long double> nu;
    long double squared = 0;
    for (std::size_t m = 0; m < M_; ++m) {
      nu.push_back(proof_.nu(i, static_cast<Index>(m)));
      squared += nu.back() * nu.back();
    }
    const double excess = static_cast<double>(std::max(0.0L, std::sqrt(squared) - radius));
    if (excess > 0)
      note_infeasible(
          check_, excess / static_cast<double>(radius), kMargin,
          fmt::format("the pair dual of tasks '{}' and '{}' leaves its ball", t.name, s.name));
    error += 2 * reach_ * within_margin(excess, static_cast<double>(radius));
    return nu;
  }

  // What it may cost to scale the weights back into D, where `primal` is the value of the SVMs.
  double repair(long double primal) const {
    return outside_ * (4 * static_cast<double>(primal + penalty) + 2 * reach_ * pulled_);
  }

 private:
  const Model& model_;
  const Certificate& proof_;
  Verification& check_;
  std::size_t M_;
  Index given_;
  bool paired_;
  double reach_ = 1;    // the largest |x|_2 for x in D
  double outside_ = 0;  // how far weights leave D at most
  double pulled_ = 0;   // sum of the radii of edges to given weights
};

// What a task's values are worth: its objective is compared, its share of the sums is added.
struct Sums {
  long double primal = 0, dual = 0;
  double error = 0;
  std::vector<std::vector<long double>> c;  // [task] -1/2 S + the pull of the pair duals
  std::vector<std::vector<double>> c_error;
  StatedObjectives objectives;

  void add(const TaskValues& values, const TaskModel& task, const Certificate& stated,
           Verification& check) {
    primal += values.primal;
    dual += values.alpha_sum;
    error += values.primal_error + values.alpha_error;
    c.emplace_back();
    c_error.emplace_back();
    for (std::size_t m = 0; m < values.S.size(); ++m) {
      c.back().push_back(-values.S[m] / 2);
      c_error.back().push_back(values.S_error[m] / 2);
    }
    objectives.add(task, values.primal, values.primal_error, stated, check);
  }

  void pull(std::size_t t, const std::vector<long double>& nu, int sign) {
    for (std::size_t m = 0; m < nu.size(); ++m) {
      c[t][m] += sign * nu[m];
      c_error[t][m] += 2 * long_roundoff * static_cast<double>(std::abs(nu[m]) + std::abs(c[t][m]));
    }
  }
};

// At lambda = inf a new task has the weights of the older tasks that it can be reached from, and there must be one.
void check_links_of_all(const Model& model, const TaskGraph& graph, const Extension& added,
                        Verification& check) {
  std::vector<bool> reached(static_cast<std::size_t>(added.base_tasks + added.tasks), false);
  for (Index t = 0; t < added.base_tasks; ++t) reached[static_cast<std::size_t>(t)] = true;
  for (bool more = true; more;) {
    more = false;
    for (const Edge& edge : graph) {
      const std::size_t t = static_cast<std::size_t>(edge.t);
      const std::size_t s = static_cast<std::size_t>(edge.s);
      if (!(edge.weight > 0) || reached[t] == reached[s]) continue;
      reached[t] = reached[s] = more = true;
    }
  }
  for (std::size_t t = 0; t < reached.size(); ++t)
    if (!reached[t])
      check.findings.push_back(fmt::format(
          "lambda is infinite, but no link leads from task '{}' to a task of the older model",
          model.tasks[t].name));
}

// Every pair, or those of the task graph.
TaskGraph stated_graph(const Certificate& stated, std::size_t T) {
  if (!stated.complete) return stated.graph;
  TaskGraph graph;
  for (std::size_t t = 0; t < T; ++t)
    for (std::size_t s = t + 1; s < T; ++s)
      graph.push_back({static_cast<Index>(t), static_cast<Index>(s), 1});
  return graph;
}

// The connected parts of the graph whose tasks share theta, each named by one of its tasks: of lambda = inf. Else every task is a part.
std::vector<std::size_t> shared_parts(const TaskGraph& graph, double lambda, std::size_t T) {
  std::vector<std::size_t> part(T);
  for (std::size_t t = 0; t < T; ++t) part[t] = t;
  if (!std::isinf(lambda)) return part;
  for (const Edge& edge : graph) {
    const auto t = static_cast<std::size_t>(edge.t), s = static_cast<std::size_t>(edge.s);
    if (!(edge.weight > 0) || part[s] == part[t]) continue;
    const std::size_t from = part[s];
    for (std::size_t& other : part)
      if (other == from) other = part[t];
  }
  return part;
}

// The minimum over D of what the tasks of a part pull, for every part.
void add_least_of_parts(const std::vector<std::size_t>& part, std::size_t M, double norm,
                        Sums& sums) {
  const std::size_t T = part.size();
  for (std::size_t t = 0; t < T; ++t) {
    if (part[t] != t) continue;
    std::vector<long double> sum(M, 0);
    std::vector<double> error(M, 0);
    for (std::size_t s = 0; s < T; ++s) {
      if (part[s] != t) continue;
      for (std::size_t m = 0; m < M; ++m) {
        sum[m] += sums.c[s][m];
        error[m] += sums.c_error[s][m];
      }
    }
    const Least least = smallest_over_weights(sum, error, norm);
    sums.dual += least.value;
    sums.error += least.error;
  }
}

// What an extension takes from the model unchecked, and what its certificate must not claim.
void check_claims(const Model& model, const Extension& added, Verification& check) {
  const Certificate& proof = added.certificate;
  check.taken.emplace_back(
      "the weights of older tasks, the scaling and the divisors, of which the extension's problem "
      "is made");
  check.taken.push_back(fmt::format("lambda = {:.10g} and the C of the new tasks", proof.lambda));
  check.taken.push_back(fmt::format("the tolerance {} of the extension, and its {} outer steps",
                                    added.tolerance, proof.outer_steps));
  check_kernels(model, nullptr, check);
  check_support(model, check);
  const auto first = model.tasks.begin() + added.base_tasks;
  list_taken(model, {first, first + added.tasks}, check);
  if (proof.claim != Claim::optimum)
    check.findings.push_back(fmt::format(
        "the certificate claims '{}', which an extension cannot give", to_string(proof.claim)));
  if (proof.lambda_max != 0)
    check.findings.emplace_back("the certificate states a lambda_max, which an extension has not");
  if (!proof.complete)
    check.taken.push_back(fmt::format("the links, {} of them", proof.graph.size()));
}

}  // namespace

Verification verify_main(const Model& extended, const Dataset& data,
                         const PrecomputedMatrices& precomputed, const VerifyProgress& progress,
                         const Dataset* prepared_from, const SampleParts* parts) {
  const std::function<void()> one_done = counting(data, progress);
  const Model model = base_of(extended);
  check_fit_to_model(model, 0, std::ssize(model.tasks), data, precomputed);
  Verification check;
  const Certificate& stated = model.certificate();
  const std::size_t T = model.tasks.size();
  const std::size_t M = model.kernels.size();
  const Matrix X = scaled(model, data.X);
  const ExactKernels exact(X, model.kernels, precomputed);
  check_settings(model, data, check);
  check_scaling(model, data, check.findings);
  check_divisors(model, prepared_from ? *prepared_from : data, exact, check.findings);

  Sums sums;
  for (std::size_t t = 0; t < T; ++t)
    sums.add(recompute_task(model, model.tasks[t], data.tasks[t],
                            {X, exact, precomputed, data.weight, parts}, 0, check, one_done),
             model.tasks[t], stated, check);

  const TaskGraph graph = stated_graph(stated, T);
  Edges edges(model, stated, graph, 0, check);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const std::vector<long double> nu = edges.look_at(graph[i], static_cast<Index>(i));
    sums.pull(static_cast<std::size_t>(graph[i].t), nu, 1);
    sums.pull(static_cast<std::size_t>(graph[i].s), nu, -1);
  }
  add_least_of_parts(shared_parts(graph, stated.lambda, T), M, model.settings.norm, sums);
  sums.objectives.finish(stated, check);
  compare(stated, model.settings.tolerance, sums.primal + edges.penalty, sums.dual,
          sums.error + edges.error + edges.repair(sums.primal), check);
  check_groups(model, graph, stated.lambda, check);
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
  const Matrix X = scaled(model, data.X);
  const ExactKernels exact(X, model.kernels, {});
  check_claims(model, added, check);
  Sums sums;
  for (std::size_t u = 0; u < data.tasks.size(); ++u) {
    const TaskModel& task = model.tasks[static_cast<std::size_t>(old) + u];
    sums.add(recompute_task(model, task, data.tasks[u], {X, exact, {}, data.weight}, first_row,
                            check, one_done),
             task, proof, check);
  }

  // Old weights are given numbers: an edge to one adds nu'a to the dual value, and pulls the new task alone.
  const TaskGraph graph = edges_of(added);
  Edges edges(model, proof, graph, old, check);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Edge& edge = graph[i];
    const std::vector<long double> nu = edges.look_at(edge, static_cast<Index>(i));
    if (edge.t >= old) sums.pull(static_cast<std::size_t>(edge.t - old), nu, 1);
    sums.pull(static_cast<std::size_t>(edge.s - old), nu, -1);
    if (edge.t >= old) continue;
    for (std::size_t m = 0; m < nu.size(); ++m) {
      const long double along =
          nu[m] * model.tasks[static_cast<std::size_t>(edge.t)].theta()[static_cast<Index>(m)];
      sums.dual += along;
      sums.error += 2 * long_roundoff * static_cast<double>(std::abs(along) + std::abs(sums.dual));
    }
  }
  if (std::isinf(proof.lambda)) check_links_of_all(model, graph, added, check);
  for (std::size_t u = 0; u < sums.c.size(); ++u) {
    if (!std::isinf(proof.lambda)) {
      const Least least = smallest_over_weights(sums.c[u], sums.c_error[u], model.settings.norm);
      sums.dual += least.value;
      sums.error += least.error;
      continue;
    }
    const Vector& theta = model.tasks[static_cast<std::size_t>(old) + u].theta();  // the one choice
    for (std::size_t m = 0; m < sums.c[u].size(); ++m) {
      sums.dual += sums.c[u][m] * theta[static_cast<Index>(m)];
      sums.error += sums.c_error[u][m] * theta[static_cast<Index>(m)];
    }
  }
  sums.objectives.finish(proof, check);
  compare(proof, added.tolerance, sums.primal + edges.penalty, sums.dual,
          sums.error + edges.error + edges.repair(sums.primal), check);
  check_groups(model, graph, proof.lambda, check);
  return check;
}

}  // namespace coterie
