// New tasks against a fitted model: the step against its gap and random points, the extension against the separate checker and what must
// be true of any answer.
#include "coterie/model/extend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "coterie/data/planted.hpp"
#include "coterie/math/message_of.hpp"
#include "coterie/math/random.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/model/random_problem.hpp"
#include "coterie/model/train.hpp"
#include "coterie/model/verify.hpp"
#include "coterie/mtmkl/theta_step.hpp"

namespace coterie {
namespace {

KernelExpansion& expansion(Model& model, std::size_t t) {
  return std::get<KernelExpansion>(model.tasks[t].function);
}

constexpr double infinity = std::numeric_limits<double>::infinity();

// The theta step, with fixed tasks.

struct StepProblem {
  Matrix c;  // a row per point; those of the anchors mean nothing
  Matrix anchors;
  std::vector<Matrix> B;
  TaskGraph graph;
  Vector kappa;
};

StepProblem random_step(Random& random, Index U, Index A, Index M, double kappa, double curvature,
                        const WeightSet& weights) {
  StepProblem out;
  out.c.resize(A + U, M);
  for (double& x : out.c.reshaped()) x = random.normal();
  out.B.resize(static_cast<std::size_t>(A));
  for (Index u = 0; u < U; ++u) {
    Matrix half(M, M / 2 + 1);  // singular on purpose
    for (double& x : half.reshaped()) x = random.normal();
    out.B.push_back(curvature * half * half.transpose());
  }
  out.anchors.resize(A, M);
  for (Index a = 0; a < A; ++a) {
    Vector v(M);
    for (double& x : v) x = random.normal();
    out.anchors.row(a) = weights.project(v);
  }
  for (Index s = 0; s < U; ++s)
    for (Index t = 0; t < A + s; ++t) out.graph.push_back({t, A + s, 1});
  out.kappa.resize(std::ssize(out.graph));
  for (double& k : out.kappa) k = kappa * random.uniform(0.5, 1.5);
  return out;
}

ThetaState start(const StepProblem& problem, const WeightSet& weights) {
  ThetaState state;
  state.theta.resize(problem.c.rows(), problem.c.cols());
  state.theta.rowwise() = weights.uniform(problem.c.cols()).transpose();
  state.theta.topRows(problem.anchors.rows()) = problem.anchors;
  return state;
}

ThetaResult solve(const StepProblem& problem, const WeightSet& weights, ThetaState& state,
                  const ThetaSettings& settings) {
  return solve_theta(
      {problem.c, problem.B, problem.graph, problem.kappa, weights, problem.anchors.rows()}, state,
      settings);
}

// By their definitions, from the tasks that are not fixed and all edges.
double value(const StepProblem& problem, const Matrix& theta) {
  double sum = 0;
  for (Index t = problem.anchors.rows(); t < theta.rows(); ++t)
    sum += problem.c.row(t).dot(theta.row(t)) +
           0.5 * theta.row(t).dot(theta.row(t) * problem.B[static_cast<std::size_t>(t)]);
  for (std::size_t i = 0; i < problem.graph.size(); ++i)
    sum += problem.kappa[static_cast<Index>(i)] *
           (theta.row(problem.graph[i].t) - theta.row(problem.graph[i].s)).norm();
  return sum;
}

// A lower bound of the value, for duals within their balls: the quadratic is above its tangent at theta.
double bound(const StepProblem& problem, const WeightSet& weights, const Matrix& theta,
             const Matrix& nu) {
  const Index A = problem.anchors.rows();
  Matrix r = problem.c;
  double sum = 0;
  for (Index t = A; t < theta.rows(); ++t) {
    const Vector Bx = problem.B[static_cast<std::size_t>(t)] * theta.row(t).transpose();
    r.row(t) += Bx;
    sum -= 0.5 * theta.row(t).dot(Bx);
  }
  for (std::size_t i = 0; i < problem.graph.size(); ++i) {
    const Vector dual = nu.row(static_cast<Index>(i));
    const auto [t, s, weight] = problem.graph[i];
    if (t < A)
      sum += dual.dot(problem.anchors.row(t));
    else
      r.row(t) += dual;
    r.row(s) -= dual;
  }
  for (Index t = A; t < theta.rows(); ++t) sum += weights.smallest(r.row(t).transpose());
  return sum;
}

// Everything that a result promises.
void expect_valid(const StepProblem& problem, const WeightSet& weights, const ThetaResult& step) {
  const Index A = problem.anchors.rows();
  EXPECT_EQ(step.theta.topRows(A), problem.anchors);
  for (Index t = A; t < step.theta.rows(); ++t)
    EXPECT_TRUE(weights.contains(step.theta.row(t).transpose(), 1e-12));
  for (Index k = 0; k < step.nu.rows(); ++k)
    EXPECT_LE(step.nu.row(k).norm(), problem.kappa[k] * (1 + 1e-12));
  const double here = value(problem, step.theta);
  EXPECT_NEAR(here - bound(problem, weights, step.theta, step.nu), step.gap,
              1e-10 * (1 + std::abs(here)));
  Index members = 0;
  for (const std::vector<Index>& group : step.groups) {
    members += std::ssize(group);
    for (const Index t : group) EXPECT_EQ(step.theta.row(t), step.theta.row(group.front()));
    EXPECT_TRUE(group.size() < 2 || group[1] >= A);  // anchors are different
  }
  EXPECT_EQ(members, step.theta.rows());
}

TEST(ThetaStepWithAnchors, ReachesItsGapAndNoPointIsBetter) {
  Random random(1);
  for (const double p : {1.0, 1.5, 2.0, 4.0, infinity}) {
    const WeightSet weights(p);
    for (int i = 0; i < 30; ++i) {
      SCOPED_TRACE("p " + std::to_string(p) + ", problem " + std::to_string(i));
      const StepProblem problem =
          random_step(random, 1 + random.below(4), random.below(7), 2 + random.below(7),
                      std::pow(10, random.uniform(-3, 2)),
                      i % 4 == 0 ? 0 : std::pow(10, random.uniform(-3, 3)), weights);
      if (problem.graph.empty()) continue;
      const double tolerance = 1e-9 * std::max(1.0, problem.kappa.maxCoeff());
      ThetaState state = start(problem, weights);
      const ThetaResult step = solve(problem, weights, state, {.gap_tolerance = tolerance});
      expect_valid(problem, weights, step);
      EXPECT_LE(step.gap, tolerance);
      const double best = value(problem, step.theta);
      const double rounding = 1e-12 * (1 + std::abs(best));
      for (int trial = 0; trial < 100; ++trial) {
        Matrix other = step.theta;
        for (Index t = problem.anchors.rows(); t < other.rows(); ++t) {
          for (double& x : other.row(t)) x += std::pow(10, random.uniform(-5, 0)) * random.normal();
          other.row(t) = weights.project(other.row(t).transpose());
        }
        EXPECT_GE(value(problem, other), best - tolerance - rounding);
      }
    }
  }
}

// 2 and 3 are near both anchors, 0 and 1, and nearer to 1; 4 is near 0 only.
TEST(ThetaStepWithAnchors, TheShortestEdgeChoosesTheAnchor) {
  const TaskGraph graph = {{0, 2, 1}, {1, 2, 1}, {2, 3, 1}, {0, 4, 1}};
  const std::vector<double> length = {0.2, 0.1, 0.3, 0.4};
  const auto parts = [&](Index fixed) {
    return parts_around(fixed, 5, graph, std::vector<bool>(4, true),
                        [&](Index i) { return length[static_cast<std::size_t>(i)]; });
  };
  EXPECT_EQ(parts(2), (Groups{{0, 4}, {1, 2, 3}}));
  EXPECT_EQ(parts(1), (Groups{{0, 1, 2, 3, 4}}));
}

// Anchors that lie nearer together than Newton's method rounds at first, with many tasks around them.
TEST(ThetaStepWithAnchors, NearbyAnchorsAreToldApart) {
  Random random(3);
  for (const double p : {1.0, 2.0}) {
    const WeightSet weights(p);
    for (int i = 0; i < 20; ++i) {
      SCOPED_TRACE("p " + std::to_string(p) + ", problem " + std::to_string(i));
      StepProblem problem =
          random_step(random, 10 + random.below(20), 6, 5, std::pow(10, random.uniform(-2, 1)),
                      std::pow(10, random.uniform(-1, 1)), weights);
      const double apart = std::pow(10, random.uniform(-9, -1));
      for (Index a = 1; a < 6; ++a) {
        Vector v = problem.anchors.row(0);
        for (double& x : v) x += apart * random.normal();
        problem.anchors.row(a) = weights.project(v);
      }
      const double tolerance = 1e-8 * (1 + problem.kappa.sum());
      ThetaState state = start(problem, weights);
      const ThetaResult rough =
          solve(problem, weights, state, {.gap_tolerance = 1e4 * tolerance, .groups = false});
      expect_valid(problem, weights, rough);
      const ThetaResult step = solve(problem, weights, state, {.gap_tolerance = tolerance});
      expect_valid(problem, weights, step);
      EXPECT_LE(step.gap, tolerance);
    }
  }
}

TEST(ThetaStepWithAnchors, AdmmKeepsToThemToo) {
  Random random(4);
  for (const double p : {1.0, 2.0}) {
    const WeightSet weights(p);
    for (int i = 0; i < 10; ++i) {
      SCOPED_TRACE("p " + std::to_string(p) + ", problem " + std::to_string(i));
      const StepProblem problem = random_step(random, 3, 3, 4, std::pow(10, random.uniform(-2, 0)),
                                              std::pow(10, random.uniform(-1, 1)), weights);
      ThetaState state = start(problem, weights);
      state.v = Matrix::Zero(6, 4);
      const Matrix nu = Matrix::Zero(std::ssize(problem.graph), 4);
      const ThetaResult step =
          improve_by_admm({problem.c, problem.B, problem.graph, problem.kappa, weights, 3}, state,
                          {state.theta, nu, {}, infinity}, {.gap_tolerance = 1e-6});
      expect_valid(problem, weights, step);
      EXPECT_LE(step.gap, 1e-6);
    }
  }
}

// ||c|| + ||B|| <= kappa: not even the best direction is worth leaving the anchor for.
TEST(ThetaStepWithAnchors, AStrongAnchorHolds) {
  Random random(2);
  for (int i = 0; i < 20; ++i) {
    const WeightSet weights(1);
    StepProblem problem = random_step(random, 1, 1, 5, 1, i % 2, weights);
    problem.kappa[0] = 1.001 * (problem.c.row(1).norm() + problem.B[1].norm());
    ThetaState state = start(problem, weights);
    const ThetaResult step = solve(problem, weights, state, {.gap_tolerance = 1e-9});
    EXPECT_EQ(step.groups, (Groups{{0, 1}}));
    EXPECT_EQ(step.theta.row(1), problem.anchors.row(0));
  }
}

// Extensions.

struct Case {
  Model model;
  Dataset base, added;
  std::string description;
};

Dataset some_tasks(const Dataset& data, std::size_t first, std::size_t count) {
  Dataset part = data;
  part.tasks.assign(data.tasks.begin() + static_cast<Index>(first),
                    data.tasks.begin() + static_cast<Index>(first + count));
  return part;
}

Model train(const Dataset& data, const Settings& settings) {
  const Prepared prepared = prepare(data, settings, {}, 1);
  return make_model(prepared, settings, fit_prepared(prepared, settings, 1), "");
}

// A random problem whose last tasks are kept from the model; at least two tasks are trained.
std::optional<Case> random_case(std::uint64_t seed, Oddity oddity, const std::string& lambda = "") {
  RandomProblem problem = random_problem(seed, oddity);
  if (problem.data.tasks.size() < 3) return {};
  if (!lambda.empty()) problem.settings.lambda = lambda;
  const std::size_t kept = 1 + seed % std::min<std::size_t>(3, problem.data.tasks.size() - 2);
  const std::size_t trained = problem.data.tasks.size() - kept;
  Case out;
  out.base = some_tasks(problem.data, 0, trained);
  out.added = some_tasks(problem.data, trained, kept);
  if (seed % 4 == 0) problem.settings.scale = Scale::standard;
  if (seed % 5 == 0) problem.settings.normalise = Normalisation::variance();
  out.model = train(out.base, problem.settings);
  out.description = problem.description + ", kept " + std::to_string(kept);
  return out;
}

void expect_sound(const Case& example, const Model& extended, double tolerance) {
  const Extension& added = extended.extensions.back();
  EXPECT_EQ(added.certificate.status, Status::converged)
      << "objective " << added.certificate.primal << ", gap " << added.certificate.gap << ", bound "
      << added.certificate.bound << ", tolerance " << tolerance;
  EXPECT_LE(added.certificate.gap, tolerance);
  const Verification check =
      verify_extension(extended, extended.extensions.size() - 1, example.added);
  for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
  EXPECT_LE(check.gap, tolerance * (1 + 1e-3) + 1e-12);
  EXPECT_TRUE(check.groups_exact);
  for (const std::string& finding : verify_training(extended, example.base).findings)
    ADD_FAILURE() << "base: " << finding;
  EXPECT_TRUE(base_of(extended) == base_of(example.model));
}

TEST(Extend, ReachesTheGapOnRandomProblemsAndTheCheckerAgrees) {
  Index largest = 0;
  const int kinds = static_cast<int>(Oddity::count);
  for (int i = 0; i < 20 * kinds; ++i) {
    const std::optional<Case> example =
        random_case(2000 + static_cast<std::uint64_t>(i), static_cast<Oddity>(i % kinds));
    if (!example) continue;
    SCOPED_TRACE(example->description);
    const double tolerance = i % 2 ? 1e-8 : 1e-4;
    const Model extended =
        fit_extension(example->model, example->added, {.tolerance = tolerance}, 1);
    expect_sound(*example, extended, tolerance);
    largest = std::max(largest, extended.extensions.back().certificate.outer_steps);
  }
  std::printf("largest number of outer steps %td\n", largest);
  EXPECT_LE(largest, 30);
}

TEST(Extend, WithoutSharingEqualsASeparateFit) {
  for (std::uint64_t seed = 3000; seed < 3012; ++seed) {
    const std::optional<Case> example = random_case(seed, Oddity::none, "0");
    if (!example || example->model.settings.scale != Scale::none ||
        example->model.settings.normalise != Normalisation::cosine())
      continue;
    SCOPED_TRACE(example->description);
    const Model extended = fit_extension(example->model, example->added, {.tolerance = 1e-9});
    expect_sound(*example, extended, 1e-9);
    Settings settings = example->model.settings;
    settings.tolerance = 1e-9;
    const Model alone = train(example->added, settings);
    const double stated = extended.extensions[0].certificate.primal;
    EXPECT_NEAR(stated, alone.certificate().primal, 3e-9 * std::max(1.0, stated));
    for (const std::vector<Index>& group : extended.groups())
      for (std::size_t t = 0; t < extended.tasks.size(); ++t)
        EXPECT_EQ(std::ranges::count(group, static_cast<Index>(t)) == 1,
                  extended.tasks[t].theta() ==
                      extended.tasks[static_cast<std::size_t>(group.front())].theta());
  }
}

TEST(Extend, AnInfiniteLambdaGivesTheCommonKernel) {
  for (std::uint64_t seed = 3100; seed < 3106; ++seed) {
    const std::optional<Case> example = random_case(seed, Oddity::none, "inf");
    if (!example) continue;
    SCOPED_TRACE(example->description);
    const Model extended = fit_extension(example->model, example->added, {.tolerance = 1e-8});
    expect_sound(*example, extended, 1e-8);
    EXPECT_EQ(extended.groups().size(), 1U);
    for (const TaskModel& task : extended.tasks) EXPECT_EQ(task.theta(), extended.tasks[0].theta());
    // A number beyond which nothing moves gives the same.
    const Model strong =
        fit_extension(example->model, example->added, {.lambda = 1e6, .tolerance = 1e-8});
    expect_sound(*example, strong, 1e-8);
    EXPECT_EQ(strong.tasks.back().theta(), extended.tasks.back().theta());
    EXPECT_EQ(strong.groups().size(), 1U);
    // Without a link that says so the common kernel is no necessity, and its proof none.
    Model forged = extended;
    forged.extensions[0].certificate.complete = false;
    forged.extensions[0].certificate.graph = {{0, std::ssize(example->model.tasks), 0.0}};
    EXPECT_FALSE(verify_extension(forged, 0, example->added).findings.empty());
  }
}

// Far beyond every gradient only the penalty counts: all new tasks meet in the point of least summed distance to the old ones, which is
// that of the largest group where more than half of them share it.
TEST(Extend, AHugeLambdaLeadsToTheGeometricMedian) {
  int majorities = 0;
  for (std::uint64_t seed = 3200; seed < 3240; ++seed) {
    std::optional<Case> example = random_case(seed, Oddity::none, "0.3max");
    if (!example || example->model.settings.norm != 1) continue;
    SCOPED_TRACE(example->description);
    const Model& model = example->model;
    const double lambda = 1e6 * std::max(1.0, model.certificate().lambda);
    const Model extended =
        fit_extension(model, example->added, {.lambda = lambda, .tolerance = 1e-8});
    expect_sound(*example, extended, 1e-8);
    const Vector& theta = extended.tasks.back().theta();
    for (std::size_t t = model.tasks.size(); t < extended.tasks.size(); ++t)
      EXPECT_LE((extended.tasks[t].theta() - theta).norm(), 1e-6);
    const auto sum_of_distances = [&](const Vector& x) {
      double sum = 0;
      for (const TaskModel& task : model.tasks) sum += (task.theta() - x).norm();
      return sum;
    };
    Random random(seed);
    for (int trial = 0; trial < 300; ++trial) {
      Vector other = theta;
      for (double& x : other) x += std::pow(10, random.uniform(-4, 0)) * random.normal();
      EXPECT_GE(sum_of_distances(project_onto_simplex(other)), sum_of_distances(theta) - 1e-6);
    }
    for (const std::vector<Index>& group : model.groups()) {
      if (2 * group.size() <= model.tasks.size()) continue;
      ++majorities;
      EXPECT_EQ(theta, model.tasks[static_cast<std::size_t>(group.front())].theta());
    }
  }
  EXPECT_GT(majorities, 3);
}

// The objective by its definition at any weights: the SVMs by train_svm.
double objective(const Model& model, const Dataset& data, double lambda, double C,
                 const Matrix& theta) {
  Dataset scaled = data;
  scaled.X = apply_scaling(model.scaling, scaled.X);
  const Grams grams = compute_grams(scaled, model.kernels, Normalisation{}, {}, 1, Storage::stored);
  double sum = 0;
  for (Index u = 0; u < theta.rows(); ++u) {
    const Vector& y = data.tasks[static_cast<std::size_t>(u)].y;
    const Vector costs = Vector::Constant(y.size(), C);
    sum += train_svm(grams.tasks[static_cast<std::size_t>(u)],
                     theta.row(u).transpose().cwiseQuotient(model.divisors), y,
                     Vector::Ones(y.size()), costs, {.gap_tolerance = 1e-10})
               .primal;
    for (const TaskModel& task : model.tasks)
      sum += lambda * (task.theta() - theta.row(u).transpose()).norm();
    for (Index v = 0; v < u; ++v) sum += lambda * (theta.row(v) - theta.row(u)).norm();
  }
  return sum;
}

TEST(Extend, NoWeightsAreBetter) {
  for (std::uint64_t seed = 3300; seed < 3312; ++seed) {
    const std::optional<Case> example = random_case(seed, Oddity::none, "0.2max");
    if (!example || example->model.settings.class_weight == ClassWeight::balanced) continue;
    SCOPED_TRACE(example->description);
    const Model extended = fit_extension(example->model, example->added, {.tolerance = 1e-8});
    const Certificate& proof = extended.extensions[0].certificate;
    if (std::isinf(proof.lambda)) continue;  // a single kernel
    const WeightSet weights(extended.settings.norm);
    Matrix theta(std::ssize(example->added.tasks), std::ssize(extended.kernels));
    for (Index u = 0; u < theta.rows(); ++u)
      theta.row(u) =
          extended.tasks[example->model.tasks.size() + static_cast<std::size_t>(u)].theta();
    const auto at = [&](const Matrix& x) {
      return objective(example->model, example->added, proof.lambda, extended.settings.C, x);
    };
    EXPECT_NEAR(at(theta), proof.primal, 1e-7 * std::max(1.0, proof.primal));
    Random random(seed);
    for (int trial = 0; trial < 60; ++trial) {
      Matrix other = theta;
      for (double& x : other.reshaped()) x += std::pow(10, random.uniform(-4, 0)) * random.normal();
      for (Index u = 0; u < other.rows(); ++u)
        other.row(u) = weights.project(other.row(u).transpose());
      EXPECT_GE(at(other), proof.primal - 2e-8 * std::max(1.0, proof.primal));
    }
  }
}

// At the optimum of the joint problem the last tasks are optimal given the others: extending the others' weights by them gains nothing.
TEST(Extend, TasksTakenOutOfAJointFitComeBackToIt) {
  for (std::uint64_t seed = 3400; seed < 3410; ++seed) {
    RandomProblem problem = random_problem(seed, Oddity::none);
    if (problem.data.tasks.size() < 3) continue;
    SCOPED_TRACE(problem.description);
    problem.settings.lambda = "0.1max";
    problem.settings.tolerance = 1e-9;
    const Model joint = train(problem.data, problem.settings);
    const std::size_t old = problem.data.tasks.size() - 1;
    Model base = joint;
    base.tasks.pop_back();
    for (std::vector<Index>& group : base.groups()) std::erase(group, static_cast<Index>(old));
    std::erase_if(base.groups(), [](const auto& group) { return group.empty(); });
    const Model extended =
        fit_extension(base, some_tasks(problem.data, old, 1), {.tolerance = 1e-9});
    const Certificate& proof = extended.extensions[0].certificate;
    if (std::isinf(proof.lambda)) continue;  // a single kernel
    double in_joint = joint.tasks.back().objective;
    for (std::size_t t = 0; t < old; ++t)
      in_joint += proof.lambda * (joint.tasks[t].theta() - joint.tasks.back().theta()).norm();
    EXPECT_NEAR(proof.primal, in_joint, 3e-9 * std::max(1.0, joint.certificate().primal));
  }
}

// Where an old task is optimal, so is a copy of it: the same pull of all others, and on top of it a kink in that very point, which makes
// it the only optimum. A copy therefore joins the group of its original.
TEST(Extend, ACopyOfATaskJoinsItsGroup) {
  for (std::uint64_t seed = 3450; seed < 3470; ++seed) {
    RandomProblem problem = random_problem(seed, Oddity::none);
    SCOPED_TRACE(problem.description);
    problem.settings.lambda = "0.05max";
    problem.settings.tolerance = 1e-8;
    const Model model = train(problem.data, problem.settings);
    if (!(model.certificate().lambda > 0)) continue;  // a single task
    Dataset copy = problem.data;
    copy.tasks = {problem.data.tasks.front()};
    copy.tasks[0].name = "copy";
    const Model extended = fit_extension(model, copy, {.tolerance = 1e-8});
    EXPECT_EQ(extended.tasks.back().theta(), model.tasks.front().theta());
    EXPECT_EQ(extended.groups().front().back(), std::ssize(model.tasks));
  }
}

TEST(Extend, AnOrderIsOnlyAnOrder) {
  for (std::uint64_t seed = 3500; seed < 3520; ++seed) {
    const std::optional<Case> example = random_case(seed, Oddity::none, "0.1max");
    if (!example || example->added.tasks.size() < 2) continue;
    SCOPED_TRACE(example->description);
    Dataset turned = example->added;
    std::ranges::reverse(turned.tasks);
    const Model a = fit_extension(example->model, example->added, {.tolerance = 1e-9});
    const Model b = fit_extension(example->model, turned, {.tolerance = 1e-9});
    const double primal = a.extensions[0].certificate.primal;
    EXPECT_NEAR(primal, b.extensions[0].certificate.primal, 2e-9 * std::max(1.0, primal));
    EXPECT_EQ(a.groups().size(), b.groups().size());
    const std::size_t old = example->model.tasks.size();
    const std::size_t count = turned.tasks.size();
    for (std::size_t u = 0; u < count; ++u) {
      EXPECT_EQ(a.tasks[old + u].name, b.tasks[old + count - 1 - u].name);
      EXPECT_NEAR(a.tasks[old + u].objective, b.tasks[old + count - 1 - u].objective,
                  1e-3 * std::max(1.0, primal));
    }
  }
}

TEST(Extend, ThreadsChangeNoBit) {
  for (std::uint64_t seed = 3600; seed < 3606; ++seed) {
    const std::optional<Case> example = random_case(seed, Oddity::unequal_sizes);
    if (!example) continue;
    EXPECT_TRUE(fit_extension(example->model, example->added, {}, 1) ==
                fit_extension(example->model, example->added, {}, 3));
  }
}

// Many at once: the step has hundreds of unknowns.
TEST(Extend, ManyTasksAtOnce) {
  const Planted planted = plant_groups({.tasks = 72, .groups = 4, .samples = 30, .seed = 8});
  const Dataset all = cast_into_tasks(planted.samples, Casting::binary);
  Case example;
  example.base = some_tasks(all, 0, 12);
  example.added = some_tasks(all, 12, 60);
  for (const double norm : {1.0, 2.0}) {
    Settings settings;
    settings.kernels = "paper";
    settings.lambda = "0.1max";
    settings.norm = norm;
    example.model = train(example.base, settings);
    EXPECT_GE(example.model.groups().size(), 10U);
    for (const double lambda : {1e-3, 0.1, 10.0, 1e6}) {
      SCOPED_TRACE(testing::Message() << "norm " << norm << ", lambda " << lambda);
      const Model extended =
          fit_extension(example.model, example.added, {.lambda = lambda, .tolerance = 1e-6});
      expect_sound(example, extended, 1e-6);
    }
  }
}

// Planted tasks: a new one finds its group; then again, on top of the first extension.
class Planting : public ::testing::Test {
 protected:
  void SetUp() override {
    const Planted planted = plant_groups({.tasks = 9, .groups = 3, .samples = 60, .seed = 5});
    all_ = cast_into_tasks(planted.samples, Casting::binary);
    group_ = planted.group;
    Settings settings;
    settings.kernels = "linear@f1-f4 gauss:2@f5-f8 linear@f9-f12";
    settings.lambda = "0.3max";
    settings.scale = Scale::standard;
    settings.normalise = Normalisation::variance();
    example_.base = some_tasks(all_, 0, 7);
    example_.added = some_tasks(all_, 7, 1);
    example_.model = train(example_.base, settings);
    extended_ = fit_extension(example_.model, example_.added, {});
  }

