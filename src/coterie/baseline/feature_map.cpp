#include "coterie/baseline/feature_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "coterie/kernel/exact_kernels.hpp"
#include "coterie/math/dense.hpp"
#include "coterie/math/parallel.hpp"

namespace coterie {
namespace {

constexpr double kLeft = 1e-6;    // share of the trace that may stay behind
constexpr Index kBlock = 256;     // rows whose kernel values are computed at once
constexpr double kRound = 1e-14;  // of the largest diagonal: nothing but rounding

void check(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels)
    if (kernel.is_precomputed())
      throw InputError(
          fmt::format("kernel '{}' has values only for the rows of its file, so it cannot be "
                      "mapped to features. Use kernels of the features, or `map` none.",
                      to_string(kernel)));
}

// k(a, b) = 1/M sum_m k_m(a, b) / divisor_m between the rows of A and of B.
Matrix mean_kernel(ConstMatrixRef A, ConstMatrixRef B, const std::vector<Kernel>& kernels,
                   const Vector& divisors) {
  Matrix K = Matrix::Zero(A.rows(), B.rows());
  const auto M = static_cast<double>(kernels.size());
  for (std::size_t m = 0; m < kernels.size(); ++m)
    K += cross_gram(kernels[m], A, B) / (M * divisors[static_cast<Index>(m)]);
  return K;
}

double mean_kernel_at(ConstVectorRef x, const std::vector<Kernel>& kernels,
                      const Vector& divisors) {
  double k = 0;
  const auto M = static_cast<double>(kernels.size());
  for (std::size_t m = 0; m < kernels.size(); ++m)
    k += kernel_value(kernels[m], x, x) / (M * divisors[static_cast<Index>(m)]);
  return k;
}

// The first of the largest, those that differ by rounding counting as equal: whoever finds the pivots again, as `verify` does, finds the same.
Index first_largest(ConstVectorRef left) {
  constexpr double equal = 1e-10;
  const double least = (1 - equal) * left.maxCoeff();
  Index p = 0;
  while (!(left[p] >= least)) ++p;
  return p;
}

// |L^-1|, no entry too small by more than its part `safety`.
struct Inverse {
  Matrix size;
  double safety = 1;
};

Inverse inverse_of(const Matrix& L) {
  Matrix inverse = Matrix::Identity(L.rows(), L.rows());
  L.triangularView<Eigen::Lower>().solveInPlace(inverse);
  const double off = static_cast<double>(L.rows()) * unit_roundoff * L.norm() * inverse.norm();
  return {inverse.cwiseAbs(), off < 0.5 ? 1 / (1 - off) : 1e30};
}

// Features of the rows for a given L, by substitution in long double, and what they are off by, (24).
void map_rows(const Matrix& X, const std::vector<Index>& rows, const std::vector<Kernel>& kernels,
              const Vector& divisors, int threads, MappedRows& mapped) {
  const ExactKernels exact(X, kernels, {});
  const Matrix& L = mapped.map.L;
  const std::vector<Index>& pivots = mapped.map.pivots;
  const Index r = mapped.map.rank(), n = std::ssize(rows), M = exact.M();
  const auto mean = [&](Index i, Index j, std::vector<long double>& values) {
    exact.values(i, j, values.data());
    long double sum = 0;
    for (Index m = 0; m < M; ++m)
      sum += values[static_cast<std::size_t>(m)] / (static_cast<long double>(M) * divisors[m]);
    return sum;
  };
  double of_value = static_cast<double>(M) + 6;
  for (Index m = 0; m < M; ++m) of_value = std::max(of_value, 2 * exact.roundings(m) + 6 + M);
  std::vector<long double> values(static_cast<std::size_t>(M));
  Vector size(r);  // roots of the diagonal at the pivots
  for (Index p = 0; p < r; ++p)
    size[p] = std::sqrt(static_cast<double>(mean(pivots[p], pivots[p], values)));
  const Inverse inverse = inverse_of(L);
  const double h = 1.1 * inverse.safety * (inverse.size * size).norm();

  mapped.phi.resize(n, r);
  mapped.error.resize(n);
  parallel_for((n + kBlock - 1) / kBlock, threads, [&](Index block) {
    std::vector<long double> own(static_cast<std::size_t>(M)), phi(static_cast<std::size_t>(r));
    for (Index i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
      long double squares = 0;
      for (Index p = 0; p < r; ++p) {
        long double value = mean(rows[i], pivots[p], own);
        for (Index l = 0; l < p; ++l) value -= phi[static_cast<std::size_t>(l)] * L(p, l);
        value /= L(p, p);
        squares += value * value;
        phi[static_cast<std::size_t>(p)] = value;
        mapped.phi(i, p) = static_cast<double>(value);
      }
      const double length = std::sqrt(static_cast<double>(squares));
      const double root = std::sqrt(static_cast<double>(mean(rows[i], rows[i], own)));
      mapped.error[i] =
          long_roundoff * h * (of_value * root + static_cast<double>(r + 4) * length) +
          unit_roundoff * length;
    }
  });
}

}  // namespace

