#include "coterie/mtmkl/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coterie/data/names.hpp"
#include "coterie/mtmkl/range.hpp"

namespace coterie {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// C for every sample; balanced: C n / (2 n_class), so that both classes weigh the same.
Vector sample_costs(const Vector& y, double C, bool balanced) {
  Vector costs = Vector::Constant(y.size(), C);
  if (!balanced) return costs;
  const double n = static_cast<double>(y.size());
  const double positive = static_cast<double>((y.array() > 0).count());
  for (Index i = 0; i < y.size(); ++i) costs[i] *= n / (2 * (y[i] > 0 ? positive : n - positive));
  return costs;
}

}  // namespace

Vector task_costs(const Dataset& data, const TrainSettings& settings, const TrainExtras& extras) {
  Vector C = Vector::Constant(std::ssize(data.tasks), settings.C);
  for (const auto& entry : extras.task_C) {
    const std::string& name = entry.first;
    const double value = entry.second;
    const auto place = std::find_if(data.tasks.begin(), data.tasks.end(),
                                    [&](const Task& task) { return task.name == name; });
    if (place == data.tasks.end()) {
      std::vector<std::string> names;
      for (const Task& task : data.tasks) names.push_back(task.name);
      throw InputError(
          fmt::format("--task-C names the task '{}', which the data does not have. Its tasks: {}.",
                      name, list_names(names)));
    }
    if (!(value > 0) || std::isinf(value))
      throw InputError(
          fmt::format("--task-C gives C = {} to task '{}'; C must be a number > 0.", value, name));
    C[place - data.tasks.begin()] = value;
  }
  return C;
}

std::vector<Vector> sample_costs(const Dataset& data, const TrainSettings& settings,
                                 const TrainExtras& extras) {
  const Vector task_C = task_costs(data, settings, extras);
  std::vector<Vector> costs;
  for (std::size_t t = 0; t < data.tasks.size(); ++t)
    costs.push_back(sample_costs(data.tasks[t].y, task_C[static_cast<Index>(t)],
                                 settings.class_weight == "balanced"));
  return costs;
}

double largest_cost(const std::vector<Vector>& costs) {
  double largest = 0;
  for (const Vector& C : costs) largest = std::max(largest, C.maxCoeff());
  return largest;
}

Prepared prepare(Dataset data, const TrainSettings& settings, const TrainExtras& extras,
                 int threads, Storage storage) {
  validate(settings);
  check_dataset(data);
  Prepared prepared;
  const Normalisation normalisation = parse_normalisation(settings.normalise);
  prepared.kernels = prepare_kernels(settings.kernels, normalisation, data.features);
  prepared.task_C = task_costs(data, settings, extras);
  prepared.scaling = learn_scaling(*scaling_kind_from(settings.scale), data);
  data.X = apply_scaling(prepared.scaling, std::move(data.X));
  prepared.C = sample_costs(data, settings, extras);
  prepared.grams = compute_grams(data, prepared.kernels, normalisation, extras.precomputed, threads,
                                 storage, largest_cost(prepared.C));
  for (const Task& task : data.tasks) prepared.y.push_back(task.y);
  prepared.complete = extras.complete;
  prepared.graph = extras.complete ? complete_graph(std::ssize(data.tasks)) : extras.graph;
  prepared.weights = WeightSet(settings.norm);
  check_costs(prepared.grams.tasks, prepared.C, prepared.kernels, data.tasks);
  const LambdaChoice lambda = parse_lambda(settings.lambda);
  check_penalty(prepared.graph, lambda.relative ? infinite : lambda.value, names_in(data.tasks));
  prepared.data = std::move(data);
  return prepared;
}

