#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

#include "coterie/baseline/partition.hpp"
#include "coterie/baseline/plain.hpp"
#include "coterie/model/train.hpp"
#include "coterie/mtmkl/range.hpp"

namespace coterie {

namespace {

void check_extras(const Method& method, const Extras& extras) {
  if (!extras.complete && !method.is_main())
    throw InputError(fmt::format(
        "`task_graph` belongs to the method coterie; {} has no use for it.", method.name));
  if (!extras.task_C.empty() && (method.is_linear() || method.pools))
    throw InputError(
        fmt::format("`task_C`: tasks of the method {} have no C of their own.", method.name));
}

// Weights of rows are factors of C, which not every method has; models of a first stage are fitted without them.
void check_weights(const Dataset& data, const Settings& settings) {
  if (data.weight.size() == 0) return;
  const Method& method = *settings.method;
  if (method.is_linear() || method.search_groups)
    throw InputError(
        fmt::format("`sample_weight`: the method {} has no weights of rows.", method.name));
  if (!score_blocks(settings.kernels.list(), data.features).empty())
    throw InputError(
        "`sample_weight`: kernels on scores of other models (@pooled, @others, @group) have no "
        "weights of rows.");
}

LinearProblem linear_problem(const Dataset& data, const Matrix& X, const std::vector<Index>& rows,
                             const Settings& settings, const Vector& X_error = {}) {
  std::vector<Index> place(static_cast<std::size_t>(data.X.rows()), -1);  // of a row in X
  for (std::size_t i = 0; i < rows.size(); ++i)
    place[static_cast<std::size_t>(rows[i])] = static_cast<Index>(i);
  Settings unit = settings;  // losses are means over the samples of a task: C has no part in them
  unit.C = 1;
  LinearProblem problem;
  problem.loss = settings.loss;
  problem.c = sample_costs(data, unit, {});
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    std::vector<Index> places;
    for (const Index row : data.tasks[t].rows)
      places.push_back(place[static_cast<std::size_t>(row)]);
    problem.X.emplace_back(X(places, Eigen::all));
    if (X_error.size() > 0) problem.X_error.emplace_back(X_error(places));
    problem.y.push_back(data.tasks[t].y);
    problem.c[t] /= static_cast<double>(data.tasks[t].size());
  }
  return problem;
}

LinearTraining prepare_linear(Dataset data, const Settings& settings, const Extras& extras,
                              int threads) {
  LinearTraining out;
  if (settings.map.mapped) {
    Prepared prepared = prepare(std::move(data), settings, extras, threads);
    const Dataset& scaled = prepared.set.data;
    const std::vector<Index> rows = rows_used(scaled);
    MappedRows mapped = map_features(scaled.X, rows, prepared.grams.kernels,
                                     prepared.grams.divisors, settings.map.rank, threads);
    out.map = std::move(mapped.map);
    out.problem = linear_problem(scaled, mapped.phi, rows, settings, mapped.error);
    out.problem.W_error = weight_error_of(out.map);
    out.set = std::move(prepared.set);
    out.grams = std::move(prepared.grams);
    return out;
  }
  check_dataset(data);
  const Scaling scaling = learn_scaling(*settings.scale, data, settings.smooth);
  Settings unit = settings;
  unit.C = 1;
  out.set = make_training_set(std::move(data), scaling, unit, extras);
  const Dataset& scaled = out.set.data;
  check_features(scaled);
  std::vector<Index> rows(static_cast<std::size_t>(scaled.X.rows()));
  std::iota(rows.begin(), rows.end(), Index{0});
  out.problem = linear_problem(scaled, scaled.X, rows, settings);
  return out;
}

std::vector<Index> sizes_of(const Dataset& data) {
  std::vector<Index> sizes;
  for (const Task& task : data.tasks) sizes.push_back(task.size());
  return sizes;
}

// The pool of every group as a task of its own, with costs of its own classes.
Prepared pools_of_groups(const Prepared& pool, const Groups& groups, const Settings& settings) {
  const std::vector<std::vector<Index>> samples = pooled_samples(groups, pool.set.pooled);
  const Task& all = pool.set.data.tasks.front();
  Prepared out;
  for (const std::vector<Index>& own : samples) {
    Task& task = out.set.data.tasks.emplace_back();
    task.name = fmt::format("group {}", out.set.data.tasks.size());
    task.y = all.y(own);
    for (const Index i : own) task.rows.push_back(all.rows[static_cast<std::size_t>(i)]);
    out.set.y.push_back(task.y);
    out.grams.tasks.push_back(slice(pool.grams.tasks.front(), own));
  }
  out.set.C = sample_costs(out.set.data, settings, {});
  out.set.graph = complete_graph(std::ssize(groups));
  out.grams.kernels = pool.grams.kernels;
  return out;
}

// Finds groups, then fits the pool of each. Stopped: the best groups so far.
Fitted fit_groups(const Prepared& pool, const Settings& settings, int threads,
                  const ProgressCallback& progress, double memory) {
  const TaskGrams& grams = pool.grams.tasks.front();
  const FoundGroups found = find_groups(
      {grams, pool.set.y.front(), pool.set.pooled}, WeightSet(settings.norm).uniform(grams.M()),
      settings.C, settings.method->search_groups(settings.parameters), threads,
      [&] { return !progress || progress({.phase = Phase::svms}); }, memory);
  const Prepared pools = pools_of_groups(pool, found.groups, settings);
  Fitted out = fit_prepared(pools, pools.set.C, settings, threads, progress, memory);
  const std::vector<std::vector<Index>> samples = pooled_samples(found.groups, pool.set.pooled);
  for (std::size_t g = 0; g < samples.size(); ++g) {
    Vector whole = Vector::Zero(pool.set.y.front().size());
    whole(samples[g]) = out.fit.alpha[g];
    out.fit.alpha[g] = std::move(whole);
  }
  out.fit.groups = found.groups;
  if (!is_convex(settings)) out.fit.claim = Claim::given_clusters;
  out.found = found;
  return out;
}

// The same pool where every task has a part of its own, docs/methods.md (29).
Prepared pool_with_own_parts(const Prepared& pool, double across) {
  Prepared out;
  out.set.data.tasks = pool.set.data.tasks;
  out.set.y = pool.set.y;
  out.set.graph = pool.set.graph;
  out.grams.tasks = {pool.grams.tasks.front().parted(tasks_of_samples(pool.set.pooled), across)};
  out.grams.kernels = pool.grams.kernels;
  return out;
}

// One SVM over the pool. The function of a task is that SVM's with the alphas of other tasks' samples `across` times as large, (30): so weights,
// bias and alphas of the fit are of tasks, and alphas over the whole pool.
Fitted fit_own_parts(const Prepared& pool, const std::vector<Vector>& C, const Settings& settings,
                     int threads, const ProgressCallback& progress, double memory) {
  const double across = 1 - settings.method->own_part(settings.parameters);
  Fitted out =
      fit_prepared(pool_with_own_parts(pool, across), C, settings, threads, progress, memory);
  const Index T = std::ssize(pool.set.pooled);
  const Vector alpha = out.fit.alpha.front();
  const std::vector<Index> task_of = tasks_of_samples(pool.set.pooled);
  out.fit.alpha.assign(static_cast<std::size_t>(T), across * alpha);
  for (Index i = 0; i < alpha.size(); ++i)
    out.fit.alpha[static_cast<std::size_t>(task_of[static_cast<std::size_t>(i)])][i] = alpha[i];
  out.fit.theta = out.fit.theta.row(0).replicate(T, 1).eval();
  out.fit.bias = Vector::Constant(T, out.fit.bias[0]);
  out.fit.task_objective = Vector::Constant(T, out.fit.task_objective[0]);
  out.fit.groups.clear();
  for (Index t = 0; t < T; ++t) out.fit.groups.push_back({t});
  return out;
}

// Every task gets the model of its pool.
Model share_pooled(Model model, const Dataset& tasks, const Groups& groups) {
  std::vector<TaskModel> pooled = std::move(model.tasks);
  model.tasks.resize(tasks.tasks.size());
  model.groups() = groups;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const Index t : groups[g]) {
      const Task& task = tasks.tasks[static_cast<std::size_t>(t)];
      TaskModel& copy = model.tasks[static_cast<std::size_t>(t)];
      if (t == groups[g].back())
        copy = std::move(pooled[g]);
      else
        copy = pooled[g];
      static_cast<TaskId&>(copy) = task;
      copy.n = task.size();
    }
  model.casting = tasks.casting;
  model.classes = tasks.classes;
  model.columns = tasks.columns;
  return model;
}

