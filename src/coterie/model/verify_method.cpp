#include "coterie/model/verify_method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "coterie/baseline/partition.hpp"
#include "coterie/baseline/plain.hpp"
#include "coterie/model/first_stage.hpp"
#include "coterie/model/method.hpp"
#include "coterie/model/verify_linear.hpp"
#include "coterie/model/verify_sums.hpp"

namespace coterie {

namespace {

// Tasks of equal weights are one group, whatever the method. Before version 4 this was so only where something tied them.
void check_groups_apart(const Model& model, Verification& check) {
  if (model.certificate().scale_floor != 0) return;
  for (std::size_t g = 0; g < model.groups().size(); ++g)
    for (std::size_t h = 0; h < g; ++h) {
      const TaskModel& one = model.tasks[static_cast<std::size_t>(model.groups()[g].front())];
      const TaskModel& other = model.tasks[static_cast<std::size_t>(model.groups()[h].front())];
      if (one.theta() != other.theta()) continue;
      check.findings.push_back(
          fmt::format("tasks '{}' and '{}' have equal weights, but are not listed as one group",
                      other.name, one.name));
      return;
    }
}

// Kernel weights of which a share is common to all tasks, and a p-norm of the tasks' objectives. `fixed`: weights are not learnt.
struct Shape {
  double share = 0, power = 1;
  bool fixed = false;
};

void check_weights(const Model& model, const Shape& shape, Verification& check) {
  if (model.settings.norm != 1)
    check.findings.push_back(fmt::format("the norm is {}, and {} has norm 1 only",
                                         model.settings.norm, model.settings.method->name));
  const std::size_t M = model.kernels.size();
  double common = 0;
  for (std::size_t m = 0; m < M; ++m) {
    const Index k = static_cast<Index>(m);
    double least = std::numeric_limits<double>::infinity();
    for (const TaskModel& task : model.tasks) {
      least = std::min(least, task.theta()[k]);
      if (shape.fixed)
        note_infeasible(check, std::abs(task.theta()[k] - 1 / static_cast<double>(M)), 1e-12,
                        fmt::format("a kernel weight of task '{}' is not 1/M", task.name));
      if (shape.share == 1)
        note_infeasible(check, std::abs(task.theta()[k] - model.tasks.front().theta()[k]), 0,
                        fmt::format("task '{}' has kernel weights of its own", task.name));
    }
    common += least;
  }
  note_infeasible(check, std::max(0.0, shape.share - common), 1e-9,
                  "the kernel weights have less in common than their share");
}

Verification verify_shared(const Model& extended, const Dataset& data,
                           const PrecomputedMatrices& precomputed, const VerifyProgress& progress,
                           const Shape& shape) {
  const std::function<void()> one_done = counting(data, progress);
  const Model model = base_of(extended);
  check_fit_to_model(model, 0, std::ssize(model.tasks), data, precomputed);
  const std::size_t T = model.tasks.size();
  const std::size_t M = model.kernels.size();
  Verification check;
  const Matrix X = scaled(model, data.X);
  check_scaling(model, data, check.findings);
  const ExactKernels exact(X, model.kernels, precomputed);
  check_settings(model, data, check);
  check_divisors(model, data, exact, check.findings);
  check_weights(model, shape, check);

  std::vector<TaskValues> values;
  std::vector<long double> g;
  StatedObjectives objectives;
  for (std::size_t t = 0; t < T; ++t) {
    values.push_back(recompute_task(model, model.tasks[t], data.tasks[t],
                                    {X, exact, precomputed, data.weight}, 0, check, one_done));
    g.push_back(values.back().primal);
    objectives.add(model.tasks[t], g.back(), values.back().primal_error, model.certificate(),
                   check);
  }
  objectives.finish(model.certificate(), check);
  const long double primal = p_norm(g, static_cast<long double>(shape.power));
  long double dual = 0;
  double error = 0;
  // c_t = (g_t / F)^(p-1), and what the best weights would make of sum_t c_t J_t at these alpha.
  std::vector<long double> sum(M, 0);
  for (std::size_t t = 0; t < T; ++t) {
    const long double c = std::pow(g[t] / primal, static_cast<long double>(shape.power) - 1);
    dual += c * values[t].alpha_sum;
    long double largest = 0;
    long double here = 0;
    double S_error = 0;
    for (std::size_t m = 0; m < M; ++m) {
      const long double S = c * values[t].S[m];
      sum[m] += S;
      largest = std::max(largest, S);
      here += model.tasks[t].theta()[static_cast<Index>(m)] * S;
      S_error = std::max(S_error, values[t].S_error[m]);
    }
    dual -= shape.fixed ? here / 2 : (1 - shape.share) * largest / 2;
    error += static_cast<double>(c) * (values[t].primal_error + values[t].alpha_error + S_error);
  }
  if (!shape.fixed) dual -= shape.share * *std::max_element(sum.begin(), sum.end()) / 2;
  // The weights c_t follow the objectives, whose errors they carry on.
  error += std::abs(shape.power - 1) * error +
           64 * static_cast<double>(std::numeric_limits<long double>::epsilon()) *
               static_cast<double>(T + M) * static_cast<double>(primal);
  compare(model.certificate(), model.settings.tolerance, primal, dual, error, check);
  check_groups(model, check);
  return check;
}

// What no certificate needs, but the file states.
void check_other_numbers(const Model& model, const Dataset& data, Verification& check) {
  Index rows = model.training_rows;
  for (const Extension& added : model.extensions) rows -= added.rows;
  if (rows != data.X.rows())
    check.findings.push_back(
        fmt::format("the training data has {} rows, not {} as stated", data.X.rows(), rows));
  const Method& method = *model.settings.method;
  if (method.is_main()) return;
  const Certificate& proof = model.certificate();
  if (proof.lambda_max != 0 || (method.is_linear() && proof.lambda != 0))
    check.findings.push_back(fmt::format(
        "the certificate states a lambda or lambda_max, which {} has not", method.name));
  if (!proof.complete)
    check.findings.push_back(
        fmt::format("the certificate states a task graph, which {} has not", method.name));
  if (method.lambda && model.settings.lambda != *method.lambda)
    check.findings.push_back(fmt::format("the setting `lambda` is {}, which is not that of {}",
                                         text_of(model.settings.lambda), method.name));
}

// Settings that no data can tell: how the fit was made, and those that mean nothing to the method.
void list_settings(const Model& model, Verification& check) {
  const Settings& settings = model.settings;
  const Method& method = *settings.method;
  check.taken.push_back(
      fmt::format("how the fit was made: `tolerance` {}, `max_steps` {}, `solver` {}, and its {} "
                  "outer steps",
                  settings.tolerance, settings.max_steps, text_of(settings.solver),
                  model.certificate().outer_steps));
  std::string names;
  for (const std::string& name : unused_fields(settings))
    if (name != "solver" && name != "parameters" && (name != "lambda" || method.is_linear()) &&
        (name != "norm" || method.is_linear()))
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", member_name(name));
  if (!names.empty())
    check.taken.push_back(fmt::format("settings that mean nothing to {}: {}", method.name, names));
}

}  // namespace

Verification verify_joint(const Model& model, const Dataset& data,
                          const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  Verification check = verify_main(model, data, precomputed, progress);
  const Method& method = *model.settings.method;
  const double lambda = model.certificate().lambda;
  if (method.lambda && lambda != method.lambda->value)
    check.findings.push_back(
        fmt::format("lambda is {:.10g}, which is not that of {}", lambda, method.name));
  return check;
}

namespace {

// The models of the groups' pools, as models of their samples alone. Every task of a group must have that of its first.
// Nothing where one has support vectors of another.
std::optional<Model> models_of_pools(const Model& model, const Groups& groups,
                                     const std::vector<std::vector<Index>>& samples,
                                     const Dataset& pools, Verification& check) {
  Model out = model;
  out.tasks.clear();
  out.casting = pools.casting;
  Matrix theta(std::ssize(groups), std::ssize(model.kernels));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<Index>& group = groups[g];
    const TaskModel& first = model.tasks[static_cast<std::size_t>(group.front())];
    for (const Index t : group) {
      const TaskModel& task = model.tasks[static_cast<std::size_t>(t)];
      if (!(task.function == first.function && task.bias == first.bias && task.C == first.C &&
            task.objective == first.objective))
        check.findings.push_back(
            fmt::format("the model of task '{}' is not that of the pool", task.name));
    }
    TaskModel pool = first;
    static_cast<TaskId&>(pool) = pools.tasks[g];
    pool.n = pools.tasks[g].size();
    pool.calibration = {};
    for (Index& i : std::get<KernelExpansion>(pool.function).sample) {
      const auto place = std::ranges::lower_bound(samples[g], i);
      if (place == samples[g].end() || *place != i) {
        check.findings.push_back(
            fmt::format("task '{}' has support vectors of tasks outside its group", first.name));
        return {};
      }
      i = place - samples[g].begin();
    }
    theta.row(static_cast<Index>(g)) = pool.theta();
    out.tasks.push_back(std::move(pool));
  }
  out.groups() = equal_rows(theta);
  return out;
}

}  // namespace

