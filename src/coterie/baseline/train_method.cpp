#include "coterie/baseline/train_method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

#include "coterie/baseline/cmtl.hpp"
#include "coterie/baseline/coclus.hpp"
#include "coterie/baseline/flexclus.hpp"
#include "coterie/baseline/metag.hpp"
#include "coterie/baseline/pareto.hpp"
#include "coterie/baseline/plain.hpp"
#include "coterie/baseline/tang.hpp"
#include "coterie/baseline/whom.hpp"
#include "coterie/mtmkl/range.hpp"

namespace coterie {

namespace {

bool is_main(const std::string& method) {
  return method == "coterie" || method == "stl" || method == "mtl" || method == "pooled";
}

void check_extras(const Method& method, const TrainExtras& extras) {
  if (!extras.complete && method.name != "coterie")
    throw InputError(fmt::format("--task-graph belongs to --method coterie; {} has no use for it.",
                                 method.name));
  if (!extras.task_C.empty() &&
      (method.family == Method::Family::linear || method.name == "pooled"))
    throw InputError(
        fmt::format("--task-C: tasks of --method {} have no C of their own.", method.name));
}

LinearProblem linear_problem(const Dataset& data, const Matrix& X, const std::vector<Index>& rows,
                             const TrainSettings& settings, const Vector& X_error = {}) {
  std::vector<Index> place(static_cast<std::size_t>(data.X.rows()), -1);  // of a row in X
  for (std::size_t i = 0; i < rows.size(); ++i)
    place[static_cast<std::size_t>(rows[i])] = static_cast<Index>(i);
  TrainSettings unit = settings;
  unit.C = 1;
  LinearProblem problem;
  problem.loss = *loss_from(settings.loss);
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

MethodProblem prepare_linear(Dataset data, const TrainSettings& settings, const TrainExtras& extras,
                             int threads) {
  const MapChoice choice = parse_map(settings.map);
  MethodProblem problem;
  Prepared& prepared = problem.prepared;
  if (choice.mapped) {
    prepared = prepare(std::move(data), settings, extras, threads);
    const std::vector<Index> rows = rows_used(prepared.data);
    MappedRows mapped = map_features(prepared.data.X, rows, prepared.kernels,
                                     prepared.grams.divisors, choice.rank, threads);
    problem.map = std::move(mapped.map);
    problem.linear = linear_problem(prepared.data, mapped.phi, rows, settings, mapped.error);
    problem.linear.W_error = weight_error_of(problem.map);
    return problem;
  }
  check_dataset(data);
  prepared.scaling = learn_scaling(*scaling_kind_from(settings.scale), data);
  data.X = apply_scaling(prepared.scaling, std::move(data.X));
  check_features(data);
  prepared.task_C = Vector::Ones(std::ssize(data.tasks));
  std::vector<Index> rows(static_cast<std::size_t>(data.X.rows()));
  std::iota(rows.begin(), rows.end(), Index{0});
  problem.linear = linear_problem(data, data.X, rows, settings);
  prepared.data = std::move(data);
  return problem;
}

LinearFit fit_linear(const MethodProblem& problem, const TrainSettings& settings, int threads,
                     const ProgressCallback& progress, const MethodFit* start) {
  const LinearSettings how{settings.tolerance, settings.max_steps, threads};
  LinearStart from;
  if (start != nullptr)
    from = {start->linear.W, start->linear.b, start->linear.shared, start->linear.nu,
            start->linear.clusters};
  const Parameters values = parameters_of(settings);
  const auto number = [&](const char* name) { return values.at(name); };
  const auto whole = [&](const char* name) { return static_cast<Index>(values.at(name)); };
  if (settings.method == "cmtl")
    return fit_cmtl(problem.linear,
                    {number("lambda"), whole("clusters"), number("mean"), number("between"),
                     number("within"), number("centred") != 0, whole("seed")},
                    how, from, progress);
  if (settings.method == "whom")
    return fit_whom(problem.linear,
                    {number("lambda"), whole("clusters"), whole("restarts"), whole("seed")}, how,
                    from, progress);
  if (settings.method == "flexclus")
    return fit_flexclus(problem.linear, {number("lambda1"), number("lambda2"), number("lambda3")},
                        how, from, progress);
  if (settings.method == "coclus")
    return fit_coclus(
        problem.linear,
        {whole("clusters"), number("lambda1"), number("lambda2"), number("ridge"), whole("seed")},
        how, from, progress);
  assert(settings.method == "metag");
  return fit_metag(problem.linear,
                   {number("lambda"), number("ridge"), whole("levels"), number("ratio")}, how, from,
                   progress);
}

// What the settings of another method mean in full: the lambda that the main solver, or the certificate, has under its name, and the
// parameters with those that were not given.
TrainSettings in_full(TrainSettings settings) {
  if (settings.method == "coterie") return settings;
  settings.lambda = settings.method == "mtl" || settings.method == "pareto" ? "inf" : "0";
  settings.parameters = parameters_text(parameters_of(settings));
  return settings;
}

// Every task gets the model of the pool.
Model share_pooled(Model model, const Dataset& tasks) {
  const TaskModel pooled = model.tasks.front();
  model.tasks.clear();
  model.groups = {{}};
  for (const Task& task : tasks.tasks) {
    TaskModel copy = pooled;
    copy.name = task.name;
    copy.negative = task.negative;
    copy.positive = task.positive;
    copy.n = task.size();
    model.groups.front().push_back(std::ssize(model.tasks));
    model.tasks.push_back(std::move(copy));
  }
  model.casting = tasks.casting;
  model.classes = tasks.classes;
  return model;
}

// A linear model on mapped features as the expansion in kernels that it is.
void expand_in_kernels(const MethodProblem& problem, const LinearFit& fit, Model& model) {
  const std::vector<Index>& pivots = problem.map.pivots;
  model.kernels = problem.prepared.kernels;
  model.divisors = problem.prepared.grams.divisors;
  std::vector<Index> order(pivots.size());  // by row
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, {}, [&](Index j) { return pivots[static_cast<std::size_t>(j)]; });
  for (const Index j : order) model.training_row.push_back(pivots[static_cast<std::size_t>(j)]);
  model.support_vectors = problem.prepared.data.X(model.training_row, Eigen::all);
  model.map = problem.map.L(order, Eigen::all);
  const Index M = std::ssize(model.kernels);
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    TaskModel& task = model.tasks[t];
    task.theta = Vector::Constant(M, 1.0 / static_cast<double>(M));
    const Vector coefficients = coefficients_of(problem.map, fit.W.row(static_cast<Index>(t)));
    std::vector<double> alpha, sign;
    for (std::size_t at = 0; at < order.size(); ++at) {
      const double value = coefficients[order[at]];
      if (value == 0) continue;
      task.support.push_back(static_cast<Index>(at));
      task.sample.push_back(static_cast<Index>(at));
      alpha.push_back(std::abs(value));
      sign.push_back(value > 0 ? 1 : -1);
    }
    task.alpha = Eigen::Map<const Vector>(alpha.data(), std::ssize(alpha));
    task.y = Eigen::Map<const Vector>(sign.data(), std::ssize(sign));
  }
}

// Groups of metag are the tasks whose weights are equal in the model: coefficients may be where weights differ by rounding.
Groups equal_coefficients(const Model& model) {
  Matrix coefficients = Matrix::Zero(std::ssize(model.tasks), model.support_vectors.rows());
  for (Index t = 0; t < coefficients.rows(); ++t) {
    const TaskModel& task = model.tasks[static_cast<std::size_t>(t)];
    for (std::size_t k = 0; k < task.support.size(); ++k)
      coefficients(t, task.support[k]) =
          task.alpha[static_cast<Index>(k)] * task.y[static_cast<Index>(k)];
  }
  return equal_rows(coefficients);
}

Model make_linear_model(const MethodProblem& problem, const TrainSettings& settings,
                        const LinearFit& fit, std::string fingerprint) {
  const Dataset& data = problem.prepared.data;
  Model model;
  model.settings = in_full(settings);
  model.features = data.features;
  model.scaling = problem.prepared.scaling;
  model.casting = data.casting;
  model.classes = data.classes;
  model.support_vectors = Matrix(0, data.X.cols());
  model.training_rows = data.X.rows();
  model.groups = fit.clusters;
  model.fingerprint = std::move(fingerprint);
  const bool mapped = problem.map.rank() > 0;
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const Task& task = data.tasks[t];
    const auto row = static_cast<Index>(t);
    TaskModel out;
    out.name = task.name;
    out.negative = task.negative;
    out.positive = task.positive;
    out.n = task.size();
    out.bias = fit.b[row];
    out.objective = fit.task_objective[row];
    if (!mapped) out.w = fit.W.row(row);
    if (fit.shared.rows() > 0) out.shared = fit.shared.row(row);
    model.tasks.push_back(std::move(out));
  }
  if (mapped) expand_in_kernels(problem, fit, model);
  if (mapped && settings.method == "metag") model.groups = equal_coefficients(model);

