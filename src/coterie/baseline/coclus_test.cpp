#include "coterie/baseline/coclus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "coterie/baseline/clustered_linear.hpp"
#include "coterie/baseline/ridge.hpp"
#include "coterie/math/dense.hpp"
#include "coterie/math/spectrum.hpp"

namespace coterie {
namespace {

const Loss losses[] = {Loss::squared_hinge, Loss::logistic, Loss::square};
const LinearSettings exact{1e-10, 1000, 1};

LinearProblem problem_of(std::uint64_t seed, Loss loss = Loss::squared_hinge, Index T = 6,
                         Index d = 5) {
  Random random(seed);
  return clustered_linear(random, {.T = T, .d = d, .samples = 20, .clusters = 3, .loss = loss});
}

Matrix mean_rows(const Matrix& X) {
  Matrix mean(X.rows(), X.cols());
  for (Index t = 0; t < X.rows(); ++t) mean.row(t) = X.colwise().sum() / double(X.rows());
  return mean;
}

Eigen::MatrixXd leading_rows(const Matrix& Q, Index k) {
  return spectrum_of(Q * Q.transpose()).vectors.rightCols(std::min(k, Q.rows()));
}

// F by plain means. The rest of Q beyond rank k is what its leading directions leave; sums of small eigenvalues would be all rounding.
double objective(const LinearProblem& problem, const CoclusParameters& p, const Matrix& P,
                 const Matrix& Q, const Vector& b) {
  const Eigen::MatrixXd U = leading_rows(Q, p.clusters);
  const double rest = (Q - U * (U.transpose() * Q)).squaredNorm();
  return pulls_at(problem, P + Q, b).loss + p.lambda1 * (P - mean_rows(P)).squaredNorm() +
         p.lambda2 * rest + p.ridge / 2 * (P.squaredNorm() + Q.squaredNorm());
}

// The bound of the header, and the directions that it is for.
struct Bound {
  double dual;
  Eigen::MatrixXd U, V;
};
Bound bound_of(const LinearProblem& problem, const CoclusParameters& p, const Matrix& P,
               const Matrix& Q, const Vector& b) {
  const Index k = std::min({p.clusters, Q.rows(), Q.cols()});
  Bound out{0, leading_rows(Q, k), leading_rows(Q.transpose(), k)};
  const Pulls pulls = pulls_at(problem, P + Q, b);
  EXPECT_LE(pulls.balance.lpNorm<Eigen::Infinity>(), 1e-12);
  double h = std::max((out.U.transpose() * pulls.Z).squaredNorm(), (pulls.Z * out.V).squaredNorm());
  if (k == std::min(Q.rows(), Q.cols())) h = pulls.Z.squaredNorm();
  const Matrix mean = mean_rows(pulls.Z);
  out.dual = pulls.dual - (pulls.Z - mean).squaredNorm() / (4 * p.lambda1 + 2 * p.ridge) -
             mean.squaredNorm() / (2 * p.ridge) -
             (pulls.Z.squaredNorm() - h) / (4 * p.lambda2 + 2 * p.ridge) - h / (2 * p.ridge);
  return out;
}

void expect_certified(const LinearProblem& problem, const CoclusParameters& p, const LinearFit& fit,
                      double tolerance) {
  const Matrix Q = fit.W - fit.shared;
  const double F = objective(problem, p, fit.shared, Q, fit.b);
  EXPECT_NEAR(fit.primal, F, 1e-12 * std::max(1.0, F));
  const double gap = (F - bound_of(problem, p, fit.shared, Q, fit.b).dual) / F;
  EXPECT_NEAR(fit.gap, gap, 1e-12 + 1e-5 * gap);
  EXPECT_LE(gap, tolerance);
  EXPECT_EQ(fit.claim, Claim::stationary);
  EXPECT_EQ(fit.status, Status::converged);
  EXPECT_EQ(fit.dual, -std::numeric_limits<double>::infinity());
  EXPECT_NEAR(fit.task_objective.sum(), pulls_at(problem, fit.W, fit.b).loss, 1e-12);
  Index tasks = 0;
  for (const auto& group : fit.clusters) tasks += std::ssize(group);
  EXPECT_EQ(tasks, problem.T());
}

const CoclusParameters several[] = {
    {2, 0.1, 0.1, 1e-3, 1}, {1, 1, 0.01, 1e-2, 1}, {3, 0.01, 1, 1e-3, 1}, {2, 100, 100, 1e-3, 1}};

TEST(Coclus, ProofIsAsSaid) {
  for (const Loss loss : losses)
    for (const CoclusParameters& p : several) {
      const LinearProblem problem = problem_of(1, loss);
      expect_certified(problem, p, fit_coclus(problem, p, exact), 1e-10);
    }
  const LinearProblem wide = problem_of(2, Loss::squared_hinge, 4, 25);
  for (const CoclusParameters& p : several)
    expect_certified(wide, p, fit_coclus(wide, p, {1e-5, 1000, 1}), 1e-5);
}

// Both majorants lie above F everywhere, and nowhere below the bound.
TEST(Coclus, MajorantsAreAboveTheObjectiveAndTheBound) {
  Random random(3);
  const LinearProblem problem = problem_of(3);
  const CoclusParameters p{2, 0.1, 0.3, 1e-2, 1};
  const LinearFit fit = fit_coclus(problem, p, {1e-3, 1000, 1});
  const Bound bound = bound_of(problem, p, fit.shared, fit.W - fit.shared, fit.b);
  for (int trial = 0; trial < 200; ++trial) {
    const double far = std::pow(10, random.uniform(-4, 1));
    const Matrix P = fit.shared + random_matrix(random, 6, 5, far);
    const Matrix Q = fit.W - fit.shared + random_matrix(random, 6, 5, far);
    const Vector b = fit.b + random_matrix(random, 6, 1, far).col(0);
    const double F = objective(problem, p, P, Q, b);
    CoclusParameters without = p;
    without.clusters = 6;
    const double rest = objective(problem, without, P, Q, b);
    const double U = rest + p.lambda2 * (Q - bound.U * (bound.U.transpose() * Q)).squaredNorm();
    const double V = rest + p.lambda2 * (Q - (Q * bound.V) * bound.V.transpose()).squaredNorm();
    EXPECT_LE(F, U + 1e-12 * U);
    EXPECT_LE(F, V + 1e-12 * V);
    EXPECT_GE(U, bound.dual);
    EXPECT_GE(V, bound.dual);
  }
}

// The published algorithm, proximal alternating linearised minimisation: steps in P, Q and b, each with its own bound of curvature.
struct Palm {
  Matrix P, Q;
  Vector b;
  double longest = 0;  // largest change of P and Q in the last round
  void round(const LinearProblem& problem, const CoclusParameters& p, double L) {
    const Matrix before_P = P, before_Q = Q;
    const auto shrink = [&](double x) { return 1 / (1 + x / L); };
    const Matrix Y = P + pulls_at(problem, P + Q, b).Z / L;
    P = mean_rows(Y) * shrink(p.ridge) + (Y - mean_rows(Y)) * shrink(2 * p.lambda1 + p.ridge);
    const Eigen::MatrixXd Z = Q + pulls_at(problem, P + Q, b).Z / L;
    const Svd svd = svd_of(Z);
    Vector sigma = svd.sigma;
    for (Index i = 0; i < sigma.size(); ++i)
      sigma[i] *= shrink(i < p.clusters ? p.ridge : 2 * p.lambda2 + p.ridge);
    Q = svd.U * sigma.asDiagonal() * svd.V.transpose();
    for (Index t = 0; t < b.size(); ++t) {
      double slope = 0;
      for (Index i = 0; i < problem.X[t].rows(); ++i) {
        const double y = problem.y[t][i];
        const double margin = y * (problem.X[t].row(i).dot(P.row(t) + Q.row(t)) + b[t]);
        slope -= problem.c[t][i] * y * loss_pull(problem.loss, margin);
      }
      b[t] -= slope;  // curvature is at most 1
    }
    longest = std::max((P - before_P).norm(), (Q - before_Q).norm());
  }
};

double curvature_of(const LinearProblem& problem) {
  double most = 0;
  for (const Matrix& X : problem.X)
    most = std::max(most, X.squaredNorm() / static_cast<double>(X.rows()));
  return most;
}

TEST(Coclus, PublishedAlgorithmStaysThere) {
  for (const Loss loss : losses)
    for (const CoclusParameters& p : several) {
      const LinearProblem problem = problem_of(4, loss);
      const LinearFit fit = fit_coclus(problem, p, {1e-9, 1000, 1});
      Palm palm{fit.shared, fit.W - fit.shared, fit.b};
      palm.round(problem, p, curvature_of(problem));
      EXPECT_LE(palm.longest, 1e-4 * std::max(1.0, fit.W.norm()));
      EXPECT_NEAR(objective(problem, p, palm.P, palm.Q, palm.b), fit.primal, 1e-8);
    }
}

TEST(Coclus, PublishedAlgorithmFindsNothingLower) {
  const LinearProblem problem = problem_of(5, Loss::squared_hinge, 4, 3);
  for (const CoclusParameters& p : {CoclusParameters{1, 0.1, 0.1, 0.01, 1}, {2, 0.3, 1, 0.01, 1}}) {
    const double value = fit_coclus(problem, p, exact).primal;
    Palm palm{Matrix::Zero(4, 3), Matrix::Zero(4, 3), Vector::Zero(4)};
    double last = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 3000; ++round) {
      if (round % 100 == 0) {
        const double now = objective(problem, p, palm.P, palm.Q, palm.b);
        EXPECT_LE(now, last + 1e-12);
        last = now;
      }
      palm.round(problem, p, curvature_of(problem));
    }
    EXPECT_LE(value, last + 1e-9);
    EXPECT_NEAR(value, last, 1e-4);  // slow, but on its way to the same end
  }
}

TEST(Coclus, ObjectiveNeverRises) {
  for (const Loss loss : losses) {
    std::map<Index, double> last;
    double gap = 0;
    const LinearFit fit = fit_coclus(
        problem_of(6, loss), {2, 0.1, 10, 1e-3, 1}, exact, {}, [&](const Progress& progress) {
          const auto [at, first] = last.try_emplace(progress.part, progress.primal);
          EXPECT_LE(progress.primal, at->second);
          at->second = progress.primal;
          gap = progress.gap;
          EXPECT_EQ(progress.parts, 2);
          return true;
        });
    EXPECT_EQ(last.size(), 2);
    EXPECT_LE(gap, 1e-10);
    EXPECT_NEAR(fit.primal, std::min(last[0], last[1]), 1e-14 * fit.primal);  // computed anew
  }
}

TEST(Coclus, StopsWhenTold) {
  const LinearFit fit = fit_coclus(problem_of(6), {2, 0.1, 10, 1e-3, 1}, exact, {},
                                   [](const Progress& p) { return p.outer_step < 2; });
  EXPECT_EQ(fit.status, Status::stopped);
  EXPECT_EQ(fit.steps, 2);
  EXPECT_GT(fit.gap, 1e-10);
  EXPECT_EQ(fit.W.rows(), 6);
}

// k = 0: P and Q share W as is cheapest, which leaves one weight for the mean of W and one for the rest. With the square loss the
// optimum is the solution of one linear system.
TEST(Coclus, WithoutRankIsALinearSystem) {
  const Index T = 4, d = 3;
  const LinearProblem problem = problem_of(7, Loss::square, T, d);
  const CoclusParameters p{0, 0.3, 0.1, 0.02, 1};
  const double h = p.ridge / 2;
  const auto parallel = [](double a, double b) { return a * b / (a + b); };
  const double mean = parallel(h, p.lambda2 + h), within = parallel(p.lambda1 + h, p.lambda2 + h);
  Eigen::MatrixXd A = Eigen::MatrixXd::Zero(T * (d + 1), T * (d + 1));
  Vector right = Vector::Zero(T * (d + 1));
  for (Index t = 0; t < T; ++t) {
    for (Index s = 0; s < T; ++s)
      for (Index j = 0; j < d; ++j)
        A(t * (d + 1) + j, s * (d + 1) + j) =
            2 * (within * (s == t ? 1 : 0) + (mean - within) / static_cast<double>(T));
    for (Index i = 0; i < problem.X[t].rows(); ++i) {
      Vector x(d + 1);
      x << problem.X[t].row(i).transpose(), 1;
      A.block(t * (d + 1), t * (d + 1), d + 1, d + 1) += problem.c[t][i] * x * x.transpose();
      right.segment(t * (d + 1), d + 1) += problem.c[t][i] * problem.y[t][i] * x;
    }
  }
  ASSERT_TRUE(cholesky(A));
  const Vector solution = cholesky_solve(A, right);
  const LinearFit fit = fit_coclus(problem, p, {1e-13, 1000, 1});
  for (Index t = 0; t < T; ++t) {
    EXPECT_LE((fit.W.row(t).transpose() - solution.segment(t * (d + 1), d)).norm(), 1e-5);
    EXPECT_NEAR(fit.b[t], solution[t * (d + 1) + d], 1e-5);
  }
  EXPECT_EQ(fit.clusters.size(), 1);
}

TEST(Coclus, ConvexEnds) {
  const auto parallel = [](double a, double b) { return a * b / (a + b); };
  for (const Loss loss : losses) {
    const LinearProblem problem = problem_of(8, loss);
    const auto ridge_value = [&](double kappa) {
      RidgePenalty ridge(kappa);
      return minimise(problem, ridge, exact).primal;
    };
    // lambda1 = 0: P has a ridge and nothing else, whatever it is used for; Q at k = 0 the same with lambda2.
    EXPECT_NEAR(fit_coclus(problem, {0, 0, 0.4, 0.2, 1}, exact).primal,
                ridge_value(parallel(0.1, 0.5)), 1e-9);
    // Q is free but for its ridge when k is its rank; lambda1 = 0 makes P the same.
    for (const Index k : {5, 6, 9})
      EXPECT_NEAR(fit_coclus(problem, {k, 0, 7, 0.2, 1}, exact).primal, ridge_value(0.05), 1e-9);
    // and lambda2 = 0 does so at any k
    EXPECT_NEAR(fit_coclus(problem, {2, 0, 0, 0.2, 1}, exact).primal, ridge_value(0.05), 1e-9);
    const LinearProblem one = problem_of(9, loss, 1);
    RidgePenalty half(0.05);
    EXPECT_NEAR(fit_coclus(one, {1, 3, 7, 0.2, 1}, exact).primal, minimise(one, half, exact).primal,
                1e-9);
  }
}

TEST(Coclus, StrongPenaltiesMakeTheirParts) {
  const LinearProblem problem = problem_of(10);
  // Terms of 1e6 times a nearly vanishing square leave fewer digits than elsewhere.
  const LinearFit fit = fit_coclus(problem, {2, 1e6, 1e6, 1e-2, 1}, {1e-8, 1000, 1});
  const Vector sigma = singular_values(fit.W - fit.shared);
  EXPECT_GT(sigma[1], 0.1);
  EXPECT_LE(sigma[2], 1e-5);
  EXPECT_LE((fit.shared - mean_rows(fit.shared)).norm(), 1e-5);
  expect_certified(problem, {2, 1e6, 1e6, 1e-2, 1}, fit, 1e-8);
}

TEST(Coclus, ValueFallsWithRankAndRisesWithStrength) {
  for (const Loss loss : losses) {
    const LinearProblem problem = problem_of(11, loss);
    LinearStart start;
    double last = std::numeric_limits<double>::infinity();
    for (Index k = 0; k <= 6; ++k) {
      const LinearFit fit = fit_coclus(problem, {k, 0.1, 0.1, 1e-3, 1}, exact, start);
      EXPECT_LE(fit.primal, last + 1e-12);
      last = fit.primal;
      start = {.W = fit.W, .b = fit.b, .shared = fit.shared};
    }
    for (const double lambda : {0.05, 0.02, 0.01}) {
      const LinearFit fit = fit_coclus(problem, {6, lambda, lambda, 1e-3, 1}, exact, start);
      EXPECT_LE(fit.primal, last + 1e-12);
      last = fit.primal;
    }
  }
}

TEST(Coclus, WarmStartsEndAtOnce) {
  const LinearProblem problem = problem_of(12);
  const LinearFit cold = fit_coclus(problem, several[0], exact);
  const LinearFit warm =
      fit_coclus(problem, several[0], exact, {.W = cold.W, .b = cold.b, .shared = cold.shared});
  EXPECT_EQ(warm.steps, 0);
  EXPECT_EQ(warm.W, cold.W);
  EXPECT_LE(fit_coclus(problem, several[0], exact, {.W = cold.W, .b = cold.b}).primal,
            cold.primal + 1e-9);
}

TEST(Coclus, OrderAndAxesDoNotMatter) {
  Random random(13);
  for (const Loss loss : losses) {
    const LinearProblem problem = problem_of(13, loss);
    const CoclusParameters p = several[0];
    const LinearFit fit = fit_coclus(problem, p, exact);
    const std::vector<Index> order = {3, 0, 5, 1, 4, 2};
    const LinearFit permuted = fit_coclus(permute_tasks(problem, order), p, exact);
    EXPECT_NEAR(permuted.primal, fit.primal, 1e-9);
    for (Index t = 0; t < 6; ++t) {
      EXPECT_LE((permuted.W.row(t) - fit.W.row(order[t])).norm(), 1e-3);
      EXPECT_LE((permuted.shared.row(t) - fit.shared.row(order[t])).norm(), 1e-3);
    }
    const LinearFit reversed = fit_coclus(reverse_samples(problem), p, exact);
    EXPECT_NEAR(reversed.primal, fit.primal, 1e-9);
    EXPECT_LE((reversed.W - fit.W).norm(), 1e-3);
    const Matrix turn = orthonormal(random_matrix(random, 5, 5));
    const LinearFit turned = fit_coclus(turn_features(problem, turn), p, exact);
    EXPECT_NEAR(turned.primal, fit.primal, 1e-9);
    EXPECT_LE((turned.W - fit.W * turn).norm(), 1e-3);
  }
}

TEST(Coclus, ThreadsChangeNoBit) {
  const LinearProblem problem = problem_of(14);
  const LinearFit one = fit_coclus(problem, several[0], {1e-8, 1000, 1});
  for (const int threads : {2, 3, 0}) {
    const LinearFit many = fit_coclus(problem, several[0], {1e-8, 1000, threads});
    EXPECT_EQ(one.W, many.W);
    EXPECT_EQ(one.b, many.b);
    EXPECT_EQ(one.shared, many.shared);
    EXPECT_EQ(one.primal, many.primal);
    EXPECT_EQ(one.clusters, many.clusters);
  }
}

// Tasks t mod 3 use features j mod 3.
TEST(Coclus, BlocksAreRead) {
  Random random(15);
  const Index T = 9, d = 15;
  Matrix Q = random_matrix(random, T, d, 0.05);
  std::vector<Index> task, feature;
  for (Index t = 0; t < T; ++t) task.push_back(t % 3);
  for (Index j = 0; j < d; ++j) feature.push_back(j % 3);
  for (Index t = 0; t < T; ++t)
    for (Index j = 0; j < d; ++j)
      if (t % 3 == j % 3) Q(t, j) += static_cast<double>(2 + t % 3);
  const CoClusters found = co_clusters(Q, 3, 1);
  EXPECT_EQ(found.task, task);  // numbered by first appearance
  EXPECT_EQ(found.feature, feature);
  EXPECT_EQ(co_clusters(Q, 1, 1).task, std::vector<Index>(T, 0));
  EXPECT_EQ(co_clusters(Matrix::Zero(T, d), 2, 1).task, std::vector<Index>(T, 0));
}

void expect_refused(const CoclusParameters& p, const std::string& text) {
  try {
    fit_coclus(problem_of(1), p, exact);
    FAIL() << text;
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), text);
  }
}

TEST(Coclus, BadParametersAreRefused) {
  expect_refused({-1, 1, 1, 1, 1}, "clusters is -1; it must be a whole number >= 0.");
  expect_refused({1, -1, 1, 1, 1}, "lambda1 is -1; it must be a number >= 0.");
  expect_refused({1, 1, -2, 1, 1}, "lambda2 is -2; it must be a number >= 0.");
  expect_refused({1, 1, 1, 0, 1}, "ridge is 0; it must be a number > 0.");
}

}  // namespace
}  // namespace coterie
