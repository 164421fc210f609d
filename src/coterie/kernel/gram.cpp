#include "coterie/kernel/gram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <exception>
#include <functional>

#include "coterie/kernel/pairwise.hpp"
#include "coterie/kernel/scale.hpp"
#include "coterie/math/parallel.hpp"

namespace coterie {
namespace {

using Kind = Kernel::Kind;
using RowName = std::function<std::string(Index)>;  // how an error names a row

constexpr Index kLongestChain = 7;           // halvings of a width between two exponentials
constexpr double kSymmetry = 1e-8;           // |P_ij - P_ji| <= kSymmetry max |P|
constexpr double kNegativity = 1e-8;         // smallest eigenvalue >= -kNegativity largest
constexpr double kLeastTail = 1e-3;          // tail divisor >= kLeastTail variance divisor
constexpr double kConstantVariance = 1e-14;  // of the mean diagonal: nothing but rounding

// Kernels of the features that look at the same columns.
struct Block {
  std::vector<Index> columns;  // empty: all
  std::vector<Index> kernels;
};

std::vector<Block> blocks_of(const std::vector<Kernel>& kernels) {
  std::vector<Block> blocks;
  for (Index m = 0; m < std::ssize(kernels); ++m) {
    if (kernels[m].kind == Kind::precomputed) continue;
    assert(kernels[m].block.empty() == kernels[m].columns.empty());
    auto block = std::find_if(blocks.begin(), blocks.end(), [&](const Block& other) {
      return other.columns == kernels[m].columns;
    });
    if (block == blocks.end()) block = blocks.insert(block, {kernels[m].columns, {}});
    block->kernels.push_back(m);
  }
  return blocks;
}

[[noreturn]] void fail_at_zero(const Kernel& kernel, const std::string& row) {
  Kernel raw = kernel;
  raw.raw = true;
  throw InputError(fmt::format(
      "{} is a zero vector, which kernel '{}' cannot normalise. Use '{}' or --normalise none, "
      "remove the row, or shift the data with --scale standard.",
      row, to_string(kernel), to_string(raw)));
}

void check_nonnegative(const Kernel& kernel, const Matrix& X, const RowName& row_name) {
  for (Index i = 0; i < X.rows(); ++i)
    for (Index k = 0; k < X.cols(); ++k)
      if (X(i, k) < 0)
        throw InputError(fmt::format(
            "{} has the feature value {}, but kernel '{}' needs values of at least 0. Use --scale "
            "minmax, or another kernel.",
            row_name(i), X(i, k), to_string(kernel)));
}

void check_finite(const Kernel& kernel, const Matrix& K, const std::string& where) {
  if ((0 * K.array()).sum() == 0) return;  // 0 times infinity is no number; faster than allFinite
  throw InputError(fmt::format("kernel '{}' is too large for a number {}. Use --scale standard{}.",
                               to_string(kernel), where,
                               kernel.kind == Kind::poly ? " or a lower degree" : ""));
}

// 1 / sqrt(k(x,x)) per row; all 1 for a raw kernel.
Vector inverse_norms(const Kernel& kernel, const Vector& diagonal, const RowName& row_name) {
  if (kernel.raw) return Vector::Ones(diagonal.size());
  for (Index i = 0; i < diagonal.size(); ++i)
    if (!(diagonal[i] > 0)) fail_at_zero(kernel, row_name(i));
  return diagonal.cwiseSqrt().cwiseInverse();
}

Index degree_of(const Kernel& kernel) {
  return kernel.kind == Kind::poly ? static_cast<Index>(kernel.parameter) : 1;
}

// linear and poly: ((g_ij + c) / sqrt((g_ii + c) (g_jj + c)))^degree. To divide before raising keeps numbers small.
Matrix product_kernel(const Kernel& kernel, const Matrix& G, const RowName& row_name) {
  const Index n = G.rows();
  const Vector diagonal = G.diagonal().array() + kernel.offset;
  const Vector scale = inverse_norms(kernel, diagonal, row_name);
  Matrix K(n, n);
  Vector row(n);
  for (Index i = 0; i < n; ++i) {
    const Index count = n - i;
    row.head(count) = (G.row(i).tail(count).transpose().array() + kernel.offset) * scale[i] *
                      scale.tail(count).array();
    raise(row.head(count), degree_of(kernel));
    K.row(i).tail(count) = row.head(count).transpose();
  }
  mirror(K);
  if (!kernel.raw) K.diagonal().setOnes();
  return K;
}

Matrix chi2_kernel(const Kernel& kernel, const Matrix& X, const RowName& row_name) {
  check_nonnegative(kernel, X, row_name);
  const Vector diagonal = row_sums(X);
  const Vector scale = inverse_norms(kernel, diagonal, row_name);
  Matrix K = symmetric_matrix(chi2_similarities(X), diagonal);
  if (kernel.raw) return K;
  // The product of the scales first: it is the same for (i, j) and (j, i).
  for (Index i = 0; i < K.rows(); ++i) K.row(i).array() *= (scale * scale[i]).transpose().array();
  K.diagonal().setOnes();
  return K;
}

// exp(-rate distance), where a kernel of half the width has the rate of gauss times 4, that of laplace times 2.
double rate_of(const Kernel& kernel) {
  const double s = kernel.parameter;
  return kernel.kind == Kind::gauss ? 1 / (2 * s * s) : 1 / s;
}

// All kernels of one kind, from the widest to the narrowest: each chain of halved widths takes one exponential.
void fill_exponentials(const Pairs& distances, const std::vector<Kernel>& kernels,
                       std::vector<Index> chosen, Index n, TaskGrams& K) {
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](Index a, Index b) { return kernels[a].parameter > kernels[b].parameter; });
  const Vector ones = Vector::Ones(n);
  while (!chosen.empty()) {
    Index m = chosen.front();
    chosen.erase(chosen.begin());
    Pairs values = distances;
    decay(values, rate_of(kernels[m]));
    K[m] = symmetric_matrix(values, ones);
    for (Index halvings = 0; halvings < kLongestChain; ++halvings) {
      const auto next = std::find_if(chosen.begin(), chosen.end(), [&](Index other) {
        return 2 * kernels[other].parameter == kernels[m].parameter;
      });
      if (next == chosen.end()) break;
      m = *next;
      chosen.erase(next);
      raise(values, kernels[m].kind == Kind::gauss ? 4 : 2);
      K[m] = symmetric_matrix(values, ones);
    }
  }
}