  Dataset all_;
  std::vector<Index> group_;
  Case example_;
  Model extended_;
};

TEST_F(Planting, OldTasksStayAsTheyAre) {
  expect_sound(example_, extended_, 1e-4);
  for (Index t = 0; t < 7; ++t)
    EXPECT_EQ(decision_values(extended_, t, all_.X), decision_values(example_.model, t, all_.X));
  EXPECT_EQ(extended_.scaling, example_.model.scaling);
  EXPECT_EQ(extended_.divisors, example_.model.divisors);
}

TEST_F(Planting, ANewTaskHasTheKernelOfItsGroup) {
  Index most = 0;
  extended_.tasks[7].theta().maxCoeff(&most);
  EXPECT_EQ(most, group_[7]);
}

TEST_F(Planting, AnExtendedModelCanBeExtended) {
  Case again = example_;
  again.model = extended_;
  again.added = some_tasks(all_, 8, 1);
  const Model twice = fit_extension(extended_, again.added, {.C = 2, .tolerance = 1e-6});
  expect_sound(again, twice, 1e-6);
  ASSERT_EQ(twice.extensions.size(), 2U);
  EXPECT_EQ(twice.extensions[1].base_tasks, 8);
  EXPECT_EQ(twice.tasks[8].C, 2);
  EXPECT_TRUE(verify_extension(twice, 0, example_.added).findings.empty());
}

TEST_F(Planting, LinksChooseTheAnchors) {
  // Linked with one old task, strongly: its kernel. Linked with none: as if alone.
  ExtendSettings settings{.lambda = 1e4, .tolerance = 1e-8, .links = TaskGraph{{2, 7, 0.5}}};
  const Model linked = fit_extension(example_.model, example_.added, settings);
  expect_sound(example_, linked, 1e-8);
  EXPECT_EQ(linked.tasks[7].theta(), linked.tasks[2].theta());
  EXPECT_TRUE(std::ranges::any_of(linked.groups(), [](const std::vector<Index>& group) {
    return group.back() == 7 && std::ranges::find(group, 2) != group.end();
  }));
  settings.lambda = infinity;
  const Model common = fit_extension(example_.model, example_.added, settings);
  expect_sound(example_, common, 1e-8);
  EXPECT_EQ(common.tasks[7].theta(), linked.tasks[2].theta());
  settings.lambda = 1e4;
  settings.links = TaskGraph{};
  const Model unlinked = fit_extension(example_.model, example_.added, settings);
  expect_sound(example_, unlinked, 1e-8);
  const Model alone =
      fit_extension(example_.model, example_.added, {.lambda = 0, .tolerance = 1e-8});
  EXPECT_NEAR(unlinked.extensions[0].certificate.primal, alone.extensions[0].certificate.primal,
              1e-7);
}

TEST_F(Planting, AStoppedFitSaysSoAndItsNumbersHold) {
  const Model stopped =
      fit_extension(example_.model, example_.added, {.tolerance = 1e-12}, 0,
                    [](const Progress& progress) { return progress.groups == 0; });
  EXPECT_EQ(stopped.extensions[0].certificate.status, Status::stopped);
  for (const std::string& finding : verify_extension(stopped, 0, example_.added).findings)
    ADD_FAILURE() << finding;
}

TEST_F(Planting, TheCheckerNoticesEveryFalseProof) {
  ASSERT_TRUE(verify_extension(extended_, 0, example_.added).findings.empty());
  const auto findings_of = [&](const std::function<void(Model&)>& change) {
    Model changed = extended_;
    change(changed);
    std::string all;
    for (const std::string& finding : verify_extension(changed, 0, example_.added).findings)
      all.append(finding).append("; ");
    return all;
  };
  const auto expect_noticed = [&](const std::function<void(Model&)>& change,
                                  const std::string& text) {
    const std::string found = findings_of(change);
    EXPECT_NE(found.find(text), found.npos) << "findings: " << found;
  };
  const auto proof = [](Model& m) -> Certificate& { return m.extensions[0].certificate; };
  expect_noticed([&](Model& m) { proof(m).primal *= 1.001; }, "the objective is");
  expect_noticed([&](Model& m) { proof(m).dual -= 0.01; }, "the dual value is");
  expect_noticed([&](Model& m) { proof(m).nu *= 100; }, "leaves its ball");
  expect_noticed([&](Model& m) { proof(m).nu.setZero(); }, "the dual value is");
  expect_noticed([&](Model& m) { proof(m).lambda *= 2; }, "the objective is");
  expect_noticed([](Model& m) { m.extensions[0].tolerance = 1e-14; }, "above the tolerance");
  expect_noticed([](Model& m) { expansion(m, 7).theta[0] += 0.1; }, "do not add up to 1");
  expect_noticed([](Model& m) { std::swap(expansion(m, 7).theta[0], expansion(m, 7).theta[1]); },
                 "the objective is");
  expect_noticed([](Model& m) { std::swap(expansion(m, 0).theta[0], expansion(m, 0).theta[1]); },
                 "the objective is");  // an anchor
  expect_noticed([](Model& m) { m.tasks[7].bias += 0.5; }, "the objective is");
  expect_noticed([](Model& m) { expansion(m, 7).alpha *= 2; }, "leaves its box");
  expect_noticed([](Model& m) { m.support_vectors.bottomRows(1).array() += 1e-9; },
                 "differs from its row");
  expect_noticed([](Model& m) { m.training_row.back() += 1; }, "another row of the data");
  expect_noticed(
      [](Model& m) {
        m.groups() = {{0, 1, 2, 3, 4, 5, 6, 7}};
      },
      "a group are not equal");
}

TEST_F(Planting, WhatCannotBeAddedIsSaid) {
  const auto message = [&](const Dataset& data, const ExtendSettings& settings = {}) {
    return message_of([&] { fit_extension(example_.model, data, settings); });
  };
  EXPECT_EQ(
      message(some_tasks(all_, 3, 1)),
      "task 't04' is in the model already, and its tasks stay as they are. Rename it, or leave "
      "its rows out; with new data for old tasks, train anew.");
  Dataset other = example_.added;
  other.tasks[0].positive = "2";
  EXPECT_EQ(message(other),
            "task 't08' has the labels -1 and 2, but all tasks of the model have -1 and 1. Rename "
            "the labels.");
  other = example_.added;
  other.features[0] = "g1";
  EXPECT_EQ(message(other), "the features of the data are not those of the model.");
  EXPECT_EQ(message(example_.added, {.lambda = -1}),
            "`lambda` is '-1'; it must be a number >= 0, or inf.");
  EXPECT_EQ(message(example_.added, {.C = 0}), "`C` is '0'; it must be a number > 0.");
  EXPECT_EQ(message(example_.added, {.tolerance = 0}),
            "`tolerance` is '0'; it must be a number > 0.");
  const std::string different = message(example_.added, {.lambda = infinity});
  EXPECT_TRUE(different.starts_with(
      "lambda is inf, so that task 't08' must have the kernel of tasks 't01' and 't0"))
      << different;
  EXPECT_EQ(message(example_.added, {.lambda = infinity, .links = TaskGraph{}}),
            "lambda is inf, but no link leads from task 't08' to a task of the model, whose kernel "
            "it could share. Link it, or give a `lambda` that is a number.");
  Model mixed = example_.model;  // tasks that do not agree on their labels: any two will do
  mixed.tasks[0].negative = "no";
  other = example_.added;
  other.tasks[0].positive = "2";
  EXPECT_EQ(message_of([&] { fit_extension(mixed, other, {}); }), "no error");
}

}  // namespace
}  // namespace coterie
