#include "coterie/model/extend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "coterie/data/fingerprint.hpp"
#include "coterie/data/names.hpp"
#include "coterie/model/train.hpp"
#include "coterie/mtmkl/anchored_fit.hpp"
#include "coterie/mtmkl/proof.hpp"
#include "coterie/mtmkl/range.hpp"

namespace coterie {

namespace {

void check_settings(const ExtendSettings& settings) {
  if (settings.C && !(*settings.C > 0 && std::isfinite(*settings.C)))
    throw InputError(fmt::format("`C` is '{}'; it must be a number > 0.", *settings.C));
  if (settings.lambda && !(*settings.lambda >= 0))
    throw InputError(
        fmt::format("`lambda` is '{}'; it must be a number >= 0, or inf.", *settings.lambda));
  if (!(settings.tolerance > 0 && std::isfinite(settings.tolerance)))
    throw InputError(
        fmt::format("`tolerance` is '{}'; it must be a number > 0.", settings.tolerance));
}

void check_labels(const Model& model, const Task& task) {
  const TaskModel& first = model.tasks.front();
  for (const TaskModel& other : model.tasks)
    if (other.negative != first.negative || other.positive != first.positive) return;
  if (task.negative == first.negative && task.positive == first.positive) return;
  throw InputError(
      fmt::format("task '{}' has the labels {} and {}, but all tasks of the model have {} and {}. "
                  "Rename the labels.",
                  task.name, task.negative, task.positive, first.negative, first.positive));
}

// The different weights among the old tasks that an edge leads to, and the edges between them and the new tasks: of several to the
// same weights the sum.
struct Anchors {
  std::vector<Index> task;     // [anchor] the first old task with its weights
  Matrix theta;                // A x M
  TaskGraph graph;             // points as in AnchoredTasks
  std::vector<Index> edge_of;  // [edge of the tasks] its place in `graph`
};

Anchors merge_anchors(const Model& model, const TaskGraph& edges) {
  const Index old = std::ssize(model.tasks);
  std::vector<Index> anchor_of(model.tasks.size(), -1);
  Anchors anchors;
  for (const Edge& edge : edges)
    if (edge.t < old) anchor_of[static_cast<std::size_t>(edge.t)] = 0;
  for (std::size_t t = 0; t < anchor_of.size(); ++t) {
    if (anchor_of[t] < 0) continue;
    const auto same = std::ranges::find_if(anchors.task, [&](Index other) {
      return model.tasks[static_cast<std::size_t>(other)].theta() == model.tasks[t].theta();
    });
    anchor_of[t] = same - anchors.task.begin();
    if (same == anchors.task.end()) anchors.task.push_back(static_cast<Index>(t));
  }
  const Index A = std::ssize(anchors.task);
  anchors.theta.resize(A, std::ssize(model.kernels));
  for (Index a = 0; a < A; ++a)
    anchors.theta.row(a) =
        model.tasks[static_cast<std::size_t>(anchors.task[static_cast<std::size_t>(a)])].theta();
  std::map<std::pair<Index, Index>, Index> place;
  for (const Edge& edge : edges) {
    const Index t = edge.t < old ? anchor_of[static_cast<std::size_t>(edge.t)] : edge.t - old + A;
    const Index s = edge.s - old + A;
    const auto [found, is_new] = place.emplace(std::pair(t, s), std::ssize(anchors.graph));
    if (is_new) anchors.graph.push_back({t, s, 0});
    anchors.graph[static_cast<std::size_t>(found->second)].weight += edge.weight;
    anchors.edge_of.push_back(found->second);
  }
  return anchors;
}

// lambda = inf leaves a new task one choice, or none.
void check_common(const Model& model, const Dataset& data, const Anchors& anchors) {
  const Index A = std::ssize(anchors.task);
  const std::vector<bool> joined(anchors.graph.size(), true);
  const auto name_of = [&](Index a) {
    return model.tasks[static_cast<std::size_t>(anchors.task[static_cast<std::size_t>(a)])].name;
  };
  for (const std::vector<Index>& part :
       connected_parts(A + std::ssize(data.tasks), anchors.graph, joined)) {
    if (part.back() < A) continue;
    const std::string& name = data.tasks[static_cast<std::size_t>(part.back() - A)].name;
    if (part.front() >= A)
      throw InputError(fmt::format(
          "lambda is inf, but no link leads from task '{}' to a task of the model, whose kernel it "
          "could share. Link it, or give a `lambda` that is a number.",
          name));
    if (part.size() > 1 && part[1] < A)
      throw InputError(fmt::format(
          "lambda is inf, so that task '{}' must have the kernel of tasks '{}' and '{}', but these "
          "have different ones. Give a `lambda` that is a number.",
          name, name_of(part[0]), name_of(part[1])));
  }
}

// Gram matrices of the new tasks under the model's divisors.
std::vector<TaskGrams> grams_of(const Model& model, const Dataset& scaled, double largest_C,
                                int threads) {
  std::vector<TaskGrams> tasks = compute_grams(scaled, model.kernels, Normalisation{}, {}, threads,
                                               Storage::on_demand, largest_C)
                                     .tasks;
  std::vector<KernelTerm> terms;
  for (Index m = 0; m < model.divisors.size(); ++m) {
    terms.push_back(tasks.front().powers().term(m));
    terms.back().divisor = model.divisors[m];
  }
  const auto powers = std::make_shared<const KernelPowers>(std::move(terms));
  for (TaskGrams& task : tasks) task = TaskGrams(task, powers);
  return tasks;
}

// Rows of `scaled` that support a new task go behind the model's support vectors.
void add_tasks(Model& model, const Dataset& scaled, const NewtonResult& fit, double C) {
  std::vector<Index> place(static_cast<std::size_t>(scaled.X.rows()), -1);
  for (std::size_t u = 0; u < scaled.tasks.size(); ++u)
    for (Index i = 0; i < scaled.tasks[u].size(); ++i)
      if (fit.alpha[u][i] > 0)
        place[static_cast<std::size_t>(scaled.tasks[u].rows[static_cast<std::size_t>(i)])] = 0;
  std::vector<Index> rows;
  const Index before = model.support_vectors.rows();
  for (std::size_t row = 0; row < place.size(); ++row) {
    if (place[row] < 0) continue;
    place[row] = before + std::ssize(rows);
    rows.push_back(static_cast<Index>(row));
    model.training_row.push_back(model.training_rows + static_cast<Index>(row));
  }
  model.support_vectors.conservativeResize(before + std::ssize(rows), scaled.X.cols());
  model.support_vectors.bottomRows(std::ssize(rows)) = scaled.X(rows, Eigen::all);
  model.training_rows += scaled.X.rows();

  for (std::size_t u = 0; u < scaled.tasks.size(); ++u) {
    const Task& task = scaled.tasks[u];
    TaskModel out;
    static_cast<TaskId&>(out) = task;
    out.n = task.size();
    out.C = C;
    out.bias = fit.bias[static_cast<Index>(u)];
    out.objective = fit.objective[static_cast<Index>(u)];
    out.function = expansion_of(fit.theta.row(static_cast<Index>(u)), fit.alpha[u], task, place);
    model.tasks.push_back(std::move(out));
  }
}

// A new task belongs to the group of the first task whose weights it has.
void join_groups(Model& model, Index old) {
  for (Index own = old; own < std::ssize(model.tasks); ++own) {
    const Vector& theta = model.tasks[static_cast<std::size_t>(own)].theta();
    const auto same = std::ranges::find_if(model.groups(), [&](const std::vector<Index>& group) {
      return model.tasks[static_cast<std::size_t>(group.front())].theta() == theta;
    });
    if (same != model.groups().end())
      same->push_back(own);
    else
      model.groups().push_back({own});
  }
}

// What is added and to what, before it is fitted.
Extension describe_extension(const Model& model, const Dataset& data,
                             const ExtendSettings& settings) {
  Extension added;
  added.base_tasks = std::ssize(model.tasks);
  added.tasks = std::ssize(data.tasks);
  added.rows = data.X.rows();
  added.tolerance = settings.tolerance;
  added.fingerprint = fingerprint(data);
  added.certificate.lambda = settings.lambda.value_or(model.certificate().lambda);
  added.certificate.complete = !settings.links;
  if (settings.links) added.certificate.graph = *settings.links;
  return added;
}

FitSettings fit_settings_of(const ExtendSettings& settings, int threads, double memory) {
  FitSettings out;
  out.gap_tolerance = settings.tolerance;
  out.max_outer_steps = settings.max_steps;
  out.threads = threads;
  out.memory = memory;
  return out;
}

void state_proof(const Proof& proof, Status status, Certificate& out) {
  out.primal = proof.primal;
  out.dual = proof.dual;
  out.gap = proof.gap() / proof.primal;
  out.bound = proof.error / proof.primal;
  out.status = status;
}

// The certificate of a version before 4, whose gap is relative to 1 at least, by the rule of today: newer files hold no other.
void restate(Certificate& proof, double tolerance) {
  if (proof.scale_floor == 0) return;
  proof.bound *= proof.scale() / proof.primal;
  proof.gap = (proof.primal - proof.dual) / proof.primal;
  proof.scale_floor = 0;
  if (proof.status == Status::converged && proof.gap + proof.bound > tolerance)
    proof.status = Status::precision;
}

// Of merged edges, each takes its share of the pair dual. The certificate is that of the shares.
void share_duals(const Model& model, const TaskGraph& edges, const Anchors& anchors,
                 const NewtonResult& fit, double tolerance, Extension& added) {
  Certificate& proof = added.certificate;
  proof.nu.resize(std::ssize(edges), std::ssize(model.kernels));
  Vector kappa(std::ssize(edges));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Index merged = anchors.edge_of[i];
    const double share = edges[i].weight / anchors.graph[static_cast<std::size_t>(merged)].weight;
    proof.nu.row(static_cast<Index>(i)) = share * fit.nu.row(merged);
    kappa[static_cast<Index>(i)] = proof.lambda * edges[i].weight;
  }
  pull_inside(proof.nu, kappa);
  std::vector<Index> unit;
  for (Index u_new = 0; u_new < fit.theta.rows(); ++u_new) unit.push_back(u_new);
  Matrix theta(added.base_tasks, std::ssize(model.kernels));
  for (Index t = 0; t < theta.rows(); ++t)
    theta.row(t) = model.tasks[static_cast<std::size_t>(t)].theta();
  const Proof shares = join_proofs(fit.parts, unit, fit.theta,
                                   {edges, kappa, theta, WeightSet(model.settings.norm)}, proof.nu);
  const bool lost = fit.status == Status::converged && !shares.shows(tolerance * shares.primal);
  state_proof(shares, lost ? Status::precision : fit.status, proof);
}

}  // namespace

