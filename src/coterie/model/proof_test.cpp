#include "coterie/mtmkl/proof.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coterie/math/random.hpp"
#include "coterie/model/random_problem.hpp"
#include "coterie/model/train.hpp"
#include "coterie/model/verify.hpp"

namespace coterie {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Proof, ShowsOnlyWhatIsCertain) {
  EXPECT_TRUE((Proof{1, 0.9, 0.01}.shows(0.11)));
  EXPECT_FALSE((Proof{1, 0.9, 0.02}.shows(0.11)));  // the error may hide more
  EXPECT_TRUE((Proof{1, 1.01, 0.02}.shows(0.1)));   // below 0, but within the error
  EXPECT_FALSE((Proof{1, 1.05, 0.02}.shows(0.1)));  // so far below 0 that something is wrong
}

// With one kernel of known values everything can be written down: two samples, alpha = (a, a), K = I, f = (a, -a), w'w = 2 a^2.
TEST(Proof, TwoSamplesByHand) {
  const TaskGrams grams({Matrix::Identity(2, 2)});
  const Vector y = (Vector(2) << 1, -1).finished();
  const double a = 0.3;
  const TaskProof task = careful_proof(grams, y, Vector::Constant(2, 2.0), Vector::Ones(1),
                                       Vector::Constant(2, a), 0, {});
  EXPECT_NEAR(task.primal, a * a + 2 * 2 * (1 - a), 1e-15);
  EXPECT_NEAR(task.g[0], -a * a, 1e-16);
  EXPECT_EQ(task.alpha_sum, 2 * a);
  EXPECT_LE(task.primal_error, 1e-14);
  const TaskGraph none;
  const Vector no_kappa;
  const Matrix no_anchors;
  const Proof proof = join_proofs({task}, {0}, Matrix::Ones(1, 1),
                                  {none, no_kappa, no_anchors, WeightSet(1)}, Matrix(0, 1));
  EXPECT_NEAR(proof.dual, 2 * a - a * a, 1e-15);
  EXPECT_NEAR(proof.gap(), 2 * a * a - 6 * a + 4, 1e-15);
}

// What is missing of y'alpha = 0 costs as much of the dual value as a repair does, (45).
TEST(Proof, AnImbalanceIsPaidFor) {
  const TaskGrams grams({Matrix::Identity(2, 2)});
  const Vector y = (Vector(2) << 1, -1).finished();
  const Vector alpha = (Vector(2) << 0.5, 0.4).finished();
  const TaskProof task = careful_proof(grams, y, Vector::Ones(2), Vector::Ones(1), alpha, 0, {});
  const double before = alpha.sum() - 0.5 * alpha.squaredNorm();
  const double repaired = 0.8 - 0.5 * (0.16 + 0.16);
  EXPECT_GE(task.alpha_error + task.g_error[0], before - repaired);
}

TEST(Proof, WeightsAndPairDualsArePutInside) {
  Random random(5);
  for (const double p : {1.0, 1.5, 2.0, infinity})
    for (int trial = 0; trial < 100; ++trial) {
      Matrix theta(2, 5);
      for (Index m = 0; m < 5; ++m) theta(0, m) = random.uniform();
      theta.row(0) = WeightSet(p).project(theta.row(0).transpose()).transpose();
      theta.row(0) *= 1 + 1e-10;
      theta.row(1) = theta.row(0);
      put_inside(theta, WeightSet(p));
      EXPECT_TRUE(WeightSet(p).contains(theta.row(0).transpose(), 1e-15));
      EXPECT_EQ(theta.row(0), theta.row(1));
      Matrix nu = Matrix::Random(1, 5);
      const double kappa = nu.norm() * (1 - 1e-9);
      pull_inside(nu, Vector::Constant(1, kappa));
      EXPECT_LT(nu.norm(), kappa);
      EXPECT_GT(nu.norm(), kappa * (1 - 1e-14));
    }
}

// Stiff SVMs next to ones with a C 10,000 times as large: the first way there got stuck at a gap of 5e-3, with samples that joined late.
TEST(Proof, AStuckFitGoesOnFromItsWeights) {
  const RandomProblem problem = wild_problem(30056437);
  const Prepared prepared = prepare(problem.data, problem.settings, problem.extras, 1);
  const Model model =
      make_model(prepared, problem.settings, fit_prepared(prepared, problem.settings, 1), "none");
  EXPECT_EQ(model.certificate().status, Status::converged) << model.certificate().gap;
  EXPECT_TRUE(verify_training(model, problem.data, problem.extras.precomputed).holds());
}

