// The steps of the proof in docs/bound.md, each against all vectors of signs of small problems.
#include "coterie/bound/complexity.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "coterie/bound/small_problem.hpp"

namespace coterie {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr int problems = 500;
constexpr double rounding = 1e-11;  // of sums of 64 terms, each of some hundred operations

double largest_spread(const SmallProblem& problem) {
  return static_cast<double>(problem.T() * (problem.T() - 1) / 2) *
         diameter(problem.D, problem.M());
}

// The spreads that are tried: none, the largest possible, and some between.
double spread_number(const SmallProblem& problem, int number) {
  const double parts[] = {0, 1, 1e-3, 0.03, 0.3};
  return parts[number % 5] * largest_spread(problem);
}

TEST(Complexity, SumsOfSignsByEnumeration) {
  for (Index n = 1; n <= 12; ++n) {
    double sum = 0;
    for (Index k = 0; k < (Index{1} << n); ++k)
      sum += std::abs(static_cast<double>(n) - 2.0 * std::popcount(static_cast<unsigned>(k)));
    EXPECT_DOUBLE_EQ(expected_sign_sum(n), sum / static_cast<double>(Index{1} << n));
  }
}

TEST(Complexity, FormsAreSumsOverAllPairs) {
  Random random(1);
  const Index n = 300;  // more than a strip
  std::vector<Matrix> grams = {random_gram(random, n, 5, true), random_gram(random, n, 2, false)};
  Eigen::MatrixXd signs(n, 3);
  for (double& sign : signs.reshaped()) sign = random.below(2) == 0 ? -1 : 1;
  const Matrix forms = quadratic_forms(TaskGrams(grams), signs);
  for (Index k = 0; k < 3; ++k)
    for (Index m = 0; m < 2; ++m) {
      const Matrix& K = grams[static_cast<std::size_t>(m)];
      double sum = 0;
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) sum += signs(i, k) * K(i, j) * signs(j, k);
      // each entry is rounded a few times, and there are n^2 of them
      EXPECT_NEAR(forms(k, m), sum, 1e-15 * K.cwiseAbs().sum() * static_cast<double>(n));
    }
  const TaskSums sums = sums_of(TaskGrams(grams), WeightSet(1));
  EXPECT_NEAR(sums.trace[1], grams[1].trace(), 1e-12 * grams[1].trace());
  EXPECT_NEAR(sums.square[1], grams[1].squaredNorm(), 1e-12 * grams[1].squaredNorm());
  EXPECT_NEAR(sums.reach, grams[0].diagonal().cwiseMax(grams[1].diagonal()).sum(), 1e-9);
}

// The lemma behind (10): E (s'As)(s'Bs) = tr A tr B + 2 (tr AB - sum_i A_ii B_ii).
TEST(Complexity, LemmaOfTwoForms) {
  Random random(2);
  const Matrix A = random_gram(random, 6, 3, false), B = random_gram(random, 6, 2, false);
  const SmallProblem all = enumerate_signs({TaskGrams({A, B})}, WeightSet(1));
  const double mean = all.forms[0].col(0).cwiseProduct(all.forms[0].col(1)).mean();
  const double stated =
      A.trace() * B.trace() + 2 * ((A * B).trace() - A.diagonal().dot(B.diagonal()));
  EXPECT_NEAR(mean, stated, rounding * stated);
}

TEST(Complexity, ScatterIsExact) {
  for (int seed = 0; seed < 50; ++seed) {
    const SmallProblem problem = small_problem(static_cast<std::uint64_t>(seed));
    const Vector b = task_scales(problem.sums);
    double sum = 0;
    for (Index k = 0; k < problem.draws(); ++k) {
      const Matrix scaled = b.cwiseInverse().asDiagonal() * problem.U(k);
      sum += (scaled.rowwise() - scaled.colwise().mean()).squaredNorm();
    }
    const double mean = sum / static_cast<double>(problem.draws());
    EXPECT_NEAR(expected_scatter(problem.sums, b), mean, rounding * (1 + mean)) << seed;
  }
}