// A linear model on mapped features as the expansion in kernels that it is.
void expand_in_kernels(const LinearTraining& problem, const LinearFit& fit, Model& model) {
  const std::vector<Index>& pivots = problem.map.pivots;
  model.kernels = problem.grams.kernels;
  model.divisors = problem.grams.divisors;
  std::vector<Index> order(pivots.size());  // by row
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, {}, [&](Index j) { return pivots[static_cast<std::size_t>(j)]; });
  for (const Index j : order) model.training_row.push_back(pivots[static_cast<std::size_t>(j)]);
  model.support_vectors = problem.set.data.X(model.training_row, Eigen::all);
  model.map = problem.map.L(order, Eigen::all);
  const Index M = std::ssize(model.kernels);
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    KernelExpansion f;
    f.theta = Vector::Constant(M, 1.0 / static_cast<double>(M));
    const Vector coefficients = coefficients_of(problem.map, fit.W.row(static_cast<Index>(t)));
    std::vector<double> alpha, sign;
    for (std::size_t at = 0; at < order.size(); ++at) {
      const double value = coefficients[order[at]];
      if (value == 0) continue;
      f.support.push_back(static_cast<Index>(at));
      f.sample.push_back(static_cast<Index>(at));
      alpha.push_back(std::abs(value));
      sign.push_back(value > 0 ? 1 : -1);
    }
    f.alpha = Eigen::Map<const Vector>(alpha.data(), std::ssize(alpha));
    f.y = Eigen::Map<const Vector>(sign.data(), std::ssize(sign));
    model.tasks[t].function = std::move(f);
  }
}

