// Problems for tests of methods that learn kernel weights on the simplex, and what their tests ask of every fit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "coterie/data/planted.hpp"
#include "coterie/model/random_problem.hpp"
#include "coterie/model/train.hpp"
#include "coterie/model/verify_method.hpp"
#include "coterie/svm/task_svm.hpp"

namespace coterie {

struct KernelProblem {
  Dataset data;
  Settings settings;
  Prepared prepared;
  std::string description;

  KernelProblem(Dataset data_, Settings settings_, std::string description_)
      : data(std::move(data_)),
        settings(std::move(settings_)),
        description(std::move(description_)) {
    settings.norm = 1;
    prepared = prepare(data, settings, {}, 1);
  }

  Index T() const { return std::ssize(data.tasks); }
  Index M() const { return std::ssize(prepared.grams.kernels); }
  MtmklProblem at(double lambda = 0) const {
    return joint_problem(prepared, prepared.set.C, lambda, 1);
  }
  Model model_of(const Fit& fit, const MethodRef& method, const Parameters& parameters,
                 double tolerance) const {
    Settings stated = settings;
    stated.method = method;
    stated.parameters = parameters;
    stated.tolerance = tolerance;
    Fitted fitted;
    fitted.fit = fit;
    fitted.lambda = method->lambda.value().value;
    Model model = make_model(prepared, stated, fitted, "");
    model.certificate().claim = fit.claim;
    return model;
  }
};

inline KernelProblem kernel_problem(std::uint64_t seed, Oddity oddity = Oddity::none) {
  RandomProblem random = random_problem(seed, oddity);
  return {std::move(random.data), std::move(random.settings), std::move(random.description)};
}

// Tasks of two groups that want different kernels. Solvers begin with 64 samples of a task.
inline KernelProblem planted_problem(
    Index tasks, Index samples, std::uint64_t seed = 1,
    const std::string& kernels = "linear gauss:1,2,4@f1-f4 gauss:2@f5-f8 poly:2") {
  const Planted planted =
      plant_groups({.tasks = tasks, .groups = 2, .samples = samples, .seed = seed});
  Settings settings;
  settings.kernels = kernels;
  settings.C = 3;
  return {cast_into_tasks(planted.samples, Casting::binary), settings, "planted"};
}

// The first problems of all kinds.
inline void for_random_problems(int count, const std::function<void(const KernelProblem&)>& test) {
  const int kinds = static_cast<int>(Oddity::count);
  for (int i = 0; i < count; ++i) {
    const KernelProblem problem =
        kernel_problem(1000 + static_cast<std::uint64_t>(i), static_cast<Oddity>(i % kinds));
    SCOPED_TRACE(problem.description);
    test(problem);
  }
}

inline FitSettings to_gap(double gap_tolerance, int threads = 1) {
  FitSettings settings;
  settings.gap_tolerance = gap_tolerance;
  settings.threads = threads;
  return settings;
}

inline double scale_of(const Fit& fit) { return std::max(1.0, std::abs(fit.primal)); }

inline void expect_proved(const KernelProblem& problem, const Fit& fit, const MethodRef& method,
                          const Parameters& parameters, double tolerance) {
  EXPECT_EQ(fit.status, Status::converged);
  EXPECT_LE(fit.gap, tolerance);
  const Verification check =
      verify_training(problem.model_of(fit, method, parameters, tolerance), problem.data);
  for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
  EXPECT_LE(check.gap, tolerance * (1 + 1e-3) + 1e-11);
}

inline void expect_same_bits(const Fit& a, const Fit& b) {
  EXPECT_EQ(a.theta, b.theta);
  EXPECT_EQ(a.bias, b.bias);
  EXPECT_EQ(a.alpha, b.alpha);
  EXPECT_EQ(a.task_objective, b.task_objective);
  EXPECT_EQ(a.primal, b.primal);
  EXPECT_EQ(a.dual, b.dual);
  EXPECT_EQ(a.outer_steps, b.outer_steps);
}

// A random point of the simplex, often with zeros.
inline Vector random_weights(Random& random, Index M) {
  Vector theta(M);
  for (Index m = 0; m < M; ++m)
    theta[m] = random.uniform() < 0.3 ? 0 : -std::log(1 - random.uniform());
  theta[random.below(M)] += 1e-3;
  return theta / theta.sum();
}

inline WarmStart random_start(Random& random, const KernelProblem& problem) {
  WarmStart start;
  start.theta.resize(problem.T(), problem.M());
  for (Index t = 0; t < problem.T(); ++t) start.theta.row(t) = random_weights(random, problem.M());
  for (const Vector& C : problem.prepared.set.C) {
    Vector alpha(C.size());
    for (Index i = 0; i < C.size(); ++i) alpha[i] = C[i] * random.uniform();
    start.alpha.push_back(std::move(alpha));
  }
  return start;
}

// J_t at other weights: primal value of the SVM, from scratch.
inline double task_value(const KernelProblem& problem, Index t, const Vector& theta) {
  const std::size_t i = static_cast<std::size_t>(t);
  const Vector& y = problem.prepared.set.y[i];
  return train_svm(problem.prepared.grams.tasks[i], theta, y, Vector::Ones(y.size()),
                   problem.prepared.set.C[i], {.gap_tolerance = 1e-11})
      .primal;
}

// Tasks, and the samples of every task, in another order.
inline KernelProblem shuffled(const KernelProblem& problem, std::uint64_t seed) {
  Random random(seed);
  Dataset data = problem.data;
  random.shuffle(data.tasks);
  for (Task& task : data.tasks) {
    std::vector<Index> order(task.rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
    random.shuffle(order);
    const Task old = task;
    for (std::size_t i = 0; i < order.size(); ++i) {
      task.rows[i] = old.rows[static_cast<std::size_t>(order[i])];
      task.y[static_cast<Index>(i)] = old.y[order[i]];
    }
  }
  return {std::move(data), problem.settings, problem.description};
}

}  // namespace coterie