// The tasks of a group have one model, of their pool.
Verification verify_pooled(const Model& model, const Dataset& data,
                           const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  check_fit_to_model(model, 0, std::ssize(model.tasks), data, precomputed);
  const bool searched = model.settings.method->search_groups != nullptr;
  const Groups groups =
      searched ? model.groups() : groups_of(std::vector<Index>(model.tasks.size(), 0));
  std::vector<Index> sizes;
  for (const Task& task : data.tasks) sizes.push_back(task.size());
  const std::vector<std::vector<Index>> samples = pooled_samples(groups, sizes);
  const Dataset whole = pool_tasks(data);
  Dataset pools = whole;
  pools.tasks.clear();
  for (const std::vector<Index>& own : samples) {
    Task& pool = pools.tasks.emplace_back(whole.tasks.front());
    pool.name = fmt::format("group {}", pools.tasks.size());
    pool.y = whole.tasks.front().y(own);
    pool.rows.clear();
    for (const Index i : own)
      pool.rows.push_back(whole.tasks.front().rows[static_cast<std::size_t>(i)]);
  }
  Verification tasks;
  const std::optional<Model> models = models_of_pools(model, groups, samples, pools, tasks);
  if (!models) return tasks;
  Verification check = verify_main(*models, pools, precomputed, progress, &whole);
  check.findings.insert(check.findings.end(), tasks.findings.begin(), tasks.findings.end());
  if (!searched) {
    if (model.groups().size() != 1 || model.groups().front().size() != model.tasks.size())
      check.findings.emplace_back("the tasks of a pool are not one group");
    return check;
  }
  check.taken.emplace_back("which tasks are in one group");
  const auto most = static_cast<std::size_t>(parameters_of(model.settings).at("clusters"));
  if (model.groups().size() > most)
    check.findings.push_back(fmt::format("there are {} groups, more than the {} asked for",
                                         model.groups().size(), most));
  return check;
}