  Certificate& proof = model.certificate;
  proof.primal = fit.primal;
  proof.dual = fit.dual;
  proof.gap = fit.gap;
  proof.bound = fit.bound;
  proof.claim = fit.claim;
  proof.nu = fit.nu;
  proof.status = to_string(fit.status);
  proof.outer_steps = fit.steps;
  return model;
}

}  // namespace

MethodProblem prepare_method(Dataset data, const TrainSettings& settings, const TrainExtras& extras,
                             int threads) {
  validate_method(settings);
  const Method& method = method_named(settings.method);
  check_extras(method, extras);
  if (method.family == Method::Family::linear)
    return prepare_linear(std::move(data), settings, extras, threads);
  if (!is_main(method.name) && settings.norm != 1)
    throw InputError(fmt::format("--norm: --method {} has norm 1 only.", method.name));
  MethodProblem problem;
  if (method.name == "pooled") {
    check_dataset(data);
    Dataset pool = pool_tasks(data);
    problem.tasks = std::move(data);
    problem.tasks.X.resize(0, 0);
    data = std::move(pool);
  }
  problem.prepared = prepare(std::move(data), in_full(settings), extras, threads);
  return problem;
}

double linear_bytes(const Dataset& data, const TrainSettings& settings) {
  const MapChoice choice = parse_map(settings.map);
  const auto d =
      static_cast<double>(choice.mapped ? std::min(choice.rank, data.X.rows()) : data.X.cols());
  double rows = static_cast<double>(data.X.rows());
  for (const Task& task : data.tasks) rows += static_cast<double>(task.size());
  const double T = static_cast<double>(data.tasks.size());
  const double pairs = settings.method == "metag" ? 4 * T * T / 2 : 0;
  return 8 * (static_cast<double>(data.X.size()) + d * (rows + T * d + 20 * T + pairs));
}

