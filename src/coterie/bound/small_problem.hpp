// Problems so small that every vector of signs can be tried, for tests.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "coterie/bound/complexity.hpp"
#include "coterie/bound/signs.hpp"
#include "coterie/bound/supremum.hpp"
#include "coterie/math/random.hpp"

namespace coterie {

struct SmallProblem {
  std::vector<TaskGrams> tasks;
  std::vector<Matrix> forms;  // per task: sign vectors x M
  std::vector<TaskSums> sums;
  WeightSet D = WeightSet(1);
  double N = 0;

  Index T() const { return std::ssize(tasks); }
  Index M() const { return tasks.front().M(); }
  Index draws() const { return forms.front().rows(); }
  Matrix U(Index draw) const {
    Matrix out(T(), M());
    for (Index t = 0; t < T(); ++t) out.row(t) = forms[static_cast<std::size_t>(t)].row(draw);
    return out;
  }
};

// K = X X' with random X; unit: diagonals of 1.
inline Matrix random_gram(Random& random, Index n, Index rank, bool unit) {
  Matrix X(n, rank);
  for (double& x : X.reshaped()) x = random.normal();
  if (unit) X.rowwise().normalize();
  return X * X.transpose();
}

// All vectors of signs but those that only turn another round, for u is the same: the first sign is +1.
inline SmallProblem enumerate_signs(std::vector<TaskGrams> tasks, const WeightSet& D) {
  SmallProblem out;
  out.D = D;
  Index N = 0;
  for (const TaskGrams& task : tasks) N += task.n();
  const Index draws = Index{1} << (N - 1);
  Index first = 0;
  for (const TaskGrams& task : tasks) {
    Eigen::MatrixXd signs(task.n(), draws);
    for (Index k = 0; k < draws; ++k)
      for (Index i = 0; i < task.n(); ++i) signs(i, k) = ((2 * k) >> (first + i)) & 1 ? -1 : 1;
    first += task.n();
    out.forms.push_back(quadratic_forms(task, signs));
    out.sums.push_back(sums_of(task, D));
  }
  out.tasks = std::move(tasks);
  out.N = static_cast<double>(N);
  return out;
}

// Two or three tasks of 1 to 4 samples, 7 samples at most, and 1 to 4 kernels of any rank and scale.
inline SmallProblem small_problem(std::uint64_t seed) {
  Random random(seed);
  const double norms[] = {1, 1, 1, 1.5, 2, std::numeric_limits<double>::infinity()};
  const Index T = 2 + random.below(2), M = 1 + random.below(4);
  const bool unit = random.below(3) > 0;
  std::vector<TaskGrams> tasks;
  Index left = 7;
  for (Index t = 0; t < T; ++t) {
    const Index n = 1 + random.below(std::min<Index>(4, left - (T - 1 - t)));
    left -= n;
    std::vector<Matrix> grams;
    for (Index m = 0; m < M; ++m)
      grams.push_back(random_gram(random, n, 1 + random.below(n + 1), unit));
    tasks.emplace_back(std::move(grams));
  }
  return enumerate_signs(std::move(tasks), WeightSet(norms[random.below(6)]));
}

}  // namespace coterie