void check_extension(const Model& model, const Dataset& data) {
  check_dataset(data);
  if (!model.settings.method->is_main())
    throw InputError(fmt::format(
        "the model is one of `method` {}; tasks can be added to models of `method` coterie only.",
        model.settings.method->name));
  for (const Kernel& kernel : model.kernels)
    if (kernel.is_precomputed())
      throw InputError(fmt::format(
          "the model has the kernel {}, whose values are known between its training rows only; new "
          "tasks cannot be added to it. Train anew with all tasks.",
          to_string(kernel)));
  if (model.first_stage)
    throw InputError(
        "the model looks at scores of models of its own tasks (@pooled, @others or @group), which "
        "new tasks would have to join. Train all tasks together, or extend a model without these "
        "kernels.");
  if (data.features != model.features)
    throw InputError("the features of the data are not those of the model.");
  if (data.casting != model.casting)
    throw InputError(fmt::format("the data is cast {}, the model {}.", to_string(data.casting),
                                 to_string(model.casting)));
  for (const Task& task : data.tasks) {
    if (std::ranges::find(model.tasks, task.name, &TaskModel::name) != model.tasks.end())
      throw InputError(fmt::format(
          "task '{}' is in the model already, and its tasks stay as they are. Rename it, or leave "
          "its rows out; with new data for old tasks, train anew.",
          task.name));
    if (model.casting == Casting::binary) check_labels(model, task);
  }
  for (const std::string& name : data.classes)
    if (std::ranges::find(model.classes, name) == model.classes.end())
      throw InputError(
          fmt::format("class '{}' is not one of the model's, which are {}. Leave its rows out, or "
                      "train anew with all classes.",
                      name, list_names(model.classes)));
}

