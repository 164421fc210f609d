#include "coterie/model/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coterie/data/names.hpp"
#include "coterie/model/first_stage.hpp"
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

Vector task_costs(const Dataset& data, const Settings& settings, const Extras& extras) {
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
          fmt::format("`task_C` names the task '{}', which the data does not have. Its tasks: {}.",
                      name, list_names(names)));
    }
    if (!(value > 0) || std::isinf(value))
      throw InputError(
          fmt::format("`task_C` gives C = {} to task '{}'; C must be a number > 0.", value, name));
    C[place - data.tasks.begin()] = value;
  }
  return C;
}

std::vector<Vector> sample_costs(const Dataset& data, const Settings& settings,
                                 const Extras& extras) {
  const Vector task_C = task_costs(data, settings, extras);
  std::vector<Vector> costs;
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    costs.push_back(sample_costs(data.tasks[t].y, task_C[static_cast<Index>(t)],
                                 settings.class_weight == ClassWeight::balanced));
    if (data.weight.size() > 0) costs.back().array() *= data.weight(data.tasks[t].rows).array();
  }
  return costs;
}

double largest_cost(const std::vector<Vector>& costs) {
  double largest = 0;
  for (const Vector& C : costs) largest = std::max(largest, C.maxCoeff());
  return largest;
}

TrainingSet make_training_set(Dataset data, const Scaling& scaling, const Settings& settings,
                              const Extras& extras) {
  TrainingSet set;
  set.task_C = task_costs(data, settings, extras);
  set.C = sample_costs(data, settings, extras);
  for (const Task& task : data.tasks) set.y.push_back(task.y);
  set.complete = extras.complete;
  set.graph = extras.complete ? complete_graph(std::ssize(data.tasks)) : extras.graph;
  data.X = apply_scaling(scaling, std::move(data.X));
  set.scaling = scaling;
  set.data = std::move(data);
  return set;
}

Prepared prepare(Dataset data, const Settings& given, const Extras& extras, int threads,
                 Storage storage, double first_stage_memory) {
  const Settings settings = in_full(given);
  validate(settings);
  check_dataset(data);
  auto [scored, first] = learn_scores(std::move(data), settings, threads, first_stage_memory);
  const std::vector<Kernel> kernels = prepare_kernels(settings.kernels, settings.normalise, scored);
  const Scaling scaling = learn_scaling(*settings.scale, scored.X, rows_used(scored),
                                        first ? first->columns() : 0, settings.smooth);
  Prepared prepared;
  prepared.set = make_training_set(std::move(scored), scaling, settings, extras);
  prepared.set.first_stage = first;
  const TrainingSet& set = prepared.set;
  prepared.grams = compute_grams(set.data, kernels, settings.normalise, extras.precomputed, threads,
                                 storage, largest_cost(set.C));
  check_costs(prepared.grams.tasks, set.C, kernels, set.data.tasks);
  check_penalty(set.graph, settings.lambda.relative ? infinite : settings.lambda.value,
                names_in(set.data.tasks));
  return prepared;
}

MtmklProblem joint_problem(const Prepared& prepared, const std::vector<Vector>& C, double lambda,
                           double norm) {
  const auto& [set, grams] = prepared;
  check_costs(grams.tasks, C, grams.kernels, set.data.tasks);
  check_penalty(set.graph, lambda, names_in(set.data.tasks));
  return {grams.tasks, set.y, C, lambda, set.graph, WeightSet(norm)};
}

FitSettings fit_settings_of(const Settings& settings, int threads, double memory) {
  FitSettings out;
  out.gap_tolerance = settings.tolerance;
  out.max_outer_steps = settings.max_steps;
  out.threads = threads;
  out.memory = memory;
  return out;
}

Fitted fit_prepared(const Prepared& prepared, const Settings& settings, int threads,
                    const ProgressCallback& progress, double memory) {
  return fit_prepared(prepared, prepared.set.C, settings, threads, progress, memory);
}