namespace {

// The SVM of the pool: every sample has the alpha that its own task's function gives it.
Model model_of_whole(const Model& model, const Task& pool, const SampleParts& parts) {
  TaskModel whole = model.tasks.front();
  static_cast<TaskId&>(whole) = pool;
  whole.n = pool.size();
  whole.calibration = {};
  KernelExpansion f;
  f.theta = whole.theta();
  std::vector<double> alpha, y;
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const KernelExpansion& own = model.tasks[t].expansion();
    for (std::size_t k = 0; k < own.sample.size(); ++k) {
      if (parts.part[static_cast<std::size_t>(own.sample[k])] != static_cast<Index>(t)) continue;
      f.support.push_back(own.support[k]);
      f.sample.push_back(own.sample[k]);
      alpha.push_back(own.alpha[static_cast<Index>(k)]);
      y.push_back(own.y[static_cast<Index>(k)]);
    }
  }
  f.alpha = Eigen::Map<const Vector>(alpha.data(), std::ssize(alpha));
  f.y = Eigen::Map<const Vector>(y.data(), std::ssize(y));
  whole.function = std::move(f);
  Model out = model;
  out.tasks = {std::move(whole)};
  out.groups() = {{0}};
  return out;
}

// What task t has of that SVM: alphas of other tasks' samples count `across` times.
KernelExpansion function_of(Index t, const KernelExpansion& whole, const SampleParts& parts) {
  KernelExpansion f;
  f.theta = whole.theta;
  std::vector<double> alpha, y;
  for (std::size_t k = 0; k < whole.sample.size(); ++k) {
    const double all = whole.alpha[static_cast<Index>(k)];
    const bool own = parts.part[static_cast<std::size_t>(whole.sample[k])] == t;
    const double value = own ? all : parts.across * all;
    if (!(value > 0)) continue;
    f.support.push_back(whole.support[k]);
    f.sample.push_back(whole.sample[k]);
    alpha.push_back(value);
    y.push_back(whole.y[static_cast<Index>(k)]);
  }
  f.alpha = Eigen::Map<const Vector>(alpha.data(), std::ssize(alpha));
  f.y = Eigen::Map<const Vector>(y.data(), std::ssize(y));
  return f;
}

}  // namespace