// The bounds of the numbers that the solver has at hand against those computed in long double, which are far closer.
TEST(Proof, BoundsHoldAndAreNotWild) {
  double loosest = 0;
  for (std::uint64_t seed = 7000; seed < 7100; ++seed) {
    RandomProblem problem = wild_problem(seed);
    problem.settings.tolerance = 1e-4;
    SCOPED_TRACE(problem.description);
    Prepared prepared;
    try {
      prepared = prepare(problem.data, problem.settings, problem.extras, 1);
    } catch (const InputError&) {
      continue;  // a constant kernel
    }
    const Index T = std::ssize(problem.data.tasks);
    const Vector theta =
        WeightSet(problem.settings.norm).uniform(std::ssize(prepared.grams.kernels));
    for (Index t = 0; t < T; ++t) {
      const std::size_t i = static_cast<std::size_t>(t);
      const TaskGrams& grams = prepared.grams.tasks[i];
      TaskSvm svm(grams, prepared.set.y[i], Vector::Ones(grams.n()), prepared.set.C[i], grams.n());
      RowPool pool;
      const TaskState state = evaluate_task(svm, theta, Vector(), 1e-5, pool);
      const TaskProof rounded = rounded_proof(grams, svm, state, theta);
      const TaskProof careful = careful_proof(grams, prepared.set.y[i], prepared.set.C[i], theta,
                                              svm.spread(state.svm.alpha), state.svm.bias, {});
      EXPECT_LE(std::abs(rounded.primal - careful.primal),
                rounded.primal_error + careful.primal_error);
      for (Index m = 0; m < rounded.g.size(); ++m)
        EXPECT_LE(std::abs(rounded.g[m] - careful.g[m]), rounded.g_error[m] + careful.g_error[m]);
      EXPECT_LE(careful.primal_error, rounded.primal_error);
      loosest = std::max(loosest, careful.primal_error / careful.primal);
    }
  }
  EXPECT_LE(loosest, 1e-4);
}

// A tiny C is a small objective, not a solved problem.
TEST(Proof, ATinyCostGivesAModelThatPredicts) {
  for (const double C : {1e-6, 1e-12, 1e-20}) {
    RandomProblem problem = random_problem(4, Oddity::none);
    problem.settings.C = C;
    problem.settings.lambda = "0.1max";
    problem.settings.tolerance = 1e-4;
    const Prepared prepared = prepare(problem.data, problem.settings, {}, 1);
    const Fitted fitted = fit_prepared(prepared, problem.settings, 1);
    EXPECT_EQ(fitted.fit.status, Status::converged);
    for (std::size_t t = 0; t < prepared.set.y.size(); ++t) {
      const Index smaller = std::min((prepared.set.y[t].array() > 0).count(),
                                     (prepared.set.y[t].array() < 0).count());
      EXPECT_GE((fitted.fit.alpha[t].array() > 0).count(), 2 * smaller);
    }
    const Model model = make_model(prepared, problem.settings, fitted, "none");
    EXPECT_TRUE(verify_training(model, problem.data).holds());
  }
}

// Rounding that hides the gap is not convergence: kernels of size 1e20 at C = 1.
TEST(Proof, WhatDoublesCannotDecideIsSaidSo) {
  RandomProblem problem = random_problem(4, Oddity::none);
  problem.data.X *= 1e10;
  problem.settings.kernels = "linear:raw";
  problem.settings.C = 1;
  problem.settings.lambda = "0";
  problem.settings.tolerance = 1e-4;
  const Prepared prepared = prepare(problem.data, problem.settings, {}, 1);
  const Fitted fitted = fit_prepared(prepared, problem.settings, 1);
  EXPECT_EQ(fitted.fit.status, Status::precision);
  const Model model = make_model(prepared, problem.settings, fitted, "none");
  for (const std::string& finding :
       verify_training(model, problem.data).findings)  // of what it states
    ADD_FAILURE() << finding;
}

// A fit that is stopped within its first SVM still has a certificate: that of the constant answers.
TEST(Proof, StoppedAtOnceIsStillProved) {
  const RandomProblem problem = random_problem(4, Oddity::none);
  const Prepared prepared = prepare(problem.data, problem.settings, {}, 1);
  const Fitted fitted =
      fit_prepared(prepared, problem.settings, 1, [](const Progress&) { return false; });
  EXPECT_EQ(fitted.fit.status, Status::stopped);
  const Model model = make_model(prepared, problem.settings, fitted, "none");
  const Verification check = verify_training(model, problem.data);
  for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
}

}  // namespace
}  // namespace coterie