// Groups of methods whose groups are equal weights, as the model has them: coefficients may be equal where weights differ by rounding.
Groups equal_coefficients(const Model& model) {
  Matrix coefficients = Matrix::Zero(std::ssize(model.tasks), model.support_vectors.rows());
  for (Index t = 0; t < coefficients.rows(); ++t) {
    const KernelExpansion& f = model.tasks[static_cast<std::size_t>(t)].expansion();
    for (std::size_t k = 0; k < f.support.size(); ++k)
      coefficients(t, f.support[k]) = f.alpha[static_cast<Index>(k)] * f.y[static_cast<Index>(k)];
  }
  return equal_rows(coefficients);
}

Model make_linear_model(const LinearTraining& problem, const Settings& settings,
                        const LinearFit& fit, std::string fingerprint) {
  const Dataset& data = problem.set.data;
  Model model;
  model.settings = in_full(settings);
  model.features = data.features;
  model.scaling = problem.set.scaling;
  model.casting = data.casting;
  model.classes = data.classes;
  model.columns = data.columns;
  model.support_vectors = Matrix(0, data.X.cols());
  model.training_rows = data.X.rows();
  model.groups() = fit.clusters;
  model.fingerprint = std::move(fingerprint);
  const bool mapped = problem.map.rank() > 0;
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const Task& task = data.tasks[t];
    const auto row = static_cast<Index>(t);
    TaskModel out;
    static_cast<TaskId&>(out) = task;
    out.n = task.size();
    out.bias = fit.b[row];
    out.objective = fit.task_objective[row];
    if (!mapped) out.function = LinearWeights{fit.W.row(row)};
    if (fit.shared.rows() > 0) out.shared = fit.shared.row(row);
    model.tasks.push_back(std::move(out));
  }
  if (mapped) expand_in_kernels(problem, fit, model);
  if (mapped && settings.method->exact_groups) model.groups() = equal_coefficients(model);

  Certificate& proof = model.certificate();
  proof.primal = fit.primal;
  proof.dual = fit.dual;
  proof.gap = fit.gap;
  proof.bound = fit.bound;
  proof.claim = fit.claim;
  proof.nu = fit.nu;
  proof.status = fit.status;
  proof.outer_steps = fit.steps;
  return model;
}

}  // namespace

MethodProblem prepare_method(Dataset data, const Settings& given, const Extras& extras, int threads,
                             double first_stage_memory) {
  const Settings settings = in_full(given);
  validate(settings);
  const Method& method = *settings.method;
  check_extras(method, extras);
  check_weights(data, settings);
  if (method.is_linear()) return prepare_linear(std::move(data), settings, extras, threads);
  if (!method.joint && settings.norm != 1)
    throw InputError(fmt::format("`norm`: the method {} has norm 1 only.", method.name));
  if (!method.pools)
    return prepare(std::move(data), settings, extras, threads, Storage::on_demand,
                   first_stage_memory);
  check_dataset(data);
  Pool out;
  out.prepared = prepare(pool_tasks(data), settings, extras, threads);
  out.prepared.set.pooled = sizes_of(data);
  out.tasks = std::move(data);
  out.tasks.X.resize(0, 0);
  return out;
}

