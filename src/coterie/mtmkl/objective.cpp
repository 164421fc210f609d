#include "coterie/mtmkl/objective.hpp"

#include <utility>

#include "coterie/math/dense.hpp"
#include "coterie/svm/interior_svm.hpp"

namespace coterie {

namespace {

std::vector<Index> free_support(const TaskSvm& task,
                                const TaskState& state) {  // places in `support`
  std::vector<Index> free;
  for (std::size_t k = 0; k < state.support.size(); ++k) {
    const Index i = state.support[k];
    const double alpha = state.svm.alpha[i];
    if (alpha > 1e-10 * task.C()[i] && alpha < (1 - 1e-10) * task.C()[i])
      free.push_back(static_cast<Index>(k));
  }
  return thin_out(std::move(free), kMostFree);
}

std::vector<Index> at(const std::vector<Index>& values, const std::vector<Index>& places) {
  std::vector<Index> out;
  for (const Index k : places) out.push_back(values[static_cast<std::size_t>(k)]);
  return out;
}

Eigen::MatrixXd lower_half(MixedGram& K, const std::vector<Index>& places) {
  const Index size = std::ssize(places);
  Eigen::MatrixXd A(size, size);
  for (Index k = 0; k < size; ++k) {
    const double* row = K.row(places[static_cast<std::size_t>(k)]);
    for (Index l = k; l < size; ++l) A(l, k) = row[places[static_cast<std::size_t>(l)]];
  }
  return A;
}

}  // namespace

TaskState evaluate_task(TaskSvm& task, ConstVectorRef theta, ConstVectorRef start,
                        double svm_gap_tolerance, RowPool& pool, Index kept, double tau,
                        const KeepGoing& keep_going) {
  MixedGram& K = task.gram();
  K.set_weights(theta);
  K.lend(pool.take());
  TaskState state;
  state.tau = tau;
  state.svm =
      task.solve(start, {.gap_tolerance = svm_gap_tolerance, .tau = tau, .keep_going = keep_going});
  const Vector beta = task.y().cwiseProduct(state.svm.alpha);
  for (Index k = 0; k < beta.size(); ++k)
    if (beta[k] != 0) state.support.push_back(k);
  const std::vector<Index> free = free_support(task, state);
  if (std::ssize(free) <= kept) state.A = lower_half(K, at(state.support, free));
  pool.give_back(K.take_back());
  K.products(state.support, state.support, beta.data(), state.K_beta);
  state.g = -0.5 * times(state.K_beta.transpose(), Vector(beta(state.support)));
  return state;
}

void add_curvature(TaskSvm& task, TaskState& state, RowPool& pool) {
  const Index M = state.g.size();
  const bool whole = M <= kWholeHessian;
  state.has_curvature = true;
  state.H = whole ? Matrix(Matrix::Zero(M, M)) : Matrix();
  state.root.resize(0, whole ? 0 : M);
  state.free.clear();
  const std::vector<Index> in_support = free_support(task, state);
  const Index F = std::ssize(in_support);
  if (F < 2) return;  // a single free vector cannot move: the sum of beta is fixed
  const std::vector<Index> places = at(state.support, in_support);
  Eigen::MatrixXd A = std::exchange(state.A, {});
  if (A.rows() != F) {
    task.gram().lend(pool.take());
    A = lower_half(task.gram(), places);
    pool.give_back(task.gram().take_back());
  }
  if (state.tau > 0)
    A.diagonal() += barrier_curvature(state.svm.alpha(places), task.C()(places), state.tau);
  else  // A may be singular (duplicate samples, linear kernels with few features): this keeps H finite there.
    A.diagonal().array() += 1e-8 * A.trace() / static_cast<double>(F);
  if (!cholesky(A)) return;
  Eigen::MatrixXd half(F, M + 1);
  half.leftCols(M) = state.K_beta(in_support, Eigen::all);
  half.col(M).setOnes();
  solve_lower(A, half);
  const Vector along = times(half.leftCols(M).transpose(), half.col(M)) / half.col(M).squaredNorm();
  half.leftCols(M) -= half.col(M) * along.transpose();
  if (whole)
    state.H = product(half.leftCols(M).transpose(), half.leftCols(M));
  else
    state.root = half.leftCols(M);
  solve_lower_transposed(A, half.leftCols(M));
  state.drift = -half.leftCols(M);
  state.free = at(task.gram().samples(), places);
}

Matrix hessian(const TaskState& state) {
  if (state.root.cols() == 0) return state.H;
  return product(state.root.transpose(), state.root);
}

double trace_of_hessian(const TaskState& state) {
  return state.root.cols() == 0 ? state.H.trace() : state.root.squaredNorm();
}

Vector predicted_alpha(const TaskSvm& task, const TaskState& state, ConstVectorRef step) {
  if (state.free.empty()) return state.svm.alpha;
  Vector all = task.spread(state.svm.alpha);
  const Vector drift = times(state.drift, step);
  for (std::size_t k = 0; k < state.free.size(); ++k)
    all[state.free[k]] += task.y_of(state.free[k]) * drift[static_cast<Index>(k)];
  return all(task.gram().samples());
}

Vector gradient(const MtmklProblem& problem, Index t, ConstVectorRef alpha,
                const KeepGoing& keep_going) {
  const Vector all = problem.y[static_cast<std::size_t>(t)].cwiseProduct(alpha);
  std::vector<Index> samples;
  for (Index i = 0; i < all.size(); ++i)
    if (all[i] != 0) samples.push_back(i);
  const Vector beta = all(samples);
  MixedGram K(problem.grams[static_cast<std::size_t>(t)], 0);  // nothing is used twice
  K.watch(keep_going);
  K.add(samples);
  std::vector<Index> places(samples.size());
  for (std::size_t k = 0; k < places.size(); ++k) places[k] = static_cast<Index>(k);
  Matrix K_beta;
  K.products(places, places, beta.data(), K_beta);
  return -0.5 * times(K_beta.transpose(), beta);
}

}  // namespace coterie