MethodFit fit_method(const MethodProblem& problem, const TrainSettings& settings, int threads,
                     const ProgressCallback& progress, const MethodFit* start, double memory) {
  const Method& method = method_named(settings.method);
  MethodFit out;
  if (method.family == Method::Family::linear) {
    out.is_linear = true;
    out.linear = fit_linear(problem, settings, threads, progress, start);
    return out;
  }
  const TrainSettings resolved = in_full(settings);
  const Prepared& prepared = problem.prepared;
  if (is_main(method.name)) {
    out.kernel = fit_prepared(prepared, resolved, threads, progress, memory);
    return out;
  }
  FitSettings how;
  how.gap_tolerance = settings.tolerance;
  how.max_outer_steps = settings.max_steps;
  how.threads = threads;
  how.memory = memory;
  out.kernel.lambda = parse_lambda(resolved.lambda).value;
  const MtmklProblem tasks{prepared.grams.tasks, prepared.y,     prepared.C,
                           out.kernel.lambda,    prepared.graph, prepared.weights};
  WarmStart from;
  if (start != nullptr) {
    from.theta = start->kernel.fit.theta;
    from.alpha = start->kernel.fit.alpha;
  }
  const Parameters values = parameters_of(settings);
  if (method.name == "uniform")
    out.kernel.fit = fit_uniform(tasks, how, progress, from);
  else if (method.name == "tang")
    out.kernel.fit = fit_tang(tasks, values.at("share"), how, progress, from);
  else
    out.kernel.fit = fit_pareto(tasks, values.at("power"), how, progress, from);
  return out;
}

Model make_model(const MethodProblem& problem, const TrainSettings& settings, const MethodFit& fit,
                 std::string fingerprint) {
  if (fit.is_linear)
    return make_linear_model(problem, settings, fit.linear, std::move(fingerprint));
  Model model = make_model(problem.prepared, in_full(settings), fit.kernel, std::move(fingerprint));
  model.certificate.claim = fit.kernel.fit.claim;
  if (settings.method == "pooled") return share_pooled(std::move(model), problem.tasks);
  return model;
}

}  // namespace coterie
