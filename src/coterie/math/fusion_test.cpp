#include "coterie/math/fusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "coterie/math/prox.hpp"
#include "coterie/math/random.hpp"
#include "coterie/math/spectrum.hpp"

namespace coterie {
namespace {

Vector random_vector(Random& random, Index n) {
  Vector z(n);
  for (double& x : z) x = random.normal();
  return z;
}

Matrix random_matrix(Random& random, Index T, Index d) {
  Matrix Z(T, d);
  for (double& x : Z.reshaped()) x = random.normal();
  return Z;
}

Index count_of(const std::vector<Index>& labels) { return 1 + *std::ranges::max_element(labels); }

// The smallest lambda that fuses all of z: max_k (mean of the k largest - mean) / (T - k).
double scalar_lambda_max(Vector z) {
  std::sort(z.begin(), z.end(), std::greater<>());
  double largest = 0;
  for (Index k = 1; k < z.size(); ++k)
    largest = std::max(largest, (z.head(k).mean() - z.mean()) / static_cast<double>(z.size() - k));
  return largest;
}

// x is optimal iff in every block the residuals r_i = z_i - x_i - lambda (number below - number above) sum to 0 and the k largest of
// them never exceed lambda k (n - k): then pair duals of size lambda can carry them.
void expect_scalar_optimum(const Vector& z, double lambda, const ScalarFusion& fusion) {
  const auto& [x, block] = fusion;
  const double rounding = 1e-12 * (1 + z.cwiseAbs().maxCoeff() + lambda);
  const Index blocks = count_of(block);
  for (Index b = 0; b < blocks; ++b) {
    std::vector<double> r;
    double value = 0;
    for (Index i = 0; i < z.size(); ++i) {
      if (block[i] != b) continue;
      if (!r.empty()) {
        EXPECT_EQ(x[i], value);
      }
      value = x[i];
      double pull = 0;
      for (Index j = 0; j < z.size(); ++j)
        if (block[j] != b) pull += block[j] < b ? 1 : -1;
      r.push_back(z[i] - x[i] - lambda * pull);
    }
    ASSERT_FALSE(r.empty());
    for (Index j = 0; j < z.size(); ++j) {
      if (block[j] < b) {
        EXPECT_LT(x[j], value);
      }
      if (block[j] > b) {
        EXPECT_GT(x[j], value);
      }
    }
    std::ranges::sort(r, std::greater<>());
    double sum = 0;
    for (std::size_t k = 1; k <= r.size(); ++k) {
      sum += r[k - 1];
      EXPECT_LE(sum, lambda * static_cast<double>(k * (r.size() - k)) + rounding);
    }
    EXPECT_NEAR(sum, 0, rounding * static_cast<double>(r.size()));
  }
}

TEST(ScalarFusion, SatisfiesItsOptimalityCondition) {
  Random random(1);
  int partly = 0;
  for (int repeat = 0; repeat < 200; ++repeat) {
    Vector z = random_vector(random, 1 + random.below(12));
    if (repeat % 3 == 0) z = (2 * z).array().round();  // ties
    const double lambda = repeat % 7 == 0 ? 0 : std::pow(10, random.uniform(-3, 0.5));
    const ScalarFusion fusion = fuse_scalars(z, lambda);
    expect_scalar_optimum(z, lambda, fusion);
    const Index blocks = count_of(fusion.block);
    partly += blocks > 1 && blocks < z.size() ? 1 : 0;
  }
  EXPECT_GT(partly, 50);
}

TEST(ScalarFusion, KeepsMeanOrderAndTies) {
  Random random(2);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const Index T = 2 + random.below(20);
    Vector z = random_vector(random, T);
    z[T - 1] = z[0];
    const double lambda = random.uniform(0, 0.3);
    const auto [x, block] = fuse_scalars(z, lambda);
    EXPECT_NEAR(x.mean(), z.mean(), 1e-14);
    EXPECT_EQ(x[T - 1], x[0]);
    EXPECT_EQ(block[T - 1], block[0]);
    for (Index i = 0; i < T; ++i)
      for (Index j = 0; j < T; ++j)
        if (z[i] < z[j]) {
          EXPECT_LE(x[i], x[j]);
        }
  }
  const Vector same = Vector::Constant(7, 0.1);
  EXPECT_EQ(fuse_scalars(same, 0.3).x, same);
  const Vector z = random_vector(random, 9);
  EXPECT_EQ(fuse_scalars(z, 0).x, z);
}

TEST(ScalarFusion, FusesAllFromItsThresholdOn) {
  Random random(3);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const Vector z = random_vector(random, 2 + random.below(10));
    const double threshold = scalar_lambda_max(z);
    const auto blocks = [&](double lambda) { return count_of(fuse_scalars(z, lambda).block); };
    EXPECT_EQ(blocks(threshold * (1 + 1e-9)), 1);
    EXPECT_EQ(blocks(std::numeric_limits<double>::infinity()), 1);
    EXPECT_GT(blocks(threshold * (1 - 1e-9)), 1);
    EXPECT_NEAR(fuse_scalars(z, 1e30).x[0], z.mean(), 1e-14);
  }
}