// Moments of chi-squares: (2r - 1)!! for one, k (k + 2) .. (k + 2r - 2) for k of them.
TEST(Complexity, ChiSquareMoments) {
  double one = 1, seven = 1;
  const Vector single = chi_square_moments(Vector::Ones(1), 20);
  const Vector many = chi_square_moments(Vector::Ones(7), 20);
  for (Index r = 1; r <= 20; ++r) {
    one *= static_cast<double>(2 * r - 1);
    seven *= static_cast<double>(7 + 2 * r - 2);
    EXPECT_NEAR(single[r], one, 1e-13 * one);
    EXPECT_NEAR(many[r], seven, 1e-13 * seven);
  }
}

// (11): E (sum_t s_t'K_t s_t)^r <= E (sum_t tr K_t g_t^2)^r, with equality at r = 1; and this is below the constant of the literature.
TEST(Complexity, MomentBound) {
  for (int seed = 0; seed < 60; ++seed) {
    const SmallProblem problem = small_problem(static_cast<std::uint64_t>(seed));
    Vector traces(problem.T());
    for (Index t = 0; t < problem.T(); ++t)
      traces[t] = problem.sums[static_cast<std::size_t>(t)].trace[0];
    const Vector moments = chi_square_moments(traces, 8);
    Vector forms = Vector::Zero(problem.draws());
    for (const Matrix& task : problem.forms) forms += task.col(0);
    for (Index r = 1; r <= 8; ++r) {
      const double power = static_cast<double>(r);
      const double mean = forms.array().pow(power).mean();
      EXPECT_LE(mean, moments[r] * (1 + rounding)) << seed << " " << r;
      if (r == 1) {
        EXPECT_NEAR(mean, moments[1], rounding * mean);
      } else {
        EXPECT_LE(moments[r], std::pow(23.0 / 22 * power * traces.sum(), power)) << r;
      }
    }
  }
}

// (12) by enumeration; never above the constant min(M, min_r M^(1/r) (23/22) r) for p = 1.
TEST(Complexity, LargestForm) {
  for (int seed = 0; seed < 100; ++seed) {
    const SmallProblem problem = small_problem(static_cast<std::uint64_t>(seed));
    Matrix traces(problem.T(), problem.M());
    double mean = 0;
    for (Index t = 0; t < problem.T(); ++t)
      traces.row(t) = problem.sums[static_cast<std::size_t>(t)].trace;
    for (Index k = 0; k < problem.draws(); ++k)
      mean += support(problem.D, problem.U(k).colwise().sum().transpose());
    mean /= static_cast<double>(problem.draws());
    const double bound = largest_form(traces, problem.D);
    EXPECT_LE(mean, bound * (1 + rounding)) << seed;
    if (problem.D.p() > 1) continue;
    const double M = static_cast<double>(problem.M());
    double constant = M;
    for (int r = 2; r < 20; ++r) constant = std::min(constant, std::pow(M, 1.0 / r) * 23 / 22 * r);
    EXPECT_LE(bound, constant * traces.colwise().sum().maxCoeff() * (1 + rounding));
  }
}

// (8), (9): for every vector of signs the sum of roots at feasible weights, and so its supremum, is below the split into mean and spread.
TEST(Complexity, SplitIntoMeanAndSpread) {
  for (int seed = 0; seed < 100; ++seed) {
    const SmallProblem problem = small_problem(static_cast<std::uint64_t>(seed));
    const Vector b = task_scales(problem.sums);
    const double gamma = spread_number(problem, seed);
    for (Index k = 0; k < problem.draws(); k += 5) {
      const Matrix U = problem.U(k);
      const Supremum W = largest_sum(U, problem.D, gamma);
      EXPECT_LE(W.lower, data_form(U, b, problem.D, gamma) * (1 + rounding)) << seed << " " << k;
      const Eigen::RowVectorXd mean = W.theta.colwise().mean();
      EXPECT_LE((W.theta.rowwise() - mean).norm(),
                gamma / std::sqrt(static_cast<double>(problem.T())) + 1e-9);
    }
  }
}

// (17): some tasks are spread by (s - 1)/(T - 1) of the whole at most; two of them may be, when the others stand between.
TEST(Complexity, SpreadOfSomeTasks) {
  Random random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const Index T = 2 + random.below(7), s = 1 + random.below(T);
    Matrix theta(T, 3);
    for (double& x : theta.reshaped()) x = random.normal();
    EXPECT_LE(spread(theta.topRows(s)),
              spread(theta) * static_cast<double>(s - 1) / static_cast<double>(T - 1) + 1e-12);
  }
  Matrix line = Matrix::Zero(5, 2);
  line(1, 0) = 1;
  line.col(0).tail(3).setConstant(0.5);
  EXPECT_NEAR(spread(line.topRows(2)), spread(line) / 4, 1e-12);
}

