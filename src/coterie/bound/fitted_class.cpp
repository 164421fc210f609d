#include "coterie/bound/fitted_class.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <span>

#include "coterie/bound/supremum.hpp"
#include "coterie/data/scaling.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/model/method.hpp"

namespace coterie {

namespace {

constexpr Index strip_samples = 256;  // samples whose kernel values are in memory at a time

// f(x) - b at all samples of a task.
Vector centred_decisions(const TaskGrams& grams, const KernelExpansion& f, const Vector& beta) {
  std::vector<Index> all(static_cast<std::size_t>(grams.n()));
  std::iota(all.begin(), all.end(), Index{0});
  Vector values(grams.n());
  for (Index top = 0; top < grams.n(); top += strip_samples) {
    const Index count = std::min(strip_samples, grams.n() - top);
    values.segment(top, count) = cross_decisions(
        grams,
        std::span(all).subspan(static_cast<std::size_t>(top), static_cast<std::size_t>(count)),
        f.sample, f.theta, beta);
  }
  return values;
}

WeightSet weights_of(const Model& model) {
  const bool any_norm = model.settings.method->joint;
  return WeightSet(any_norm ? model.settings.norm : 1.0);
}

std::string names_that_apply() {
  std::string names;
  for (const Method& method : methods())
    if (!method.is_linear() && !method.pools) names += (names.empty() ? "" : ", ") + method.name;
  return names;
}

// Per task, those that it shares a row with.
std::vector<std::set<std::size_t>> tasks_met(const Dataset& data) {
  std::vector<std::vector<std::size_t>> users(static_cast<std::size_t>(data.X.rows()));
  for (std::size_t t = 0; t < data.tasks.size(); ++t)
    for (const Index row : data.tasks[t].rows) users[static_cast<std::size_t>(row)].push_back(t);
  std::vector<std::set<std::size_t>> meets(data.tasks.size());
  for (const std::vector<std::size_t>& some : users)
    for (const std::size_t t : some)
      for (const std::size_t s : some)
        if (s != t) meets[t].insert(s);
  return meets;
}

}  // namespace

void require_kernel_weights(const Model& model) {
  const Method& method = *model.settings.method;
  if (method.is_linear() || method.pools)
    throw InputError(
        fmt::format("the bound is about kernel weights of single tasks, but `method` {} {}. It is "
                    "for models of {}.",
                    method.name,
                    method.is_linear()     ? "learns weights of features"
                    : method.search_groups ? "has one model for a group"
                    : method.own_part      ? "has one SVM for all"
                                           : "has one model for all",
                    names_that_apply()));
  if (model.first_stage)
    throw InputError(
        "the bound is about kernels that are given, but this model has kernels on scores of other "
        "models, which were learnt from the labels.");
  const WeightSet D = weights_of(model);
  for (const TaskModel& task : model.tasks)
    if (!D.contains(task.theta(), 1e-6))
      throw InputError(
          fmt::format("the kernel weights of task '{}' are outside of the set that they were "
                      "learnt in. The model is damaged: train it again.",
                      task.name));
}

std::vector<TaskGrams> grams_on(const Model& model, Dataset data,
                                const PrecomputedMatrices& precomputed, int threads) {
  double largest_C = 1;
  for (const TaskModel& task : model.tasks)
    if (task.expansion().alpha.size() > 0)
      largest_C = std::max(largest_C, task.expansion().alpha.maxCoeff());
  data.X = apply_scaling(model.scaling, std::move(data.X));
  std::vector<TaskGrams> tasks = compute_grams(data, model.kernels, Normalisation{}, precomputed,
                                               threads, Storage::on_demand, largest_C)
                                     .tasks;
  divide(tasks, model.divisors);
  return tasks;
}

FittedClass fitted_class(const Model& model, const Dataset& data,
                         const std::vector<TaskGrams>& grams, int threads) {
  const Index T = std::ssize(grams);
  FittedClass out;
  out.D = weights_of(model);
  out.theta.resize(T, std::ssize(model.kernels));
  out.norms.resize(T);
  std::vector<Vector> margins(grams.size());
  parallel_for(T, threads, [&](Index t) {
    const std::size_t i = static_cast<std::size_t>(t);
    const TaskModel& task = model.tasks[i];
    const KernelExpansion& f = task.expansion();
    const Vector beta = f.alpha.cwiseProduct(f.y);
    const Vector values = centred_decisions(grams[i], f, beta);
    out.theta.row(t) = f.theta;
    out.norms[t] = std::max(0.0, beta.dot(values(f.sample)));
    margins[i] = data.tasks[i].y.array() * (values.array() + task.bias);
  });
  Index N = 0;
  for (const Vector& some : margins) N += some.size();
  out.margins.resize(N);
  Index at = 0;
  for (std::size_t i = 0; i < margins.size(); ++i) {
    out.margins.segment(at, margins[i].size()) = margins[i];
    at += margins[i].size();
    out.largest_bias = std::max(out.largest_bias, std::abs(model.tasks[i].bias));
  }
  out.R = out.norms.maxCoeff();
  out.gamma = spread(out.theta);
  return out;
}

// Colours of a graph whose edges are tasks with a common row, after Brelaz (1979): the next task is the one that most rounds are closed
// to, the first of those. On the pairs of ten classes that gives the nine rounds there must be; in the order of the tasks it were 15.
std::vector<std::vector<Index>> rounds_of(const Dataset& data) {
  const std::size_t T = data.tasks.size();
  std::vector<std::set<std::size_t>> meets = tasks_met(data);
  std::vector<std::vector<Index>> rounds;
  std::vector<std::set<std::size_t>> closed(T);  // rounds in which a task that it meets is
  std::vector<bool> placed(T, false);
  for (std::size_t step = 0; step < T; ++step) {
    std::size_t next = T;
    for (std::size_t t = 0; t < T; ++t)
      if (!placed[t] && (next == T || closed[t].size() > closed[next].size())) next = t;
    std::size_t round = 0;
    while (closed[next].contains(round)) ++round;
    if (round == rounds.size()) rounds.emplace_back();
    rounds[round].push_back(static_cast<Index>(next));
    placed[next] = true;
    for (const std::size_t other : meets[next]) closed[other].insert(round);
  }
  for (std::vector<Index>& round : rounds) std::ranges::sort(round);
  return rounds;
}

double squared_uses(const Dataset& data) {
  Vector uses = Vector::Zero(data.X.rows());
  for (const Task& task : data.tasks)
    for (const Index row : task.rows) uses[row] += 1;
  return uses.squaredNorm();
}

}  // namespace coterie