// Pivoted Cholesky. With r columns of phi known, what is left of the kernel is k(x, z) - phi(x)'phi(z), and zero at the r pivots.
// The next pivot p has the largest diagonal of it, and
//
//   phi_r(x) = ( k(x, p) - sum_{l < r} phi_l(x) phi_l(p) ) / sqrt(left(p)),        left(x) -= phi_r(x)^2.
//
// Row i of L is phi at pivot i.
MappedRows map_features(const Matrix& X, const std::vector<Index>& rows,
                        const std::vector<Kernel>& kernels, const Vector& divisors,
                        Index largest_rank, int threads) {
  assert(divisors.size() == std::ssize(kernels) && largest_rank >= 1);
  check(kernels);
  const Index n = std::ssize(rows);
  const Index blocks = (n + kBlock - 1) / kBlock;
  const Matrix A = X(rows, Eigen::all);
  Vector left(n);
  parallel_for(n, threads,
               [&](Index i) { left[i] = mean_kernel_at(A.row(i).transpose(), kernels, divisors); });
  const double trace = left.sum();
  const double rounding = kRound * (n > 0 ? left.maxCoeff() : 0);
  if (!(trace > 0))
    throw InputError(
        "the kernels are zero at every row, so there are no features to map to. Use other kernels, "
        "or `scale` standard.");

  const Index most = std::min(n, largest_rank);
  std::vector<Index> chosen;  // positions in `rows`
  Matrix phi(n, most);
  while (std::ssize(chosen) < most && left.sum() > kLeft * trace) {
    const Index p = first_largest(left);
    const double largest = left[p];
    if (largest <= rounding) break;
    const Index r = std::ssize(chosen);
    const Vector at_p = phi.row(p).head(r);
    parallel_for(blocks, threads, [&](Index block) {
      const Index first = block * kBlock, count = std::min(kBlock, n - first);
      const Vector k = mean_kernel(A.middleRows(first, count), A.row(p), kernels, divisors);
      for (Index i = first; i < first + count; ++i) {
        const double value = (k[i - first] - phi.row(i).head(r).dot(at_p)) / std::sqrt(largest);
        phi(i, r) = value;
        left[i] = std::max(0.0, left[i] - value * value);
      }
    });
    chosen.push_back(p);
    for (Index l = 0; l < r; ++l) phi(chosen[l], r) = 0;  // no longer changes
    phi(p, r) = std::sqrt(largest);
    left[p] = 0;
  }

  const Index rank = std::ssize(chosen);
  MappedRows mapped;
  mapped.map.L = phi(chosen, Eigen::seqN(0, rank));
  mapped.map.left = left.sum() / trace;
  for (const Index i : chosen) mapped.map.pivots.push_back(rows[i]);
  map_rows(X, rows, kernels, divisors, threads, mapped);
  return mapped;
}

Matrix apply_map(const FeatureMap& map, const Matrix& X, const Matrix& pivots,
                 const std::vector<Kernel>& kernels, const Vector& divisors) {
  assert(pivots.rows() == map.rank());
  Matrix k = mean_kernel(X, pivots, kernels, divisors);
  solve_lower(map.L, k.transpose());
  return k;
}

Vector coefficients_of(const FeatureMap& map, ConstVectorRef w) {
  const Index r = map.rank();
  std::vector<long double> a(static_cast<std::size_t>(r));
  Vector out(r);
  for (Index p = r - 1; p >= 0; --p) {
    long double value = w[p];
    for (Index q = p + 1; q < r; ++q) value -= a[static_cast<std::size_t>(q)] * map.L(q, p);
    a[static_cast<std::size_t>(p)] = value / map.L(p, p);
    out[p] = static_cast<double>(a[static_cast<std::size_t>(p)]);
  }
  return out;
}

// Substitution solves (L + D)'a = w with |D| <= (r + 2) u_long |L|, and rounding adds u |a|; |a| <= |L^-T| |w|.
Matrix weight_error_of(const FeatureMap& map) {
  const Inverse inverse = inverse_of(map.L);
  const double of_a = unit_roundoff + static_cast<double>(map.rank() + 2) * long_roundoff;
  return 1.1 * inverse.safety * of_a * (map.L.cwiseAbs().transpose() * inverse.size.transpose());
}

}  // namespace coterie