Model fit_extension(const Model& model, Dataset data, const ExtendSettings& settings, int threads,
                    const ProgressCallback& progress, double memory) {
  check_settings(settings);
  check_extension(model, data);
  Extension added = describe_extension(model, data, settings);
  const double lambda = added.certificate.lambda;
  const TaskGraph edges = edges_of(added);
  const Anchors anchors = merge_anchors(model, edges);
  if (std::isinf(lambda)) check_common(model, data, anchors);

  data.X = apply_scaling(model.scaling, std::move(data.X));
  Settings cost = model.settings;
  cost.C = settings.C.value_or(model.settings.C);
  const std::vector<Vector> C = sample_costs(data, cost, {});
  const std::vector<TaskGrams> grams = grams_of(model, data, largest_cost(C), threads);
  check_costs(grams, C, model.kernels, data.tasks);
  const Index old = std::ssize(model.tasks);
  check_penalty(edges, lambda, [&](Index t) {
    return t < old ? model.tasks[static_cast<std::size_t>(t)].name
                   : data.tasks[static_cast<std::size_t>(t - old)].name;
  });
  std::vector<Vector> y;
  for (const Task& task : data.tasks) y.push_back(task.y);
  const NewtonResult fit = fit_to_anchors(
      {grams, y, C, lambda, anchors.theta, anchors.graph, WeightSet(model.settings.norm)},
      fit_settings_of(settings, threads, memory), progress);

  state_proof(fit.proof, fit.status, added.certificate);
  added.certificate.outer_steps = fit.outer_steps;
  added.certificate.nu = Matrix(0, std::ssize(model.kernels));
  if (fit.nu.rows() > 0) share_duals(model, edges, anchors, fit, settings.tolerance, added);
  Model extended = model;
  restate(extended.certificate(), extended.settings.tolerance);
  for (Extension& earlier : extended.extensions) restate(earlier.certificate, earlier.tolerance);
  add_tasks(extended, data, fit, cost.C);
  join_groups(extended, old);
  extended.extensions.push_back(std::move(added));
  return extended;
}

}  // namespace coterie