void fill_block(const Matrix& X, const std::vector<Kernel>& kernels, const Block& block,
                const RowName& row_name, TaskGrams& K) {
  const auto of_kind = [&](Kind kind) {
    std::vector<Index> chosen;
    for (const Index m : block.kernels)
      if (kernels[m].kind == kind) chosen.push_back(m);
    return chosen;
  };
  std::vector<Index> products = of_kind(Kind::linear);
  for (const Index m : of_kind(Kind::poly)) products.push_back(m);

  const Matrix G = products.empty() ? Matrix() : inner_products(X);
  for (const Index m : products) K[m] = product_kernel(kernels[m], G, row_name);
  if (const std::vector<Index> gauss = of_kind(Kind::gauss); !gauss.empty())
    fill_exponentials(squared_distances(X, products.empty() ? nullptr : &G), kernels, gauss,
                      X.rows(), K);
  if (const std::vector<Index> laplace = of_kind(Kind::laplace); !laplace.empty())
    fill_exponentials(absolute_distances(X), kernels, laplace, X.rows(), K);
  for (const Index m : of_kind(Kind::chi2)) K[m] = chi2_kernel(kernels[m], X, row_name);
}

const Matrix& find_precomputed(const Kernel& kernel, const PrecomputedMatrices& precomputed) {
  const auto found = precomputed.find(kernel.file);
  if (found == precomputed.end())
    throw InputError(
        fmt::format("kernel '{}': the matrix of file '{}' was not read. Give the file along with "
                    "the data.",
                    to_string(kernel), kernel.file));
  return found->second;
}

void check_precomputed(const Kernel& kernel, const Matrix& P, Index rows) {
  const std::string name = to_string(kernel);
  if (P.rows() != rows || P.cols() != rows)
    throw InputError(
        fmt::format("kernel '{0}': the matrix is {1} x {2}, but the data have {3} rows. Give a "
                    "matrix of {3} x {3}, in the order of the rows.",
                    name, P.rows(), P.cols(), rows));
  if (!P.allFinite())
    throw InputError(fmt::format(
        "kernel '{}': the matrix holds a value that is not a finite number. Correct the file.",
        name));
  const double largest = rows > 0 ? P.cwiseAbs().maxCoeff() : 0;
  for (Index i = 0; i < rows; ++i)
    for (Index j = i + 1; j < rows; ++j)
      if (std::abs(P(i, j) - P(j, i)) > kSymmetry * largest)
        throw InputError(fmt::format(
            "kernel '{}': the matrix is not symmetric: row {} column {} is {}, row {} column {} is "
            "{}. Give a symmetric matrix.",
            name, i + 1, j + 1, P(i, j), j + 1, i + 1, P(j, i)));
}

