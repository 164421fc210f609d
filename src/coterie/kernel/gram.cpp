#include "coterie/kernel/gram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "coterie/data/scaling.hpp"
#include "coterie/kernel/base/base_kernel.hpp"
#include "coterie/kernel/feature_roots.hpp"
#include "coterie/kernel/pairwise.hpp"
#include "coterie/kernel/scale.hpp"
#include "coterie/kernel/single_threaded_blas.hpp"
#include "coterie/math/parallel.hpp"

namespace coterie {
namespace {

using RowName = std::function<std::string(Index)>;  // how an error names a row

constexpr double kSymmetry = 1e-8;           // |P_ij - P_ji| <= kSymmetry max |P|
constexpr double kNegativity = 1e-8;         // smallest eigenvalue >= -kNegativity largest
constexpr double kLeastTail = 1e-3;          // tail divisor >= kLeastTail variance divisor
constexpr double kConstantVariance = 1e-14;  // of the mean diagonal: nothing but rounding

// Between these, squares and square roots, and the products and quotients of two, are normal numbers.
constexpr double kSmallestNorm = 1e-280;  // k(x,x) that a kernel is divided by
constexpr double kLargestNorm = 1e280;
constexpr double kSmallestValue = 1e-200;  // of a kernel that is not divided, unless it is 0
constexpr double kLargestValue = 1e200;
constexpr double kSmallestFeature = 1e-140;  // of kernels that need features >= 0, unless it is 0
constexpr double kLargestFeature = 1e140;

[[noreturn]] void fail_at_zero(const Kernel& kernel, const std::string& row) {
  Kernel raw = kernel;
  raw.raw = true;
  throw InputError(fmt::format(
      "{} is a zero vector, which kernel '{}' cannot normalise. Use '{}' or `normalise` none, "
      "remove the row, or shift the data with `scale` standard.",
      row, to_string(kernel), to_string(raw)));
}

Matrix gather(const Matrix& X, const std::vector<Index>& rows, const std::vector<Index>& columns) {
  if (columns.empty()) return X(rows, Eigen::all);
  return X(rows, columns);
}

void check_features(const Kernel& kernel, const Matrix& X, const RowName& row_name) {
  if (!kernel.base->needs_nonnegative) return;
  for (Index i = 0; i < X.rows(); ++i)
    for (Index k = 0; k < X.cols(); ++k) {
      const double value = X(i, k);
      if (value == 0 || (value >= kSmallestFeature && value <= kLargestFeature)) continue;
      const std::string needs = value < 0 ? "values of at least 0"
                                          : fmt::format("values that are 0 or from {} to {}",
                                                        kSmallestFeature, kLargestFeature);
      throw InputError(
          fmt::format("{} has the feature value {}, but kernel '{}' needs {}. Use `scale` minmax, "
                      "or another kernel.",
                      row_name(i), value, to_string(kernel), needs));
    }
}

std::string advice(const Kernel& kernel) {
  if (kernel.is_precomputed()) return "Multiply the matrix by a number that mends this";
  if (kernel.offset > kLargestFeature) return "Use a smaller offset";
  return kernel.raw && kernel.base->power(kernel) > 1 ? "Use `scale` standard or a lower degree"
                                                      : "Use `scale` standard";
}

[[noreturn]] void fail_out_of_range(const Kernel& kernel, bool large, const std::string& where) {
  throw InputError(fmt::format("kernel '{}' is too {} for a number {}. {}.", to_string(kernel),
                               large ? "large" : "small", where, advice(kernel)));
}

// At k(x,x), before the power of poly, which a normalised kernel is to be divided by.
[[noreturn]] void fail_at_norm(const Kernel& kernel, double norm, const std::string& row) {
  throw InputError(fmt::format(
      "kernel '{}' cannot be normalised at {}: k(x,x) is {:.4g}, too {} a number to divide by. {}.",
      to_string(kernel), row, norm, norm < kSmallestNorm ? "small" : "large", advice(kernel)));
}

bool can_divide(double norm) { return norm >= kSmallestNorm && norm <= kLargestNorm; }

// Of the columns that the kernel looks at; all when it names none.
bool is_zero_row(const Kernel& kernel, const Matrix& X, Index i) {
  if (kernel.offset > 0) return false;
  if (kernel.columns.empty()) return (X.row(i).array() == 0).all();
  return std::ranges::all_of(kernel.columns, [&](Index k) { return X(i, k) == 0; });
}

// 1 / sqrt(k(x,x)) per row; all 1 for a raw kernel.
Vector inverse_norms(const Kernel& kernel, const Matrix& X, const Vector& diagonal,
                     const RowName& row_name) {
  if (kernel.raw) return Vector::Ones(diagonal.size());
  for (Index i = 0; i < diagonal.size(); ++i) {
    if (can_divide(diagonal[i])) continue;
    const bool is_zero = kernel.offset == 0 && (X.row(i).array() == 0).all();
    if (is_zero) fail_at_zero(kernel, row_name(i));
    fail_at_norm(kernel, diagonal[i], row_name(i));
  }
  return diagonal.cwiseSqrt().cwiseInverse();
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

// Of the values that are `power` of their root.
double roundings_of(const Kernel& kernel, Index power, Index features) {
  const Index d = kernel.columns.empty() ? features : std::ssize(kernel.columns);
  return kernel.base->roundings(static_cast<double>(power), static_cast<double>(d));
}

// What would go wrong later, task by task: zero vectors that must be normalised, negative features under chi2, numbers too large.
void check_task(const Dataset& data, const Task& task, const std::vector<Kernel>& kernels,
                const RootPlan& plan, const FeatureRoots& roots) {
  const RowName row_name = [&](Index i) {
    return fmt::format("row {} of the data (task '{}')", i + 1, task.name);
  };
  for (std::size_t m = 0; m < kernels.size(); ++m) {
    const Kernel& kernel = kernels[m];
    if (kernel.base->needs_nonnegative)
      for (const Index i : task.rows)
        check_features(kernel, gather(data.X, {i}, kernel.columns),
                       [&](Index) { return row_name(i); });
    if (kernel.base->is_one_at_equal_points) continue;
    const Vector& diagonal = roots.diagonal(plan.terms[m].root);
    double largest = 0;
    for (const Index i : task.rows) {
      if (!kernel.raw && !can_divide(diagonal[i])) {
        if (!kernel.is_precomputed() && is_zero_row(kernel, data.X, i))
          fail_at_zero(kernel, row_name(i));
        if (diagonal[i] > 0 || !kernel.is_precomputed())
          fail_at_norm(kernel, diagonal[i], row_name(i));
        throw InputError(fmt::format(
            "kernel '{0}': the diagonal of row {1} (task '{2}') is {3}, which cannot be normalised "
            "to 1. Use '{0}:raw' or `normalise` none, or remove the row.",
            to_string(kernel), i + 1, task.name, diagonal[i]));
      }
      largest = std::max(largest, std::abs(diagonal[i]));
    }
    // No entry is larger than the largest of the diagonal, by Cauchy and Schwarz.
    if (!kernel.raw) continue;
    const std::string where = fmt::format("on task '{}'", task.name);
    const double most = std::pow(largest, static_cast<double>(kernel.base->power(kernel)));
    if (!(most <= kLargestValue)) fail_out_of_range(kernel, true, where);
    if (most >= kSmallestValue) continue;
    const bool is_zero = std::ranges::all_of(task.rows, [&](Index i) {
      return kernel.is_precomputed() ? diagonal[i] == 0 : is_zero_row(kernel, data.X, i);
    });
    if (!is_zero) fail_out_of_range(kernel, false, where);
  }
}

// Returns how far it is from positive semidefinite, beyond rounding.
double check_positive(const Kernel& kernel, const Matrix& K, const Task& task) {
  if (K.rows() == 0) return 0;
  if (!K.allFinite()) fail_out_of_range(kernel, true, fmt::format("on task '{}'", task.name));
  const Vector spectrum = eigenvalues(K);
  const double least = spectrum[0];
  const double most = spectrum[K.rows() - 1];
  if (least < -kNegativity * most)
    throw InputError(fmt::format(
        "kernel '{}' is not positive semidefinite on task '{}': its eigenvalues run from {:.6g} to "
        "{:.6g}. Add a multiple of the identity to the matrix, or use another kernel.",
        to_string(kernel), task.name, least, most));
  return negative_part(spectrum);
}

// Some rows of a symmetric matrix from their diagonal on, and their mirror images: no two strips touch the same entries.
constexpr Index kStrip = 128;
void fill_strip(const FeatureRoots& roots, const std::vector<Index>& samples, Index begin,
                std::vector<Matrix>& R) {
  const Index n = std::ssize(samples);
  const Index count = std::min(kStrip, n - begin);
  std::vector<double*> out;
  for (Matrix& root : R) out.push_back(root.data() + begin * n + begin);
  const std::span<const Index> from = std::span(samples).subspan(static_cast<std::size_t>(begin));
  roots.values(from.first(static_cast<std::size_t>(count)), from, out.data(), n);
  constexpr Index tile = 32;  // two tiles of 8 KiB stay in the nearest cache
  for (Matrix& K : R)
    for (Index j0 = begin; j0 < n; j0 += tile)
      for (Index i0 = begin; i0 < begin + count; i0 += tile)
        for (Index j = j0; j < std::min(n, j0 + tile); ++j)
          for (Index i = i0; i < std::min({begin + count, i0 + tile, j}); ++i) K(j, i) = K(i, j);
}

std::vector<TaskGrams> store_grams(const Dataset& data, const FeatureRoots& roots,
                                   const std::shared_ptr<const KernelPowers>& powers, int threads) {
  std::vector<std::vector<Matrix>> stored(data.tasks.size());
  struct Strip {
    std::size_t task;
    Index begin;
  };
  std::vector<Strip> strips;
  for (std::size_t t = 0; t < stored.size(); ++t) {
    const Index n = data.tasks[t].size();
    for (Index r = 0; r < powers->roots(); ++r) stored[t].emplace_back(n, n);
    for (Index begin = 0; begin < n; begin += kStrip) strips.push_back({t, begin});
  }
  parallel_for(std::ssize(strips), threads, [&](Index item) {
    const Strip& strip = strips[item];
    fill_strip(roots, data.tasks[strip.task].rows, strip.begin, stored[strip.task]);
  });
  std::vector<TaskGrams> tasks;
  for (std::vector<Matrix>& matrices : stored) {
    std::vector<Index> samples(static_cast<std::size_t>(matrices.empty() ? 0 : matrices[0].rows()));
    std::iota(samples.begin(), samples.end(), Index{0});
    tasks.emplace_back(std::make_shared<StoredRoots>(std::move(matrices)), powers,
                       std::move(samples));
  }
  return tasks;
}

Matrix sums_of(const Quantity& quantity, Matrix A, Matrix B) {
  switch (quantity.from) {
    case Quantity::From::products:
      return inner_products(A, B);
    case Quantity::From::distances:
      return squared_distances(std::move(A), std::move(B));
    default:
      return quantity.pairs(A, B);
  }
}

// On all tasks, by the rule of find_divisors.
bool is_constant(const std::vector<TaskGrams>& tasks, Index m) {
  double sum = 0, diagonal = 0;
  for (const TaskGrams& task : tasks) {
    const Matrix K = task.kernel(m);
    sum += variance(K);
    diagonal += K.diagonal().cwiseAbs().sum() / static_cast<double>(K.rows());
  }
  return !(sum > kConstantVariance * diagonal);
}

// What (13) and (14) make of one task.
struct Spread {
  double variance = 0, tail = 0, diagonal = 0;
  double size(bool use_tail) const {
    return use_tail ? std::max(tail, kLeastTail * variance) : variance;
  }
};
Spread spread_of(const Matrix& K, const Normalisation& normalisation) {
  Spread out;
  out.variance = variance(K);
  if (normalisation.kind == Normalisation::Kind::tail) out.tail = tail(K, normalisation.h);
  return out;
}

// The matrix of kernel m from its definition, centred in long double: where little is left of values near 1, their roundings would be much of it.
Matrix centred_exactly(const TaskGrams& task, Index m) {
  const std::vector<Index>& rows = task.exact_rows();
  const Index n = std::ssize(rows);
  Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic> K(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = i; j < n; ++j)
      K(i, j) = K(j, i) = task.exact()->value(m, rows[static_cast<std::size_t>(i)],
                                              rows[static_cast<std::size_t>(j)]);
  const Eigen::Matrix<long double, Eigen::Dynamic, 1> means = K.rowwise().mean();
  K.rowwise() -= means.transpose();
  K.colwise() -= means;
  K.array() += means.mean();
  return K.cast<double>();
}

// A value that is a power of another has that many of its roundings. Where they are more than this part of the spread, it is taken from the
// definition; a certificate is checked with divisors to 1e-9.
constexpr double kRoundingOfSpread = 5e-10;

Spread spread_of(const TaskGrams& task, Index m, const Normalisation& normalisation) {
  const Matrix K = task.kernel(m);
  Spread out = spread_of(K, normalisation);
  for (Index i = 0; i < K.rows(); ++i)
    out.diagonal += std::abs(K(i, i)) / static_cast<double>(K.rows());
  const double rounding = 2 * static_cast<double>(task.powers().term(m).power) *
                          std::numeric_limits<double>::epsilon() * out.diagonal;
  const bool use_tail = normalisation.kind == Normalisation::Kind::tail;
  const bool varies = out.variance > kConstantVariance * out.diagonal;
  if (task.exact() && varies && rounding > kRoundingOfSpread * out.size(use_tail)) {
    const Spread exact = spread_of(centred_exactly(task, m), normalisation);
    out.variance = exact.variance;
    out.tail = exact.tail;
  }
  return out;
}

}  // namespace

double negative_part(ConstVectorRef spectrum) {
  if (spectrum.size() == 0) return 0;
  const double rounding = 2 * static_cast<double>(spectrum.size()) *
                          std::numeric_limits<double>::epsilon() * spectrum.cwiseAbs().maxCoeff();
  return std::max(0.0, rounding - spectrum.minCoeff());
}

Divisors find_divisors(const std::vector<TaskGrams>& tasks, const std::vector<Kernel>& kernels,
                       const Normalisation& normalisation, int threads,
                       const std::vector<TaskGrams>* whole) {
  Divisors found{Vector::Ones(std::ssize(kernels)), {}};
  const bool scaled = normalisation.divides();
  if (!scaled || tasks.empty()) return found;
  const SingleThreadedBlas guard;
  const Index T = std::ssize(tasks);
  const Index M = std::ssize(kernels);
  const bool use_tail = normalisation.kind == Normalisation::Kind::tail;
  Matrix variances(T, M);
  Matrix tails(T, M);
  Matrix diagonals(T, M);
  parallel_for(T * M, threads, [&](Index item) {
    const Index t = item / M;
    const Index m = item % M;
    const Spread spread = spread_of(tasks[static_cast<std::size_t>(t)], m, normalisation);
    variances(t, m) = spread.variance;
    tails(t, m) = spread.tail;
    diagonals(t, m) = spread.diagonal;
  });

  for (Index m = 0; m < M; ++m) {
    double mean_variance = 0;
    double mean_tail = 0;
    double mean_diagonal = 0;
    for (Index t = 0; t < T; ++t) {
      mean_variance += variances(t, m) / static_cast<double>(T);
      mean_tail += tails(t, m) / static_cast<double>(T);
      mean_diagonal += diagonals(t, m) / static_cast<double>(T);
    }
    const bool constant = !(mean_variance > kConstantVariance * mean_diagonal);
    if (constant && whole && !is_constant(*whole, m)) continue;
    if (constant)
      throw InputError(fmt::format(
          "kernel '{}' is constant on the data, so `normalise` {} has nothing to divide by. Remove "
          "the kernel, or use `normalise` cosine.",
          to_string(kernels[m]), to_string(normalisation)));
    found.values[m] = mean_variance;
    if (use_tail) {
      const double bound = kLeastTail * mean_variance;
      if (mean_tail < bound) found.bounded.push_back(m);
      found.values[m] = std::max(mean_tail, bound);
    }
  }
  return found;
}

void divide(std::vector<TaskGrams>& tasks, ConstVectorRef divisors) {
  if (tasks.empty() || (divisors.array() == 1).all()) return;
  std::vector<KernelTerm> terms;
  for (Index m = 0; m < divisors.size(); ++m) {
    terms.push_back(tasks.front().powers().term(m));
    terms.back().divisor *= divisors[m];
  }
  const auto powers = std::make_shared<const KernelPowers>(std::move(terms));
  for (TaskGrams& task : tasks) task = TaskGrams(task, powers);
}

std::optional<Normalisation> normalisation_from(std::string_view text) {
  if (text == "cosine") return Normalisation::cosine();
  if (text == "variance") return Normalisation::variance();
  if (text == "none") return Normalisation::none();
  if (!text.starts_with("tail:")) return {};
  Index h = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + 5, last, h);
  if (error != std::errc() || end != last || h < 1) return {};
  return Normalisation::tail(h);
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

std::vector<Kernel> prepare_kernels(const Kernels& list, const Normalisation& normalisation,
                                    const std::vector<std::string>& features,
                                    const std::vector<bool>& left_out) {
  std::vector<Kernel> kernels = expand_each(list.list(), features, left_out);
  if (normalisation.kind == Normalisation::Kind::none) {
    for (Kernel& kernel : kernels) kernel.raw = true;
    check_distinct(kernels);
  }
  resolve_columns(kernels, features);
  return kernels;
}

std::vector<Kernel> prepare_kernels(const Kernels& list, const Normalisation& normalisation,
                                    const Dataset& data, const std::vector<std::string>& features) {
  const bool each = std::ranges::any_of(list.list(), &Kernel::is_for_each_column);
  return prepare_kernels(list, normalisation, features,
                         each ? constant_columns(data) : std::vector<bool>());
}

std::vector<Kernel> prepare_kernels(const Kernels& list, const Normalisation& normalisation,
                                    const Dataset& data) {
  return prepare_kernels(list, normalisation, data, data.features);
}

double copies_of_columns(const Kernel& kernel) {
  if (kernel.is_precomputed()) return 0;
  return kernel.base->quantity->from == Quantity::From::distances ? 3 : 1;
}

Index count_roots(const std::vector<Kernel>& kernels, double largest_C) {
  return std::ssize(plan_roots(kernels, largest_C).roots);
}

Grams compute_grams(const Dataset& data, const std::vector<Kernel>& kernels,
                    const Normalisation& normalisation, const PrecomputedMatrices& precomputed,
                    int threads, Storage storage, double largest_C) {
  const SingleThreadedBlas guard;
  for (const Kernel& kernel : kernels)
    if (kernel.is_precomputed())
      check_precomputed(kernel, find_precomputed(kernel, precomputed), data.X.rows());

  RootPlan plan = plan_roots(kernels, largest_C);
  for (std::size_t m = 0; m < kernels.size(); ++m)
    plan.terms[m].roundings = roundings_of(kernels[m], plan.terms[m].power, data.X.cols());
  const auto roots = std::make_shared<FeatureRoots>(data.X, plan.roots, precomputed);
  for (const Task& task : data.tasks) check_task(data, task, kernels, plan, *roots);

  Grams grams;
  grams.kernels = kernels;
  const auto make = [&](const std::shared_ptr<const KernelPowers>& powers) {
    if (storage == Storage::stored) return store_grams(data, *roots, powers, threads);
    std::vector<TaskGrams> tasks;
    for (const Task& task : data.tasks) tasks.emplace_back(roots, powers, task.rows);
    return tasks;
  };
  grams.tasks = make(std::make_shared<KernelPowers>(plan.terms));
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    Vector indefinite = Vector::Zero(std::ssize(kernels));
    for (Index m = 0; m < std::ssize(kernels); ++m)
      if (kernels[m].is_precomputed())
        indefinite[m] = check_positive(kernels[m], grams.tasks[t].kernel(m), data.tasks[t]);
    grams.tasks[t].set_indefinite(std::move(indefinite));
  }