TEST(ScalarFusion, SumsDifferencesAndDistances) {
  Random random(11);
  const Vector x = random_vector(random, 7);
  double sum = 0;
  for (Index i = 0; i < 7; ++i)
    for (Index j = 0; j < i; ++j) sum += std::abs(x[i] - x[j]);
  EXPECT_NEAR(sum_of_differences(x), sum, 1e-13);
  EXPECT_NEAR(sum_of_distances(x), sum, 1e-13);
  EXPECT_EQ(sum_of_differences(Vector::Constant(5, 0.1)), 0);
  EXPECT_EQ(sum_of_differences(Vector()), 0);
}

// Feasibility of nu, value at U and at nu, by plain loops.
void expect_vector_optimum(const Matrix& Z, double lambda, const VectorFusion& fusion,
                           double tolerance) {
  const Index T = Z.rows();
  const Matrix& U = fusion.U;
  double primal = 0;
  for (Index i = 0; i < Z.size(); ++i) primal += 0.5 * std::pow(U.data()[i] - Z.data()[i], 2);
  Matrix V = Z;
  Index e = 0;
  for (Index s = 0; s < T; ++s) {
    for (Index t = s + 1; t < T; ++t, ++e) {
      primal += lambda * (U.row(s) - U.row(t)).norm();
      EXPECT_LE(fusion.nu.row(e).norm(), lambda * (1 + 1e-14));
      V.row(s) -= fusion.nu.row(e);
      V.row(t) += fusion.nu.row(e);
      if (fusion.group[s] == fusion.group[t]) {
        EXPECT_EQ(U.row(s), U.row(t));
      }
    }
  }
  ASSERT_EQ(e, fusion.nu.rows());
  const double dual = (Z.squaredNorm() - V.squaredNorm()) / 2;
  const double rounding = 1e-14 * Z.squaredNorm();
  EXPECT_NEAR(fusion.primal, primal, rounding);
  EXPECT_NEAR(fusion.dual, dual, rounding);
  EXPECT_LE(primal - dual, tolerance * primal + rounding);
  EXPECT_GE(primal - dual, -rounding);
  EXPECT_LE((U.colwise().mean() - Z.colwise().mean()).norm(), 1e-13);
}

TEST(VectorFusion, ProvesItsOptimum) {
  Random random(4);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const Index T = 1 + random.below(12);
    const Matrix Z = random_matrix(random, T, 1 + random.below(10));
    const double lambda = repeat % 10 == 0 ? 0 : std::pow(10, random.uniform(-2.5, 0.5));
    const double tolerance = repeat % 2 == 0 ? 1e-8 : 1e-11;
    const VectorFusion fusion = fuse_vectors(Z, lambda, tolerance);
    expect_vector_optimum(Z, lambda, fusion, tolerance);
    if (lambda == 0) {
      EXPECT_LE((fusion.U - Z).norm(), 1e-14);
    }
    if (T <= 2) {
      EXPECT_EQ(fusion.iterations, 1);
    }
  }
}

TEST(VectorFusion, OfTwoIsTheClosedForm) {
  Random random(5);
  for (int repeat = 0; repeat < 40; ++repeat) {
    const Matrix Z = random_matrix(random, 2, 4);
    const double lambda = random.uniform(0, 2.5);
    const auto [x, y] = prox_pairwise(Z.row(0).transpose(), Z.row(1).transpose(), lambda);
    const VectorFusion fusion = fuse_vectors(Z, lambda, 1e-12);
    EXPECT_LE((fusion.U.row(0).transpose() - x).norm(), 1e-13);
    EXPECT_LE((fusion.U.row(1).transpose() - y).norm(), 1e-13);
    EXPECT_EQ(fusion.group[1] == 0, x == y);
  }
}

TEST(VectorFusion, OfNumbersIsTheFusionOfScalars) {
  Random random(6);
  for (int repeat = 0; repeat < 40; ++repeat) {
    const Index T = 2 + random.below(9);
    const Vector z = random_vector(random, T);
    const double lambda = std::pow(10, random.uniform(-2, 0));
    const ScalarFusion exact = fuse_scalars(z, lambda);
    const VectorFusion fusion = fuse_vectors(z, lambda, 1e-13);
    EXPECT_LE((fusion.U.col(0) - exact.x).cwiseAbs().maxCoeff(), 1e-6);
    for (Index s = 0; s < T; ++s)
      for (Index t = 0; t < T; ++t)
        EXPECT_EQ(fusion.group[s] == fusion.group[t], exact.block[s] == exact.block[t]);
  }
}