Matrix precomputed_kernel(const Kernel& kernel, const Matrix& P, const Task& task) {
  const Index n = task.size();
  Matrix K(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      K(i, j) = (P(task.rows[i], task.rows[j]) + P(task.rows[j], task.rows[i])) / 2;
  if (n == 0) return K;

  const Vector spectrum = eigenvalues(K);
  if (spectrum[0] < -kNegativity * spectrum[n - 1])
    throw InputError(fmt::format(
        "kernel '{}' is not positive semidefinite on task '{}': its eigenvalues run from {:.6g} to "
        "{:.6g}. Add a multiple of the identity to the matrix, or use another kernel.",
        to_string(kernel), task.name, spectrum[0], spectrum[n - 1]));
  if (kernel.raw) return K;

  for (Index i = 0; i < n; ++i)
    if (!(K(i, i) > 0))
      throw InputError(fmt::format(
          "kernel '{0}': the diagonal of row {1} (task '{2}') is {3}, which cannot be normalised "
          "to 1. Use '{0}:raw' or --normalise none, or remove the row.",
          to_string(kernel), task.rows[i] + 1, task.name, K(i, i)));
  const Vector scale = K.diagonal().cwiseSqrt().cwiseInverse();
  for (Index i = 0; i < n; ++i) K.row(i).array() *= (scale * scale[i]).transpose().array();
  K.diagonal().setOnes();
  return K;
}

Matrix gather(const Matrix& X, const std::vector<Index>& rows, const std::vector<Index>& columns) {
  if (columns.empty()) return X(rows, Eigen::all);
  return X(rows, columns);
}

TaskGrams compute_task(const Dataset& data, const Task& task, const std::vector<Kernel>& kernels,
                       const std::vector<Block>& blocks, const PrecomputedMatrices& precomputed) {
  const RowName row_name = [&](Index i) {
    return fmt::format("row {} of the data (task '{}')", task.rows[i] + 1, task.name);
  };
  TaskGrams K(kernels.size());
  for (const Block& block : blocks)
    fill_block(gather(data.X, task.rows, block.columns), kernels, block, row_name, K);
  for (Index m = 0; m < std::ssize(kernels); ++m) {
    if (kernels[m].kind == Kind::precomputed)
      K[m] = precomputed_kernel(kernels[m], find_precomputed(kernels[m], precomputed), task);
    check_finite(kernels[m], K[m], fmt::format("on task '{}'", task.name));
  }
  return K;
}

// Finds the divisors (26) and (27), and divides by them.
void divide(Grams& grams, const std::vector<Kernel>& kernels, const Normalisation& normalisation,
            int threads) {
  const Index T = std::ssize(grams.tasks);
  const Index M = std::ssize(kernels);
  const bool use_tail = normalisation.kind == Normalisation::Kind::tail;
  Matrix variances(T, M);
  Matrix tails(T, M);
  parallel_for(T * M, threads, [&](Index item) {
    const Matrix& K = grams.tasks[item / M][item % M];
    variances(item / M, item % M) = variance(K);
    if (use_tail) tails(item / M, item % M) = tail(K, normalisation.h);
  });

  for (Index m = 0; m < M; ++m) {
    double mean_variance = 0;
    double mean_tail = 0;
    double mean_diagonal = 0;
    for (Index t = 0; t < T; ++t) {
      const Matrix& K = grams.tasks[t][m];
      mean_variance += variances(t, m) / static_cast<double>(T);
      if (use_tail) mean_tail += tails(t, m) / static_cast<double>(T);
      for (Index i = 0; i < K.rows(); ++i)
        mean_diagonal += std::abs(K(i, i)) / static_cast<double>(T * K.rows());
    }
    if (!(mean_variance > kConstantVariance * mean_diagonal))
      throw InputError(fmt::format(
          "kernel '{}' is constant on the data, so --normalise {} has nothing to divide by. Remove "
          "the kernel, or use --normalise cosine.",
          to_string(kernels[m]), to_string(normalisation)));
    grams.divisors[m] = mean_variance;
    if (use_tail) {
      const double bound = kLeastTail * mean_variance;
      if (mean_tail < bound) grams.bounded.push_back(m);
      grams.divisors[m] = std::max(mean_tail, bound);
    }
  }
  parallel_for(T * M, threads,
               [&](Index item) { grams.tasks[item / M][item % M] /= grams.divisors[item % M]; });
}

}  // namespace

Normalisation parse_normalisation(const std::string& text) {
  if (text == "cosine") return {.kind = Normalisation::Kind::cosine};
  if (text == "variance") return {.kind = Normalisation::Kind::variance};
  if (text == "none") return {.kind = Normalisation::Kind::none};
  if (text.starts_with("tail:")) {
    Index h = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + 5, last, h);
    if (error == std::errc() && end == last && h >= 1)
      return {.kind = Normalisation::Kind::tail, .h = h};
  }
  throw InputError(
      fmt::format("--normalise is '{}'; it must be cosine, variance, none, or tail:h with a whole "
                  "number h of at "
                  "least 1, such as tail:8.",
                  text));
}

