// For tests: small linear problems whose tasks have clusters, and what their pulls are by plain loops.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "coterie/baseline/linear.hpp"
#include "coterie/math/random.hpp"

namespace coterie {

inline Matrix random_matrix(Random& random, Index rows, Index columns, double scale = 1) {
  Matrix M(rows, columns);
  for (double& x : M.reshaped()) x = scale * random.normal();
  return M;
}

struct ClusteredLinear {
  Index T = 5, d = 4, samples = 14, clusters = 2;
  double spread = 0.3;  // of the true weights in a cluster; task t is in cluster t mod `clusters`
  Loss loss = Loss::squared_hinge;
};

inline LinearProblem clustered_linear(Random& random, const ClusteredLinear& kind) {
  LinearProblem problem;
  problem.loss = kind.loss;
  const Matrix centres = random_matrix(random, kind.clusters, kind.d);
  for (Index t = 0; t < kind.T; ++t) {
    const Index n = kind.samples + t % 3;
    const Matrix X = random_matrix(random, n, kind.d);
    const Vector w = centres.row(t % kind.clusters) + random_matrix(random, 1, kind.d, kind.spread);
    const Vector f = (X * w).array() + 0.5 * random.normal();
    Vector y(n);
    for (Index i = 0; i < n; ++i) y[i] = f[i] + 0.3 * random.normal() > 0 ? 1 : -1;
    y[0] = 1;
    y[1] = -1;
    problem.X.push_back(X);
    problem.y.push_back(y);
    problem.c.push_back(Vector::Constant(n, 1 / static_cast<double>(n)));
  }
  return problem;
}

// The loss, what its pulls prove of it, and Z, at (W, b).
struct Pulls {
  double loss = 0, dual = 0;
  Matrix Z;        // T x d
  Vector balance;  // T, sum_i c_i s_i y_i
};

inline Pulls pulls_at(const LinearProblem& problem, const Matrix& W, const Vector& b) {
  Pulls out;
  out.Z = Matrix::Zero(W.rows(), W.cols());
  out.balance = Vector::Zero(W.rows());
  for (Index t = 0; t < W.rows(); ++t) {
    for (Index i = 0; i < problem.X[t].rows(); ++i) {
      const double y = problem.y[t][i];
      const double c = problem.c[t][i];
      const double margin = y * (problem.X[t].row(i).dot(W.row(t)) + b[t]);
      double s = 1 - margin;
      double loss = s * s / 2;
      double conjugate = s * s / 2 - s;
      if (problem.loss == Loss::squared_hinge && s < 0) s = loss = conjugate = 0;
      if (problem.loss == Loss::logistic) {
        s = 1 / (1 + std::exp(margin));
        loss = std::log1p(std::exp(-margin));
        conjugate = s * std::log(s) + (1 - s) * std::log1p(-s);
      }
      out.loss += c * loss;
      out.dual -= c * conjugate;
      out.balance[t] += c * s * y;
      out.Z.row(t) += c * s * y * problem.X[t].row(i);
    }
  }
  return out;
}

template <typename T>
std::vector<T> permuted(const std::vector<T>& items, const std::vector<Index>& order) {
  std::vector<T> out;
  for (const Index i : order) out.push_back(items[i]);
  return out;
}

// Tasks in another order.
inline LinearProblem permute_tasks(const LinearProblem& problem, const std::vector<Index>& order) {
  return {permuted(problem.X, order), permuted(problem.y, order), permuted(problem.c, order),
          problem.loss};
}

// Samples of every task from the last to the first.
inline LinearProblem reverse_samples(LinearProblem problem) {
  for (Index t = 0; t < problem.T(); ++t) {
    problem.X[t] = Matrix(problem.X[t].colwise().reverse());
    problem.y[t].reverseInPlace();
    problem.c[t].reverseInPlace();
  }
  return problem;
}

// Features x become Q'x.
inline LinearProblem turn_features(LinearProblem problem, const Matrix& Q) {
  for (Matrix& X : problem.X) X = Matrix(X * Q);
  return problem;
}

}  // namespace coterie