Fitted fit_prepared(const Prepared& prepared, const TrainSettings& settings, int threads,
                    const ProgressCallback& progress, double memory) {
  const LambdaChoice choice = parse_lambda(settings.lambda);
  FitSettings fit_settings;
  fit_settings.gap_tolerance = settings.tolerance;
  fit_settings.max_outer_steps = settings.max_steps;
  fit_settings.threads = threads;
  MtmklProblem problem{prepared.grams.tasks, prepared.y,     prepared.C,
                       choice.value,         prepared.graph, prepared.weights};
  fit_settings.memory = memory;
  Fitted fitted;
  WarmStart start;
  Workspace workspace;
  if (choice.relative) {
    problem.lambda = infinite;
    Fit common = fit(problem, fit_settings, progress, {}, &workspace);
    fitted.common_steps = common.outer_steps;
    try {
      if (common.status != Status::stopped)
        fitted.lambda_max = lambda_max(problem, common, [&] {
          return !progress || progress({.outer_step = common.outer_steps,
                                        .primal = common.primal,
                                        .dual = common.dual,
                                        .gap = common.gap,
                                        .groups = std::ssize(common.groups),
                                        .common = true});
        });
    } catch (const Stopped&) {
      common.status = Status::stopped;
    }
    problem.lambda = choice.value * fitted.lambda_max;
    check_penalty(prepared.graph, problem.lambda, names_in(prepared.data.tasks));
    // Stopped: what is there is still a feasible answer, of the problem with lambda = inf. And where every positive lambda fuses all
    // tasks (a single kernel, for one), that problem is the answer.
    const bool always_fused = fitted.lambda_max == 0 && choice.value > 0;
    if (common.status == Status::stopped || always_fused) {
      fitted.lambda = infinite;
      fitted.fit = std::move(common);
      return fitted;
    }
    start.theta = std::move(common.theta);
    start.alpha = std::move(common.alpha);
  }
  fitted.lambda = problem.lambda;
  fit_settings.solver = settings.solver == "published" ? Solver::published : Solver::newton;
  if (fit_settings.solver == Solver::published) {
    start = {};
    workspace = {};
  }
  fitted.fit = fit(problem, fit_settings, progress, start, &workspace);
  return fitted;
}

Model make_model(const Prepared& prepared, const TrainSettings& settings, const Fitted& fitted,
                 std::string fingerprint) {
  const Dataset& data = prepared.data;
  const Fit& fit = fitted.fit;
  Model model;
  model.settings = settings;
  model.features = data.features;
  model.scaling = prepared.scaling;
  model.kernels = prepared.kernels;
  model.divisors = prepared.grams.divisors;
  model.casting = data.casting;
  model.classes = data.classes;
  model.training_rows = data.X.rows();
  model.groups = fit.groups;
  model.fingerprint = std::move(fingerprint);

  std::vector<Index> place(static_cast<std::size_t>(data.X.rows()),
                           -1);  // of a row among the support vectors
  for (std::size_t t = 0; t < data.tasks.size(); ++t)
    for (Index i = 0; i < data.tasks[t].size(); ++i)
      if (fit.alpha[t][i] > 0)
        place[static_cast<std::size_t>(data.tasks[t].rows[static_cast<std::size_t>(i)])] = 0;
  for (std::size_t row = 0; row < place.size(); ++row) {
    if (place[row] < 0) continue;
    place[row] = std::ssize(model.training_row);
    model.training_row.push_back(static_cast<Index>(row));
  }
  model.support_vectors = data.X(model.training_row, Eigen::all);

  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const Task& task = data.tasks[t];
    TaskModel out;
    out.name = task.name;
    out.negative = task.negative;
    out.positive = task.positive;
    out.n = task.size();
    out.C = prepared.task_C[static_cast<Index>(t)];
    out.theta = fit.theta.row(static_cast<Index>(t));
    out.bias = fit.bias[static_cast<Index>(t)];
    out.objective = fit.task_objective[static_cast<Index>(t)];
    for (Index i = 0; i < task.size(); ++i) {
      if (!(fit.alpha[t][i] > 0)) continue;
      out.sample.push_back(i);
      out.support.push_back(
          place[static_cast<std::size_t>(task.rows[static_cast<std::size_t>(i)])]);
    }
    out.alpha = fit.alpha[t](out.sample);
    out.y = task.y(out.sample);
    model.tasks.push_back(std::move(out));
  }

  Certificate& proof = model.certificate;
  proof.primal = fit.primal;
  proof.dual = fit.dual;
  proof.gap = fit.gap;
  proof.bound = fit.bound;
  proof.lambda = fitted.lambda;
  proof.lambda_max = fitted.lambda_max;
  proof.complete = prepared.complete;
  if (!prepared.complete) proof.graph = prepared.graph;
  if (fitted.lambda > 0 && std::isfinite(fitted.lambda))
    proof.nu = fit.nu;
  else
    proof.nu = Matrix(0, std::ssize(prepared.kernels));
  proof.status = to_string(fit.status);
  proof.outer_steps = fit.outer_steps;
  return model;
}

}  // namespace coterie
