#include "coterie/stats/coupling.hpp"

#include <gtest/gtest.h>
#include <libsvm/svm.h>

#include <cmath>
#include <limits>
#include <vector>

#include "coterie/math/random.hpp"

namespace coterie {
namespace {

constexpr double not_compared = std::numeric_limits<double>::quiet_NaN();

Vector random_probabilities(Random& random, Index classes) {
  Vector p(classes);
  for (double& value : p) value = std::pow(10, random.uniform(-3, 0));
  return p / p.sum();
}

Matrix pairs_of(const Vector& p) {
  Matrix r(p.size(), p.size());
  for (Index i = 0; i < p.size(); ++i)
    for (Index j = 0; j < p.size(); ++j) r(i, j) = p[i] / (p[i] + p[j]);
  return r;
}

Matrix random_pairs(Random& random, Index classes) {
  Matrix r = Matrix::Constant(classes, classes, 0.5);
  for (Index i = 0; i < classes; ++i)
    for (Index j = 0; j < i; ++j) r(j, i) = 1 - (r(i, j) = random.uniform());
  return r;
}

double sum_of_squares(const Matrix& r, const Vector& p) {
  double sum = 0;
  for (Index i = 0; i < p.size(); ++i)
    for (Index j = 0; j < i; ++j)
      if (!std::isnan(r(i, j))) sum += std::pow(r(j, i) * p[i] - r(i, j) * p[j], 2);
  return sum;
}

TEST(Coupling, RecoversWhatConsistentPairsCameFrom) {
  Random random(1);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Vector p = random_probabilities(random, 1 + random.below(12));
    EXPECT_LE((couple_pairs(pairs_of(p)) - p).cwiseAbs().maxCoeff(), 1e-8);
  }
}

TEST(Coupling, TwoClassesKeepTheirPair) {
  Matrix r(2, 2);
  r << 0.5, 0.83, 0.17, 0.5;
  EXPECT_NEAR(couple_pairs(r)[0], 0.83, 1e-10);
}

TEST(Coupling, IsALocalHenceGlobalMinimum) {
  Random random(2);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const Matrix r = random_pairs(random, 2 + random.below(8));
    const Vector p = couple_pairs(r);
    EXPECT_NEAR(p.sum(), 1, 1e-14);
    EXPECT_GE(p.minCoeff(), 0);
    const double best = sum_of_squares(r, p);
    for (int k = 0; k < 50; ++k) {
      Vector step(p.size());
      for (double& value : step) value = random.normal();
      step.array() -= step.mean();
      for (const double length : {1e-1, 1e-3})
        EXPECT_GE(sum_of_squares(r, p + length * step), best - 1e-12);
    }
  }
}

TEST(Coupling, FollowsPermutations) {
  Random random(3);
  const Matrix r = random_pairs(random, 7);
  std::vector<Index> order = {3, 0, 6, 1, 5, 2, 4};
  const Vector p = couple_pairs(r);
  EXPECT_LE((couple_pairs(r(order, order)) - p(order)).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(Coupling, MissingPairsAreLeftOut) {
  Random random(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const Vector p = random_probabilities(random, 6);
    Matrix r = pairs_of(p);
    for (Index i = 0; i < 6; ++i)  // a ring remains, which links all
      for (Index j = 0; j < 6; ++j)
        if (i != (j + 1) % 6 && j != (i + 1) % 6) r(i, j) = not_compared;
    EXPECT_LE((couple_pairs(r) - p).cwiseAbs().maxCoeff(), 1e-6);
  }
}

TEST(Coupling, ClassesThatNothingLinksAreHeldEven) {
  const Matrix none = Matrix::Constant(4, 4, not_compared);
  EXPECT_LE((couple_pairs(none) - Vector::Constant(4, 0.25)).cwiseAbs().maxCoeff(), 1e-6);
  // Two islands: within each the pairs hold.
  Matrix r = none;
  r(0, 1) = 0.8;
  r(1, 0) = 0.2;
  r(2, 3) = 0.4;
  r(3, 2) = 0.6;
  const Vector p = couple_pairs(r);
  EXPECT_NEAR(p.sum(), 1, 1e-14);
  EXPECT_NEAR(p[0] / p[1], 4, 1e-3);
  EXPECT_NEAR(p[2] / p[3], 2.0 / 3, 1e-3);
  EXPECT_GT(p.minCoeff(), 0.05);
}

TEST(Coupling, CertainPairsGiveSaneAnswers) {
  // A certain order of classes: the first wins.
  Matrix r = Matrix::Constant(4, 4, 0.5);
  r.triangularView<Eigen::StrictlyUpper>().setOnes();
  r.triangularView<Eigen::StrictlyLower>().setZero();
  Vector p = couple_pairs(r);
  EXPECT_NEAR(p[0], 1, 1e-9);
  // A certain circle: nobody does.
  Matrix circle = Matrix::Constant(3, 3, 0.5);
  circle(0, 1) = circle(1, 2) = circle(2, 0) = 1;
  circle(1, 0) = circle(2, 1) = circle(0, 2) = 0;
  p = couple_pairs(circle);
  EXPECT_LE((p - Vector::Constant(3, 1.0 / 3)).cwiseAbs().maxCoeff(), 1e-12);
}

// LIBSVM couples by the same definition, but stops early. Its function is within reach through a model without support vectors,
// whose sigmoids have the pairs' values at score 0.
Vector libsvm_coupling(const Matrix& r) {
  const auto classes = static_cast<int>(r.rows());
  std::vector<double> zeros;
  std::vector<double> offset;
  for (int i = 0; i < classes; ++i) {
    for (int j = i + 1; j < classes; ++j) {
      offset.push_back(std::log(r(j, i) / r(i, j)));
      zeros.push_back(0);
    }
  }
  std::vector<int> label;
  for (int i = 0; i < classes; ++i) label.push_back(i);
  std::vector<int> none(label.size(), 0);
  std::vector<double*> coefficients(label.size(), nullptr);
  svm_model model{};
  model.param.svm_type = C_SVC;
  model.param.kernel_type = LINEAR;
  model.nr_class = classes;
  model.sv_coef = coefficients.data();
  model.rho = zeros.data();
  model.probA = zeros.data();
  model.probB = offset.data();
  model.label = label.data();
  model.nSV = none.data();
  const svm_node end{-1, 0};
  Vector p(classes);
  svm_predict_probability(&model, &end, p.data());
  return p;
}

TEST(Coupling, AgreesWithLibsvm) {
  Random random(5);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Matrix r = random_pairs(random, 3 + random.below(6));
    // Its stopping rule bounds the gradient by 0.005 / classes.
    EXPECT_LE((couple_pairs(r) - libsvm_coupling(r)).cwiseAbs().maxCoeff(), 0.02);
  }
}

TEST(Coupling, OneVersusRestIsNormalised) {
  Vector p(3);
  p << 0.2, 0.6, 0.8;
  EXPECT_LE((normalise_probabilities(p) - p / 1.6).norm(), 1e-15);
  EXPECT_LE((normalise_probabilities(Vector::Zero(4)) - Vector::Constant(4, 0.25)).norm(), 1e-15);
}

}  // namespace
}  // namespace coterie
