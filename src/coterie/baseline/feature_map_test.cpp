#include "coterie/baseline/feature_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <numeric>
#include <set>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

Matrix random_features(Index n, Index d, std::uint64_t seed = 1) {
  Random random(seed);
  Matrix X(n, d);
  for (double& value : X.reshaped()) value = random.normal();
  return X;
}

std::vector<Index> first_rows(Index n) {
  std::vector<Index> rows(n);
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

// By the definition, one pair at a time.
Matrix mean_kernel(const Matrix& A, const Matrix& B, const std::vector<Kernel>& kernels,
                   const Vector& divisors) {
  Matrix K = Matrix::Zero(A.rows(), B.rows());
  for (std::size_t m = 0; m < kernels.size(); ++m)
    for (Index i = 0; i < A.rows(); ++i)
      for (Index j = 0; j < B.rows(); ++j)
        K(i, j) += kernel_value(kernels[m], A.row(i).transpose(), B.row(j).transpose()) /
                   (divisors[static_cast<Index>(m)] * static_cast<double>(kernels.size()));
  return K;
}

struct Case {
  std::vector<Kernel> kernels;
  Vector divisors;
};

// Normalised and raw kernels, of all and of some features, divided by something.
Case mixed_case() {
  Case mixed{parse_kernels("linear poly:2 poly:2:1:raw gauss:0.5,2 laplace:1 gauss:1@f1-f2"), {}};
  resolve_columns(mixed.kernels, {"f1", "f2", "f3"});
  mixed.divisors = Vector::LinSpaced(7, 0.5, 2);
  return mixed;
}

double largest_difference(const Matrix& A, const Matrix& B) {
  return (A - B).cwiseAbs().maxCoeff();
}

TEST(FeatureMap, FullRankIsTheKernel) {
  const Matrix X = random_features(50, 3);
  const auto [kernels, divisors] = mixed_case();
  const std::vector<Index> rows = {3, 4, 7, 8, 9, 12, 20, 21, 30, 31, 40, 49};
  const MappedRows mapped = map_features(X, rows, kernels, divisors, 1000, 1);
  EXPECT_EQ(mapped.map.rank(), 12);  // narrow Gaussians leave nothing out
  EXPECT_EQ(mapped.map.left, 0);
  const Matrix A = X(rows, Eigen::all);
  const Matrix K = mean_kernel(A, A, kernels, divisors);
  EXPECT_LE(largest_difference(mapped.phi * mapped.phi.transpose(), K), 1e-8);
  const std::set<Index> chosen(mapped.map.pivots.begin(), mapped.map.pivots.end());
  EXPECT_EQ(chosen, std::set<Index>(rows.begin(), rows.end()));
}

TEST(FeatureMap, IsExactAtPivotsForAnyRank) {
  const Matrix X = random_features(40, 3), Z = random_features(9, 3, 2);
  const auto [kernels, divisors] = mixed_case();
  double before = 1;
  for (const Index rank : {1, 2, 5, 20}) {
    const MappedRows mapped = map_features(X, first_rows(40), kernels, divisors, rank, 1);
    const FeatureMap& map = mapped.map;
    ASSERT_EQ(map.rank(), rank);
    EXPECT_EQ(mapped.phi.cols(), rank);
    const Matrix P = X(map.pivots, Eigen::all);
    EXPECT_LE(
        largest_difference(mapped.phi * map.L.transpose(), mean_kernel(X, P, kernels, divisors)),
        1e-10);
    const Matrix upper = map.L.triangularView<Eigen::StrictlyUpper>();
    EXPECT_EQ(upper.cwiseAbs().maxCoeff(), 0);
    // What is left is a kernel too: its diagonal is not negative, and its share of the trace is `left`.
    const Vector all = mean_kernel(X, X, kernels, divisors).diagonal();
    const Vector rest = all - mapped.phi.rowwise().squaredNorm();
    EXPECT_GE(rest.minCoeff(), -1e-10);
    EXPECT_NEAR(rest.sum() / all.sum(), map.left, 1e-10);
    EXPECT_LT(map.left, before);
    before = map.left;

    EXPECT_LE(largest_difference(apply_map(map, X, P, kernels, divisors), mapped.phi), 1e-8);
    // w'phi at new rows is an expansion in kernels of the pivots.
    Random random(3);
    Vector w(rank);
    for (double& value : w) value = random.normal();
    const Vector f = mean_kernel(Z, P, kernels, divisors) * coefficients_of(map, w);
    EXPECT_LE(largest_difference(apply_map(map, Z, P, kernels, divisors) * w, f), 1e-8);
  }
}

// The first pivot has the largest diagonal, every other the largest that is left.
TEST(FeatureMap, PivotsAreGreedy) {
  const Matrix X = random_features(30, 3);
  const std::vector<Kernel> kernels = parse_kernels("poly:2:1:raw");
  const Matrix K = mean_kernel(X, X, kernels, Vector::Ones(1));
  const MappedRows mapped = map_features(X, first_rows(30), kernels, Vector::Ones(1), 6, 1);
  for (Index r = 0; r < 6; ++r) {
    const Vector left = K.diagonal() - mapped.phi.leftCols(r).rowwise().squaredNorm();
    EXPECT_NEAR(left[mapped.map.pivots[r]], left.maxCoeff(), 1e-10);
  }
}

// Rows that are there twice, and kernels of low rank: no more pivots than there are directions.
TEST(FeatureMap, StopsAtTheRankOfTheKernel) {
  Matrix X = random_features(30, 3);
  X.bottomRows(15) = X.topRows(15).eval();
  const MappedRows twice =
      map_features(X, first_rows(30), parse_kernels("gauss:0.3"), Vector::Ones(1), 1000, 1);
  EXPECT_EQ(twice.map.rank(), 15);
  for (const Index p : twice.map.pivots) EXPECT_LT(p, 15);  // of equals the first
  EXPECT_LE(largest_difference(twice.phi.topRows(15), twice.phi.bottomRows(15)), 1e-12);

  const MappedRows line =
      map_features(X, first_rows(30), parse_kernels("linear:raw"), Vector::Ones(1), 1000, 1);
  EXPECT_EQ(line.map.rank(), 3);
  EXPECT_LE(largest_difference(line.phi * line.phi.transpose(), X * X.transpose()), 1e-12);

  const MappedRows wide =
      map_features(X, first_rows(30), parse_kernels("gauss:64"), Vector::Ones(1), 1000, 1);
  EXPECT_LT(wide.map.rank(), 15);
  EXPECT_LE(wide.map.left, 1e-6);
}

// Features for the L that is given, and weights that coefficients stand for, are as near as they say: with 113 bits, in columns of 1e4 and 1.
TEST(FeatureMap, ErrorsHoldInHigherPrecision) {
  using Real = boost::multiprecision::cpp_bin_float_quad;
  Matrix X = random_features(40, 3);
  X.col(0) *= 1e4;
  const std::vector<Kernel> kernels = parse_kernels("linear:raw poly:2:1:raw");
  const Vector divisors = Vector::LinSpaced(2, 3, 7);
  const auto kernel = [&](Index i, Index j) {
    Real inner = 0;
    for (Index k = 0; k < X.cols(); ++k) inner += Real(X(i, k)) * X(j, k);
    return inner / (2 * divisors[0]) + (inner + 1) * (inner + 1) / (2 * divisors[1]);
  };
  for (const Index rank : {3, 9}) {
    const auto [map, phi, error] = map_features(X, first_rows(40), kernels, divisors, rank, 1);
    const Index r = map.rank();
    double largest_share = 0;
    for (Index i = 0; i < 40; ++i) {
      std::vector<Real> exact;
      Real off = 0;
      for (Index p = 0; p < r; ++p) {
        Real value = kernel(i, map.pivots[p]);
        for (Index l = 0; l < p; ++l) value -= exact[l] * map.L(p, l);
        exact.push_back(value / map.L(p, p));
        off += (exact.back() - phi(i, p)) * (exact.back() - phi(i, p));
      }
      const double length = static_cast<double>(sqrt(off));
      EXPECT_LE(length, error[i]);
      EXPECT_LE(error[i], 1e-9 * phi.row(i).norm());
      largest_share = std::max(largest_share, length / error[i]);
    }
    EXPECT_GE(largest_share, 1e-4);
    const Vector w = random_features(r, 1, 5), a = coefficients_of(map, w);
    const Vector allowed = weight_error_of(map) * w.cwiseAbs();
    for (Index l = 0; l < r; ++l) {
      Real sum = 0;
      for (Index p = l; p < r; ++p) sum += Real(map.L(p, l)) * a[p];
      EXPECT_LE(static_cast<double>(abs(sum - w[l])), allowed[l]);
    }
  }
}

TEST(FeatureMap, ThreadsChangeNoBit) {
  const Matrix X = random_features(700, 3);
  const auto [kernels, divisors] = mixed_case();
  const MappedRows one = map_features(X, first_rows(700), kernels, divisors, 10, 1);
  const MappedRows two = map_features(X, first_rows(700), kernels, divisors, 10, 2);
  EXPECT_EQ(one.map.pivots, two.map.pivots);
  EXPECT_EQ(one.phi, two.phi);
  EXPECT_EQ(one.map.L, two.map.L);
}

TEST(FeatureMap, UselessKernelsAreErrors) {
  const auto message = [](const Matrix& X, const std::string& kernels) -> std::string {
    try {
      map_features(X, first_rows(X.rows()), parse_kernels(kernels), Vector::Ones(1), 5, 1);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(random_features(4, 2), "precomputed:k.csv"),
            "kernel 'precomputed:k.csv' has values only for the rows of its file, so it cannot be "
            "mapped to features. Use kernels of the features, or `map` none.");
  EXPECT_EQ(message(Matrix::Zero(4, 2), "linear:raw"),
            "the kernels are zero at every row, so there are no features to map to. Use other "
            "kernels, or `scale` standard.");
}

}  // namespace
}  // namespace coterie