// The truth by all vectors of signs: between the means of lower and of upper values.
struct Truth {
  double lower = 0, upper = 0, data = 0;
};
Truth truth_of(const SmallProblem& problem, double gamma) {
  Truth out;
  const Vector b = task_scales(problem.sums);
  for (Index k = 0; k < problem.draws(); ++k) {
    const Matrix U = problem.U(k);
    const Supremum W = largest_sum(U, problem.D, gamma);
    out.lower += W.lower / static_cast<double>(problem.draws());
    out.upper += W.upper / static_cast<double>(problem.draws());
    out.data += data_form(U, b, problem.D, gamma) / static_cast<double>(problem.draws());
  }
  return out;
}

TEST(Complexity, CorrectedValuesAreNeverBelowTheTruth) {
  int printed_below = 0, at_no_spread = 0, at_small_spread = 0;
  for (int seed = 0; seed < problems; ++seed) {
    const SmallProblem problem = small_problem(static_cast<std::uint64_t>(1000 + seed));
    const double gamma = spread_number(problem, seed);
    const Truth truth = truth_of(problem, gamma);
    const double closed = closed_form(problem.sums, problem.D, gamma);
    EXPECT_LE(truth.lower, truth.data * (1 + rounding)) << seed;
    EXPECT_LE(truth.lower, closed * (1 + rounding)) << seed;
    EXPECT_LE(truth.data, closed * (1 + rounding)) << seed;
    EXPECT_LE(truth.upper - truth.lower, 1e-4 * truth.upper * (1 + rounding)) << seed;
    const double printed = published_complexity(1, gamma, problem.M(), problem.N);
    if (printed < truth.lower / problem.N) {
      ++printed_below;
      at_no_spread += gamma == 0;
      at_small_spread += gamma > 0;
    }
  }
  EXPECT_EQ(at_no_spread, problems / 5);  // whenever gamma is 0
  EXPECT_GT(at_small_spread, 0);
  RecordProperty("printed_below_truth", printed_below);
}

// A counterexample to the printed theorem that needs no computer. Four tasks of one sample each, two kernels with k(x,x) = 1, R = 1: every
// u is 1, so that the sum of roots is 4 whatever the weights and signs are, and the complexity is 4 / 4 = 1. The theorem says
// sqrt(sqrt(3) gamma 2 / 4), which is 0 at gamma = 0 and 0.93 at gamma = 1.
TEST(Complexity, CounterexampleToThePrintedTheorem) {
  std::vector<TaskGrams> tasks;
  for (int t = 0; t < 4; ++t) tasks.emplace_back(std::vector<Matrix>(2, Matrix::Ones(1, 1)));
  const SmallProblem problem = enumerate_signs(std::move(tasks), WeightSet(1));
  for (const double gamma : {0.0, 1.0}) {
    const Truth truth = truth_of(problem, gamma);
    EXPECT_NEAR(truth.lower / problem.N, 1, 1e-12);
    EXPECT_LT(published_complexity(1, gamma, 2, 4), 0.94);
    EXPECT_GE(closed_form(problem.sums, problem.D, gamma) / problem.N, 1);
  }
  EXPECT_EQ(published_complexity(1, 0, 2, 4), 0);
  EXPECT_NEAR(published_complexity(1, 1, 2, 4), std::sqrt(std::sqrt(3.0) / 2), 1e-15);
}

// More spread never makes the class smaller, and separate kernels are its end.
TEST(Complexity, ClosedFormGrowsWithSpreadToThatOfSeparateKernels) {
  const SmallProblem problem = small_problem(3);
  double last = 0;
  for (const double part : {0.0, 0.01, 0.1, 1.0, 10.0}) {
    const double value = closed_form(problem.sums, problem.D, part * largest_spread(problem));
    EXPECT_GE(value, last);
    last = value;
  }
  EXPECT_LE(last, closed_form(problem.sums, problem.D, infinite));
}

}  // namespace
}  // namespace coterie
