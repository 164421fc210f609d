#include "coterie/mtmkl/objective.hpp"

#include <Eigen/Cholesky>

namespace coterie {

namespace {

// (K beta)_i for the rows in `wanted`, K one base matrix. Few support vectors: gather; many: whole rows.
Vector apply(const Matrix& K, const Vector& beta, const std::vector<Index>& support,
             const std::vector<Index>& wanted) {
  Vector out(static_cast<Index>(wanted.size()));
  const bool dense = 2 * std::ssize(support) > K.rows();
  const Vector coefficients = beta(support);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const auto row = K.row(wanted[k]);
    if (dense) {
      out[static_cast<Index>(k)] = row.dot(beta);
    } else {
      double sum = 0;
      for (std::size_t j = 0; j < support.size(); ++j)
        sum += row[support[j]] * coefficients[static_cast<Index>(j)];
      out[static_cast<Index>(k)] = sum;
    }
  }
  return out;
}

}  // namespace

TaskState evaluate_task(const MtmklProblem& problem, Index t, ConstVectorRef theta,
                        ConstVectorRef start, double svm_gap_tolerance) {
  const TaskGrams& base = problem.grams[static_cast<std::size_t>(t)];
  const Vector& y = problem.y[static_cast<std::size_t>(t)];
  const Vector& C = problem.C[static_cast<std::size_t>(t)];
  const Vector ones = Vector::Ones(y.size());
  MixedGram K(base, theta);
  TaskState state;
  state.svm = solve_svm(K, {y, ones, C}, start, {.gap_tolerance = svm_gap_tolerance});

  const Vector beta = y.cwiseProduct(state.svm.alpha);
  std::vector<Index> support;
  std::vector<Index> free;          // indices of samples
  std::vector<Index> free_support;  // their places in `support`
  for (Index i = 0; i < y.size(); ++i) {
    if (state.svm.alpha[i] <= 0) continue;
    if (state.svm.alpha[i] > 1e-10 * C[i] && state.svm.alpha[i] < (1 - 1e-10) * C[i]) {
      free.push_back(i);
      free_support.push_back(static_cast<Index>(support.size()));
    }
    support.push_back(i);
  }
  const Index M = problem.M();
  const Vector beta_support = beta(support);
  Eigen::MatrixXd r(std::ssize(free), M);
  state.g.resize(M);
  for (Index m = 0; m < M; ++m) {
    const Vector K_beta = apply(base[static_cast<std::size_t>(m)], beta, support, support);
    state.g[m] = -0.5 * beta_support.dot(K_beta);
    r.col(m) = K_beta(free_support);
  }

  state.H = Matrix::Zero(M, M);
  if (free.size() < 2) return state;  // a single free vector cannot move: the sum of beta is fixed
  const Index F = std::ssize(free);
  Eigen::MatrixXd A(F, F);
  for (Index k = 0; k < F; ++k) {
    const double* row = K.row(free[static_cast<std::size_t>(k)]);
    for (Index l = 0; l < F; ++l) A(k, l) = row[free[static_cast<std::size_t>(l)]];
  }
  // A may be singular (duplicate samples, linear kernels with few features): the ridge keeps H finite there.
  A.diagonal().array() += 1e-8 * A.trace() / static_cast<double>(F);
  const Eigen::LLT<Eigen::MatrixXd> factor(A);
  if (factor.info() != Eigen::Success) return state;
  const Eigen::MatrixXd half = factor.matrixL().solve(r);
  const Vector half_ones = factor.matrixL().solve(Vector::Ones(F));
  const Vector along = half.transpose() * half_ones;
  state.H = half.transpose() * half - along * along.transpose() / half_ones.squaredNorm();
  return state;
}

Vector gradient(const MtmklProblem& problem, Index t, ConstVectorRef alpha) {
  const Vector beta = problem.y[static_cast<std::size_t>(t)].cwiseProduct(alpha);
  std::vector<Index> support;
  for (Index i = 0; i < beta.size(); ++i)
    if (beta[i] != 0) support.push_back(i);
  Vector g(problem.M());
  for (Index m = 0; m < g.size(); ++m)
    g[m] = -0.5 * beta(support).dot(
                      apply(problem.grams[static_cast<std::size_t>(t)][static_cast<std::size_t>(m)],
                            beta, support, support));
  return g;
}

}  // namespace coterie
