// Random problems for tests: data and settings over the whole range that users may bring, degenerate ones among them.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "coterie/data/dataset.hpp"
#include "coterie/math/random.hpp"
#include "coterie/model/train.hpp"

namespace coterie {

enum class Oddity {
  none,
  duplicate_samples,
  duplicate_kernels,   // two widths so close that their matrices are equal to rounding
  few_features,        // linear kernels only, fewer features than samples: singular matrices
  single_free_vector,  // large noise, small C: nearly all alpha at a bound
  unequal_sizes,
  identical_tasks,
  count
};

struct RandomProblem {
  Dataset data;
  Settings settings;
  Extras extras = {};
  std::string description = {};
};

// The largest problems there are, and whether settings are drawn that unit tests leave at their defaults.
struct ProblemRange {
  Index tasks = 8, samples = 60, kernels = 10;
  bool all_settings = false;
};

// C from 1e-3 to 1e4, norms, normalisations and scales, tasks with a C of their own, and graphs.
template <typename Source>
void draw_other_settings(Source& random, RandomProblem& problem) {
  Settings& settings = problem.settings;
  const double norms[] = {
      1, 1, 1, 1.0001, 1.01, 1.1, 1.5, 2, 3, 10, std::numeric_limits<double>::infinity()};
  const Normalisation normalisations[] = {Normalisation::cosine(),   Normalisation::cosine(),
                                          Normalisation::variance(), Normalisation::tail(1),
                                          Normalisation::tail(4),    Normalisation::none()};
  const Scale scales[] = {Scale::none, Scale::standard, Scale::minmax};
  settings.C = std::pow(10, random.uniform(-3, 4));
  settings.norm = norms[random.below(11)];
  settings.normalise = normalisations[random.below(6)];
  settings.scale = scales[random.below(3)];
  if (random.below(3) == 0)
    for (const Task& task : problem.data.tasks)
      if (random.below(4) > 0)
        problem.extras.task_C[task.name] = std::pow(10, random.uniform(-6, 6));
  problem.extras.complete = random.below(3) > 0;
  const Index T = std::ssize(problem.data.tasks);
  for (Index t = 0; t < T && !problem.extras.complete; ++t)
    for (Index s = t + 1; s < T; ++s)
      if (random.below(2) == 0)
        problem.extras.graph.push_back({t, s, std::pow(10, random.uniform(-3, 3))});
}

// `random` is a Random, or takes its numbers from elsewhere.
template <typename Source>
Dataset draw_samples(Source& random, Oddity oddity, const ProblemRange& range) {
  Dataset data;
  const Index T = 1 + random.below(range.tasks);
  const Index d = oddity == Oddity::few_features ? 1 + random.below(3) : 2 + random.below(8);
  std::vector<Index> sizes;
  Index rows = 0;
  for (Index t = 0; t < T; ++t) {
    Index n = 4 + random.below(range.samples - 3);
    if (oddity == Oddity::unequal_sizes) n = t % 2 ? 4 : range.samples;
    sizes.push_back(n);
    rows += n;
  }
  for (Index j = 0; j < d; ++j) data.features.push_back("f" + std::to_string(j + 1));
  data.X.resize(rows, d);
  Index row = 0;
  const double separation = random.uniform(0, 2);
  for (Index t = 0; t < T; ++t) {
    Task task;
    task.name = "t" + std::to_string(t + 1);
    task.negative = "-1";
    task.positive = "1";
    const Index n = sizes[static_cast<std::size_t>(t)];
    task.y.resize(n);
    for (Index i = 0; i < n; ++i, ++row) {
      task.rows.push_back(row);
      task.y[i] = i == 0 ? 1 : i == 1 ? -1 : random.uniform() < 0.5 ? -1 : 1;
      for (Index j = 0; j < d; ++j)
        data.X(row, j) = random.normal() + (j % 3 == t % 3 ? separation * task.y[i] : 0);
      if (oddity == Oddity::duplicate_samples && i > 1 && random.uniform() < 0.5)
        data.X.row(row) = data.X.row(row - 1 - random.below(std::min<Index>(i, 3)));
    }
    data.tasks.push_back(std::move(task));
  }
  if (oddity == Oddity::identical_tasks && T > 1) {
    Task twin = data.tasks[0];
    twin.name = data.tasks[1].name;
    data.tasks[1] = std::move(twin);
  }
  return data;
}

template <typename Source>
std::string draw_kernels(Source& random, Oddity oddity, const ProblemRange& range, Index d) {
  const Index M = 1 + random.below(range.kernels);
  std::string kernels;
  if (oddity == Oddity::few_features) {
    kernels = "linear:raw";
    for (Index j = 0; j + 1 < d; ++j) kernels += " linear:raw@f" + std::to_string(j + 1);
  } else if (oddity == Oddity::duplicate_kernels) {
    kernels = "gauss:1,1.0000000000000002,3 linear poly:2";
  } else {
    const char* const choices[] = {"gauss:1",      "linear",  "gauss:2",   "poly:2",
                                   "gauss:0.5",    "gauss:8", "laplace:2", "gauss:1@f1-f2",
                                   "linear@f1-f2", "poly:3:1"};
    for (Index m = 0; m < M; ++m) kernels += std::string(choices[m]) + " ";
  }
  return kernels;
}

inline std::string description_of(const RandomProblem& problem, Oddity oddity) {
  const Settings& settings = problem.settings;
  return "oddity " + std::to_string(static_cast<int>(oddity)) + ", T " +
         std::to_string(problem.data.tasks.size()) + ", C " + std::to_string(settings.C) +
         ", lambda " + text_of(settings.lambda) + ", norm " + std::to_string(settings.norm) +
         ", normalise " + text_of(settings.normalise) + ", scale " +
         text_of(in_full(settings).scale) + ", class weight " + text_of(settings.class_weight) +
         (problem.extras.complete ? "" : ", graph") +
         (problem.extras.task_C.empty() ? "" : ", task C") + ", kernels " +
         text_of(settings.kernels);
}

template <typename Source>
RandomProblem draw_problem(Source& random, Oddity oddity, const ProblemRange& range = {}) {
  RandomProblem problem;
  Settings& settings = problem.settings;
  problem.data = draw_samples(random, oddity, range);
  settings.kernels = draw_kernels(random, oddity, range, problem.data.X.cols());
  settings.C = std::pow(10, random.uniform(-3, 3));
  if (oddity == Oddity::single_free_vector) settings.C = std::pow(10, random.uniform(-3, -1));
  settings.norm = random.uniform() < 0.6 ? 1 : 2;
  const Lambda lambdas[] = {0,        "inf",    "0.001max", "0.01max", "0.05max", "0.2max",
                            "0.5max", "0.9max", 0.1,        3,         1e-6,      1000};
  settings.lambda = lambdas[random.below(12)];
  if (random.uniform() < 0.2) settings.class_weight = ClassWeight::balanced;
  settings.tolerance = 1e-6;
  if (range.all_settings) draw_other_settings(random, problem);
  problem.description = description_of(problem, oddity);
  return problem;
}

inline RandomProblem random_problem(std::uint64_t seed, Oddity oddity) {
  Random random(seed);
  RandomProblem problem = draw_problem(random, oddity);
  problem.description = "seed " + std::to_string(seed) + ", " + problem.description;
  return problem;
}

// One with all settings, of an oddity of its own.
inline RandomProblem wild_problem(std::uint64_t seed) {
  Random random(seed + 1'000'003);
  const auto oddity = static_cast<Oddity>(random.below(static_cast<Index>(Oddity::count)));
  ProblemRange range;
  range.all_settings = true;
  if (random.below(8) == 0) range.samples = 200;  // more than the SVMs begin with
  RandomProblem problem = draw_problem(random, oddity, range);
  problem.description = "wild seed " + std::to_string(seed) + ", " + problem.description;
  return problem;
}

}  // namespace coterie