std::string to_string(const Normalisation& normalisation) {
  switch (normalisation.kind) {
    case Normalisation::Kind::cosine:
      return "cosine";
    case Normalisation::Kind::variance:
      return "variance";
    case Normalisation::Kind::tail:
      return fmt::format("tail:{}", normalisation.h);
    case Normalisation::Kind::none:
      break;
  }
  return "none";
}

std::vector<Kernel> prepare_kernels(std::string_view text, const Normalisation& normalisation,
                                    const std::vector<std::string>& features) {
  std::vector<Kernel> kernels = parse_kernels(text);
  if (normalisation.kind == Normalisation::Kind::none) {
    for (Kernel& kernel : kernels) kernel.raw = true;
    check_distinct(kernels);
  }
  resolve_columns(kernels, features);
  return kernels;
}

Grams compute_grams(const Dataset& data, const std::vector<Kernel>& kernels,
                    const Normalisation& normalisation, const PrecomputedMatrices& precomputed,
                    int threads) {
  const SingleThreadedBlas guard;
  for (const Kernel& kernel : kernels)
    if (kernel.kind == Kind::precomputed)
      check_precomputed(kernel, find_precomputed(kernel, precomputed), data.X.rows());

  const Index T = std::ssize(data.tasks);
  const std::vector<Block> blocks = blocks_of(kernels);
  Grams grams;
  grams.tasks.resize(T);
  grams.divisors = Vector::Ones(std::ssize(kernels));
  // Errors wait, so that the first task's is thrown whichever thread is first.
  std::vector<std::exception_ptr> errors(T);
  parallel_for(T, threads, [&](Index t) {
    try {
      grams.tasks[t] = compute_task(data, data.tasks[t], kernels, blocks, precomputed);
    } catch (...) {
      errors[t] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);

  const bool scaled = normalisation.kind == Normalisation::Kind::variance ||
                      normalisation.kind == Normalisation::Kind::tail;
  if (scaled && T > 0) divide(grams, kernels, normalisation, threads);
  return grams;
}

Matrix cross_gram(const Kernel& kernel, ConstMatrixRef A, ConstMatrixRef B) {
  const Index needed =
      kernel.columns.empty() ? 0 : *std::max_element(kernel.columns.begin(), kernel.columns.end());
  if (A.cols() != B.cols() || (!kernel.columns.empty() && needed >= A.cols()))
    throw InputError(
        fmt::format("kernel '{}' cannot compare samples of {} and {} columns. Give data with the "
                    "columns that the model was trained on.",
                    to_string(kernel), A.cols(), B.cols()));
  const SingleThreadedBlas guard;
  const bool all = kernel.columns.empty();
  Matrix X = all ? Matrix(A) : Matrix(A(Eigen::all, kernel.columns));
  Matrix Z = all ? Matrix(B) : Matrix(B(Eigen::all, kernel.columns));
  const RowName first = [](Index i) { return fmt::format("row {} of the first samples", i + 1); };
  const RowName second = [](Index i) { return fmt::format("row {} of the second samples", i + 1); };

  Matrix K;
  Vector x;  // k(x,x) before the power of poly
  Vector z;
  switch (kernel.kind) {
    case Kind::linear:
    case Kind::poly:
      K = inner_products(X, Z).array() + kernel.offset;
      x = squared_norms(X).array() + kernel.offset;
      z = squared_norms(Z).array() + kernel.offset;
      break;
    case Kind::chi2:
      check_nonnegative(kernel, X, first);
      check_nonnegative(kernel, Z, second);
      K = chi2_similarities(X, Z);
      x = row_sums(X);
      z = row_sums(Z);
      break;
    case Kind::gauss:
    case Kind::laplace:
      K = kernel.kind == Kind::gauss ? squared_distances(std::move(X), std::move(Z))
                                     : absolute_distances(X, Z);
      decay(Eigen::Map<Vector>(K.data(), K.size()), rate_of(kernel));
      return K;
    case Kind::precomputed:
      throw InputError(
          fmt::format("kernel '{}' has values only for the rows of its file, so new samples cannot "
                      "be predicted. Train with kernels of the features.",
                      to_string(kernel)));
  }
  const Vector left = inverse_norms(kernel, x, first);
  const Vector right = inverse_norms(kernel, z, second);
  for (Index i = 0; i < K.rows(); ++i) K.row(i).array() *= left[i] * right.transpose().array();
  raise(Eigen::Map<Vector>(K.data(), K.size()), degree_of(kernel));
  check_finite(kernel, K, "on these samples");
  return K;
}

}  // namespace coterie