  const auto exact = std::make_shared<const ExactKernels>(data.X, kernels, precomputed);
  for (std::size_t t = 0; t < data.tasks.size(); ++t)
    grams.tasks[t].define_by(exact, data.tasks[t].rows);

  Divisors found = find_divisors(grams.tasks, kernels, normalisation, threads);
  divide(grams.tasks, found.values);
  grams.divisors = std::move(found.values);
  grams.bounded = std::move(found.bounded);
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

  if (kernel.is_precomputed())
    throw InputError(
        fmt::format("kernel '{}' has values only for the rows of its file, so new samples cannot "
                    "be predicted. Train with kernels of the features.",
                    to_string(kernel)));
  check_features(kernel, X, first);
  check_features(kernel, Z, second);
  const BaseKernel& base = *kernel.base;
  if (base.is_one_at_equal_points) {
    Matrix K = sums_of(*base.quantity, std::move(X), std::move(Z));
    base.values(kernel, K.data(), K.size(), K.data());
    return K;
  }
  Matrix K = sums_of(*base.quantity, X, Z).array() + kernel.offset;
  const Vector x = base.diagonal(X).array() + kernel.offset;  // k(x,x) before its power
  const Vector z = base.diagonal(Z).array() + kernel.offset;
  const Vector left = inverse_norms(kernel, X, x, first);
  const Vector right = inverse_norms(kernel, Z, z, second);
  for (Index i = 0; i < K.rows(); ++i) K.row(i).array() *= left[i] * right.transpose().array();
  raise(Eigen::Map<Vector>(K.data(), K.size()), base.power(kernel));
  if (!K.allFinite()) fail_out_of_range(kernel, true, "on these samples");
  return K;
}

}  // namespace coterie