// Sufficient: lambda >= max ||z_s - z_t|| / T. Necessary: lambda >= ||sum of S (z_s - mean)|| / (|S| (T - |S|)) for every set S.
TEST(VectorFusion, FusesAllBetweenItsBounds) {
  Random random(7);
  const Index T = 6;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Matrix Z = random_matrix(random, T, 3);
    const Matrix centred = Z.rowwise() - Z.colwise().mean();
    double sufficient = 0;
    for (Index s = 0; s < T; ++s)
      for (Index t = 0; t < s; ++t)
        sufficient = std::max(sufficient, (Z.row(s) - Z.row(t)).norm() / static_cast<double>(T));
    double necessary = 0;
    for (unsigned set = 1; set + 1 < 1U << T; ++set) {
      Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(3);
      double size = 0;
      for (Index t = 0; t < T; ++t) {
        if ((set >> t & 1U) == 0) continue;
        sum += centred.row(t);
        ++size;
      }
      necessary = std::max(necessary, sum.norm() / (size * (static_cast<double>(T) - size)));
    }
    EXPECT_LE(necessary, sufficient * (1 + 1e-12));
    const auto groups = [&](double lambda) {
      return count_of(fuse_vectors(Z, lambda, 1e-10).group);
    };
    EXPECT_EQ(groups(sufficient * 1.001), 1);
    EXPECT_GT(groups(necessary * 0.98), 1);
  }
}

// Clusters that are far apart beside their width: from some lambda on each is one point, and their means are fused by a smaller problem.
TEST(VectorFusion, FindsPlantedGroupsExactly) {
  Random random(8);
  const Index T = 15;
  const Matrix centres = 3 * random_matrix(random, 3, 5);
  Matrix Z(T, 5);
  for (Index t = 0; t < T; ++t)
    Z.row(t) = centres.row(t % 3) + 0.05 * random_vector(random, 5).transpose();
  const VectorFusion fusion = fuse_vectors(Z, 0.1, 1e-10);
  expect_vector_optimum(Z, 0.1, fusion, 1e-10);
  for (Index t = 0; t < T; ++t) EXPECT_EQ(fusion.group[t], t % 3);
  // Another lambda from these duals: the same proof, sooner.
  const VectorFusion cold = fuse_vectors(Z, 0.101, 1e-10);
  const VectorFusion warm = fuse_vectors(Z, 0.101, 1e-10, fusion.nu);
  expect_vector_optimum(Z, 0.101, warm, 1e-10);
  EXPECT_LT(warm.iterations, cold.iterations);
  EXPECT_NEAR(warm.primal, cold.primal, 1e-9 * cold.primal);
  const VectorFusion smaller = fuse_vectors(Z, 0.05, 1e-10, fusion.nu);  // duals out of the ball
  expect_vector_optimum(Z, 0.05, smaller, 1e-10);
}

TEST(VectorFusion, TurnsAndPermutesWithItsRows) {
  Random random(9);
  const Matrix Z = random_matrix(random, 7, 4);
  const VectorFusion fusion = fuse_vectors(Z, 0.2, 1e-12);
  const Matrix Q = orthonormal(random_matrix(random, 4, 4));
  EXPECT_LE((fuse_vectors(Z * Q, 0.2, 1e-12).U - fusion.U * Q).norm(), 1e-5);
  const std::vector<Index> order{3, 1, 6, 0, 2, 5, 4};
  const Matrix permuted = fusion.U(order, Eigen::all);
  EXPECT_LE((fuse_vectors(Z(order, Eigen::all), 0.2, 1e-12).U - permuted).norm(), 1e-5);
  const Matrix far = Z.array() + 1e6;  // the mean costs no digits of the proof
  expect_vector_optimum(Z, 0.2, fuse_vectors(Z, 0.2, 1e-12), 1e-12);
  EXPECT_NEAR(fuse_vectors(far, 0.2, 1e-12).primal, fusion.primal, 1e-8);
}

TEST(VectorFusion, EndsWhereRoundingDoes) {
  Random random(12);
  for (int repeat = 0; repeat < 30; ++repeat) {
    const Matrix Z = random_matrix(random, 2 + random.below(9), 1 + random.below(9));
    const VectorFusion fusion = fuse_vectors(Z, random.uniform(0, 0.4), 0, {}, 20'000);
    EXPECT_LT(fusion.iterations, 20'000);
    EXPECT_LE(fusion.primal - fusion.dual, 1e-15 * Z.squaredNorm());
  }
}

TEST(VectorFusion, StopsAtItsLimit) {
  Random random(10);
  const Matrix Z = random_matrix(random, 9, 3);
  const VectorFusion fusion = fuse_vectors(Z, 0.2, 1e-14, {}, 4);
  EXPECT_EQ(fusion.iterations, 4);
  EXPECT_LT(fusion.dual, fusion.primal);
}

}  // namespace
}  // namespace coterie