// One SVM of the pool, under kernels that are smaller between tasks.
Verification verify_own_parts(const Model& model, const Dataset& data,
                              const PrecomputedMatrices& precomputed,
                              const VerifyProgress& progress) {
  check_fit_to_model(model, 0, std::ssize(model.tasks), data, precomputed);
  SampleParts parts{{}, 1 - parameters_of(model.settings).at("own")};
  for (std::size_t t = 0; t < data.tasks.size(); ++t)
    parts.part.insert(parts.part.end(), static_cast<std::size_t>(data.tasks[t].size()),
                      static_cast<Index>(t));
  const Dataset pool = pool_tasks(data);
  Model whole = model_of_whole(model, pool.tasks.front(), parts);
  whole.casting = pool.casting;
  const TaskModel& svm = whole.tasks.front();
  Verification check = verify_main(whole, pool, precomputed, progress, nullptr, &parts);
  for (std::size_t t = 0; t < model.tasks.size(); ++t) {
    const TaskModel& task = model.tasks[t];
    if (!(task.expansion() == function_of(static_cast<Index>(t), svm.expansion(), parts) &&
          task.bias == svm.bias && task.C == svm.C && task.objective == svm.objective))
      check.findings.push_back(fmt::format(
          "the model of task '{}' is not what the SVM of all tasks gives it", task.name));
  }
  if (model.groups().size() != 1 || model.groups().front().size() != model.tasks.size())
    check.findings.emplace_back("tasks of equal kernel weights are not one group");
  return check;
}

Verification verify_uniform(const Model& model, const Dataset& data,
                            const PrecomputedMatrices& precomputed,
                            const VerifyProgress& progress) {
  return verify_shared(model, data, precomputed, progress, {1, 1, true});
}

Verification verify_tang(const Model& model, const Dataset& data,
                         const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const double share = parameters_of(model.settings).at("share");
  return verify_shared(model, data, precomputed, progress, {share, 1, false});
}

Verification verify_pareto(const Model& model, const Dataset& data,
                           const PrecomputedMatrices& precomputed, const VerifyProgress& progress) {
  const double power = parameters_of(model.settings).at("power");
  return verify_shared(model, data, precomputed, progress, {1, power, false});
}

namespace {

// Models of the first stage by their own certificates. What made the scores of training rows, models of some of the rows, is not kept.
void check_first_stage(const Model& model, const Dataset& data, Verification& check) {
  const FirstStage& first = *model.first_stage;
  for (std::size_t b = 0; b < first.blocks.size(); ++b) {
    const Verification own = verify_training(first.models[b], data);
    for (const std::string& finding : own.findings)
      check.findings.push_back(fmt::format("first stage @{}: {}", first.blocks[b], finding));
    for (const std::string& taken : own.taken)
      check.taken.push_back(fmt::format("first stage @{}: {}", first.blocks[b], taken));
  }
  if (score_blocks(model.settings.kernels.list(), data.features) != first.blocks)
    check.findings.emplace_back("the first stage is not what the kernels look at");
  if (!(first.factor.array() > 0).all())
    check.findings.emplace_back("the factor that standardises a score is not positive");
  check.taken.push_back(
      fmt::format("the scores of the {} training rows by models that had not seen them, and how "
                  "scores are standardised",
                  first.scores.rows()));
}

}  // namespace

Verification verify_training(const Model& model, const Dataset& raw,
                             const PrecomputedMatrices& precomputed,
                             const VerifyProgress& progress) {
  const Method& method = *model.settings.method;
  Dataset scored;
  if (model.first_stage) scored = with_stored_scores(*model.first_stage, raw);
  const Dataset& data = model.first_stage ? scored : raw;
  if (data.classes != model.classes)
    throw InputError(
        "The classes of the data are not those of the model; verify needs the training data.");
  Verification check = method.verify(model, data, precomputed, progress);
  if (model.first_stage) check_first_stage(model, raw, check);
  check_other_numbers(model, data, check);
  check_support(model, check);
  list_settings(model, check);
  const Index base =
      model.extensions.empty() ? std::ssize(model.tasks) : model.extensions.front().base_tasks;
  list_taken(model, {model.tasks.begin(), model.tasks.begin() + base}, check);
  if (method.is_linear()) return check;
  if (!method.is_main() && !method.pools) check_groups_apart(model, check);
  const Claim not_convex = method.search_groups ? Claim::given_clusters : Claim::stationary;
  if (model.certificate().claim != (is_convex(model.settings) ? Claim::optimum : not_convex))
    check.findings.push_back(fmt::format("the certificate claims '{}', which {} cannot give",
                                         to_string(model.certificate().claim), method.name));
  return check;
}

}  // namespace coterie
