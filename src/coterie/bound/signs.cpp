#include "coterie/bound/signs.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <span>

#include "coterie/bound/supremum.hpp"
#include "coterie/kernel/single_threaded_blas.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/math/random.hpp"

namespace coterie {

namespace {

constexpr Index strip_rows = 128;   // of a kernel matrix in memory at a time
constexpr Index block_draws = 256;  // sign vectors per product

int narrow(Index value) { return static_cast<int>(value); }

// f(m, top, strip) for every kernel and every strip of rows: strip is K^m from row `top` on, over all columns.
template <typename F>
void for_strips(const TaskGrams& task, F f) {
  const KernelPowers& powers = task.powers();
  const Index n = task.n();
  std::vector<Index> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), Index{0});
  std::vector<KernelPowers::Recipe> recipes;
  for (Index m = 0; m < task.M(); ++m) recipes.push_back(powers.recipe(Vector::Unit(task.M(), m)));
  std::vector<Matrix> roots(static_cast<std::size_t>(powers.roots()),
                            Matrix(std::min(strip_rows, n), n));
  std::vector<double*> out;
  for (Matrix& root : roots) out.push_back(root.data());
  std::vector<const double*> row(roots.size());
  Matrix strip;
  for (Index top = 0; top < n; top += strip_rows) {
    const Index count = std::min(strip_rows, n - top);
    strip.resize(count, n);
    task.root_values(
        std::span(all).subspan(static_cast<std::size_t>(top), static_cast<std::size_t>(count)), all,
        out.data(), n);
    for (Index m = 0; m < task.M(); ++m) {
      for (Index k = 0; k < count; ++k) {
        for (std::size_t r = 0; r < roots.size(); ++r) row[r] = out[r] + k * n;
        powers.mix(recipes[static_cast<std::size_t>(m)], row.data(), n, strip.row(k).data());
      }
      f(m, top, strip);
    }
  }
}

// Signs of one block of draws of one task: the numbers of both are part of the seed.
Eigen::MatrixXd block_signs(Index n, Index draws, std::uint64_t seed, Index task, Index block) {
  Random mixer(seed);
  Random random(mixer.next() + static_cast<std::uint64_t>(task) * 0x9e3779b97f4a7c15U +
                static_cast<std::uint64_t>(block) * 0xd1b54a32d192ed03U);
  Eigen::MatrixXd signs(n, draws);
  std::uint64_t bits = 0;
  int left = 0;
  for (double& sign : signs.reshaped()) {
    if (left == 0) bits = random.next(), left = 64;
    sign = (bits & 1U) != 0 ? 1 : -1;
    bits >>= 1U;
    --left;
  }
  return signs;
}

}  // namespace

Matrix quadratic_forms(const TaskGrams& task, const Eigen::MatrixXd& signs) {
  const SingleThreadedBlas one_thread;
  const Index n = task.n(), draws = signs.cols();
  Matrix forms = Matrix::Zero(draws, task.M());
  Eigen::MatrixXd product(strip_rows, draws);
  for_strips(task, [&](Index m, Index top, const Matrix& strip) {
    const Index count = strip.rows();
    // A strip that is stored by rows is its transpose stored by columns.
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, narrow(count), narrow(draws), narrow(n), 1,
                strip.data(), narrow(n), signs.data(), narrow(n), 0, product.data(),
                narrow(strip_rows));
    for (Index k = 0; k < draws; ++k)
      forms(k, m) += product.col(k).head(count).dot(signs.col(k).segment(top, count));
  });
  return forms.cwiseMax(0.0);  // rounding, or a precomputed matrix that is a little indefinite
}

std::vector<Matrix> draw_forms(const std::vector<TaskGrams>& tasks, Index draws, std::uint64_t seed,
                               int threads, const DrawProgress& progress) {
  std::vector<Matrix> forms;
  for (const TaskGrams& task : tasks) forms.emplace_back(draws, task.M());
  const Index blocks = (draws + block_draws - 1) / block_draws;
  const Index all = blocks * std::ssize(tasks);
  std::mutex mutex;
  Index done = 0;
  bool stopped = false;
  parallel_for(all, threads, [&](Index i) {
    const std::size_t t = static_cast<std::size_t>(i / blocks);
    const Index block = i % blocks, first = block * block_draws;
    const Index count = std::min(block_draws, draws - first);
    {
      const std::lock_guard lock(mutex);
      if (stopped) throw Stopped{};
    }
    forms[t].middleRows(first, count) =
        quadratic_forms(tasks[t], block_signs(tasks[t].n(), count, seed, i / blocks, block));
    const std::lock_guard lock(mutex);
    if (progress && !progress(++done, all)) stopped = true;
    if (stopped) throw Stopped{};
  });
  return forms;
}

TaskSums sums_of(const TaskGrams& task, const WeightSet& D) {
  const Index n = task.n(), M = task.M();
  TaskSums sums{.n = n,
                .trace = Vector::Zero(M),
                .square = Vector::Zero(M),
                .diagonal_square = Vector::Zero(M)};
  Matrix diagonal(n, M);
  for_strips(task, [&](Index m, Index top, const Matrix& strip) {
    sums.square[m] += strip.squaredNorm();
    for (Index k = 0; k < strip.rows(); ++k)
      diagonal(top + k, m) = std::max(0.0, strip(k, top + k));
  });
  sums.trace = diagonal.colwise().sum();
  sums.diagonal_square = diagonal.colwise().squaredNorm();
  for (Index i = 0; i < n; ++i) sums.reach += support(D, diagonal.row(i));
  return sums;
}

double expected_sign_sum(Index n) {
  if (n == 0) return 0;
  double value = 1;  // E of two signs more: the factor (k + 1) / k with k odd
  for (Index k = 1; k + 1 < n; k += 2)
    value *= static_cast<double>(k + 2) / static_cast<double>(k + 1);
  return value;
}

}  // namespace coterie