const TrainingSet& training_set(const MethodProblem& problem) {
  if (const Pool* pool = std::get_if<Pool>(&problem)) return pool->prepared.set;
  if (const Prepared* prepared = std::get_if<Prepared>(&problem)) return prepared->set;
  return std::get<LinearTraining>(problem).set;
}

const Grams& grams_of(const MethodProblem& problem) {
  if (const Pool* pool = std::get_if<Pool>(&problem)) return pool->prepared.grams;
  if (const Prepared* prepared = std::get_if<Prepared>(&problem)) return prepared->grams;
  return std::get<LinearTraining>(problem).grams;
}

double linear_bytes(const Dataset& data, const Settings& settings) {
  const auto d = static_cast<double>(
      settings.map.mapped ? std::min(settings.map.rank, data.X.rows()) : data.X.cols());
  double rows = static_cast<double>(data.X.rows());
  for (const Task& task : data.tasks) rows += static_cast<double>(task.size());
  const double T = static_cast<double>(data.tasks.size());
  const double pairs = settings.method->has_pairs ? 4 * T * T / 2 : 0;
  return 8 * (static_cast<double>(data.X.size()) + d * (rows + T * d + 20 * T + pairs));
}

Status MethodFit::status() const { return linear() ? linear()->status : kernel()->fit.status; }
double MethodFit::gap() const { return linear() ? linear()->gap : kernel()->fit.gap; }
double MethodFit::coarseness() const {
  return linear() ? linear()->coarseness : kernel()->fit.coarseness;
}
Index MethodFit::steps() const { return linear() ? linear()->steps : kernel()->fit.outer_steps; }

MethodFit fit_method(const Prepared& prepared, const std::vector<Vector>& C, const Settings& given,
                     int threads, const ProgressCallback& progress, const MethodFit* start,
                     double memory) {
  const Settings settings = in_full(given);
  const Method& method = *settings.method;
  assert(!method.is_linear());
  if (method.search_groups) return {fit_groups(prepared, settings, threads, progress, memory)};
  if (method.own_part) return {fit_own_parts(prepared, C, settings, threads, progress, memory)};
  if (method.joint) return {fit_prepared(prepared, C, settings, threads, progress, memory)};
  Fitted out;
  out.lambda = settings.lambda.value;
  WarmStart from;
  if (start != nullptr) {
    from.theta = start->kernel()->fit.theta;
    from.alpha = start->kernel()->fit.alpha;
  }
  out.fit =
      method.fit_kernel(joint_problem(prepared, C, out.lambda, settings.norm), settings.parameters,
                        fit_settings_of(settings, threads, memory), progress, from);
  return {std::move(out)};
}

MethodFit fit_method(const MethodProblem& problem, const Settings& settings, int threads,
                     const ProgressCallback& progress, const MethodFit* start, double memory) {
  if (const Prepared* prepared = std::get_if<Prepared>(&problem))
    return fit_method(*prepared, prepared->set.C, settings, threads, progress, start, memory);
  if (const Pool* pool = std::get_if<Pool>(&problem))
    return fit_method(pool->prepared, pool->prepared.set.C, settings, threads, progress, start,
                      memory);
  LinearStart from;
  if (start != nullptr) {
    const LinearFit& last = *start->linear();
    from = {last.W, last.b, last.shared, last.nu, last.clusters};
  }
  return {settings.method->fit_linear(
      std::get<LinearTraining>(problem).problem, parameters_of(settings),
      {settings.tolerance, settings.max_steps, threads}, from, progress)};
}

Model make_model(const MethodProblem& problem, const Settings& settings, const MethodFit& fit,
                 std::string fingerprint) {
  if (const LinearTraining* linear = std::get_if<LinearTraining>(&problem))
    return make_linear_model(*linear, settings, *fit.linear(), std::move(fingerprint));
  const Pool* const pool = std::get_if<Pool>(&problem);
  Model model = make_model(pool ? pool->prepared : std::get<Prepared>(problem), settings,
                           *fit.kernel(), std::move(fingerprint));
  model.certificate().claim = fit.kernel()->fit.claim;
  if (!pool) return model;
  const Groups all = groups_of(std::vector<Index>(pool->tasks.tasks.size(), 0));
  const bool one_model = !settings.method->search_groups && !settings.method->own_part;
  model = share_pooled(std::move(model), pool->tasks, one_model ? all : fit.kernel()->fit.groups);
  if (settings.method->own_part) model.groups() = all;  // their kernel weights are equal
  return model;
}

}  // namespace coterie