Fitted fit_prepared(const Prepared& prepared, const std::vector<Vector>& C,
                    const Settings& settings, int threads, const ProgressCallback& progress,
                    double memory) {
  const Lambda choice = settings.lambda;
  FitSettings how = fit_settings_of(settings, threads, memory);
  MtmklProblem problem =
      joint_problem(prepared, C, choice.relative ? infinite : choice.value, settings.norm);
  Fitted fitted;
  WarmStart start;
  Workspace workspace;
  if (choice.relative) {
    Fit common = fit(problem, how, progress, {}, &workspace);
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
    problem.lambda = choice.at(fitted.lambda_max);
    check_penalty(prepared.set.graph, problem.lambda, names_in(prepared.set.data.tasks));
    // Stopped: what is there is still a feasible answer, of the problem with lambda = inf.
    if (common.status == Status::stopped || std::isinf(problem.lambda)) {
      fitted.lambda = infinite;
      fitted.fit = std::move(common);
      return fitted;
    }
    start.theta = std::move(common.theta);
    start.alpha = std::move(common.alpha);
  }
  fitted.lambda = problem.lambda;
  how.solver = settings.solver;
  if (how.solver == Solver::published) {
    start = {};
    workspace = {};
  }
  fitted.fit = fit(problem, how, progress, start, &workspace);
  return fitted;
}

namespace {

// Of a pool that is one task here there may be several functions, one for each group.
const Task& task_of(const Prepared& prepared, std::size_t t) {
  return prepared.set.data.tasks[prepared.set.pooled.empty() ? t : 0];
}

// Keeps the rows that are support vectors; returns the place of every row among them, or -1.
std::vector<Index> keep_support_vectors(const Prepared& prepared, const Fit& fit, Model& model) {
  const Dataset& data = prepared.set.data;
  std::vector<Index> place(static_cast<std::size_t>(data.X.rows()), -1);
  for (std::size_t t = 0; t < fit.alpha.size(); ++t) {
    const Task& task = task_of(prepared, t);
    for (Index i = 0; i < task.size(); ++i)
      if (fit.alpha[t][i] > 0)
        place[static_cast<std::size_t>(task.rows[static_cast<std::size_t>(i)])] = 0;
  }
  for (std::size_t row = 0; row < place.size(); ++row) {
    if (place[row] < 0) continue;
    place[row] = std::ssize(model.training_row);
    model.training_row.push_back(static_cast<Index>(row));
  }
  model.support_vectors = data.X(model.training_row, Eigen::all);
  return place;
}

}  // namespace

Model make_model(const Prepared& prepared, const Settings& settings, const Fitted& fitted,
                 std::string fingerprint) {
  const Dataset& data = prepared.set.data;
  const Fit& fit = fitted.fit;
  Model model;
  model.settings = in_full(settings);
  model.features = data.features;
  model.first_stage = prepared.set.first_stage;
  model.scaling = prepared.set.scaling;
  model.kernels = prepared.grams.kernels;
  model.divisors = prepared.grams.divisors;
  model.casting = data.casting;
  model.classes = data.classes;
  model.columns = data.columns;
  model.training_rows = data.X.rows();
  model.groups() = fit.groups;
  model.fingerprint = std::move(fingerprint);

  const std::vector<Index> place = keep_support_vectors(prepared, fit, model);
  for (std::size_t t = 0; t < fit.alpha.size(); ++t) {
    const Task& task = task_of(prepared, t);
    TaskModel out;
    static_cast<TaskId&>(out) = task;
    out.n = task.size();
    out.C = prepared.set.task_C[prepared.set.pooled.empty() ? static_cast<Index>(t) : 0];
    out.bias = fit.bias[static_cast<Index>(t)];
    out.objective = fit.task_objective[static_cast<Index>(t)];
    out.function = expansion_of(fit.theta.row(static_cast<Index>(t)), fit.alpha[t], task, place);
    model.tasks.push_back(std::move(out));
  }

  Certificate& proof = model.certificate();
  proof.primal = fit.primal;
  proof.dual = fit.dual;
  proof.gap = fit.gap;
  proof.bound = fit.bound;
  proof.lambda = fitted.lambda;
  proof.lambda_max = fitted.lambda_max;
  proof.complete = prepared.set.complete;
  if (!prepared.set.complete) proof.graph = prepared.set.graph;
  if (fitted.lambda > 0 && std::isfinite(fitted.lambda))
    proof.nu = fit.nu;
  else
    proof.nu = Matrix(0, std::ssize(prepared.grams.kernels));
  proof.status = fit.status;
  proof.outer_steps = fit.outer_steps;
  return model;
}

}  // namespace coterie
