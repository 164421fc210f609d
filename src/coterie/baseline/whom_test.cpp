#include "coterie/baseline/whom.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "coterie/baseline/clustered_linear.hpp"
#include "coterie/baseline/partition.hpp"
#include "coterie/baseline/ridge.hpp"
#include "coterie/math/spectrum.hpp"
#include "coterie/stats/partitions.hpp"

namespace coterie {
namespace {

const Loss losses[] = {Loss::squared_hinge, Loss::logistic, Loss::square};
const LinearSettings exact{1e-8, 1000, 1};

LinearProblem problem_of(std::uint64_t seed, Loss loss = Loss::squared_hinge, Index T = 6,
                         Index d = 5) {
  Random random(seed);
  return clustered_linear(random, {.T = T, .d = d, .samples = 15, .clusters = 2, .loss = loss});
}

std::vector<Index> labels_of(const Groups& groups, Index T) {
  std::vector<Index> label(static_cast<std::size_t>(T), -1);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const Index t : groups[g]) label[static_cast<std::size_t>(t)] = static_cast<Index>(g);
  return label;
}

// Singular values of some rows, through their products.
Vector singular_values(const Matrix& W, const std::vector<Index>& group) {
  Eigen::MatrixXd products(group.size(), group.size());
  for (std::size_t a = 0; a < group.size(); ++a)
    for (std::size_t b = 0; b < group.size(); ++b)
      products(static_cast<Index>(a), static_cast<Index>(b)) = W.row(group[a]).dot(W.row(group[b]));
  return eigenvalues(products).cwiseMax(0).cwiseSqrt();
}

double trace_norms(const Matrix& W, const Groups& groups) {
  double sum = 0;
  for (const auto& group : groups) sum += std::pow(singular_values(W, group).sum(), 2);
  return sum;
}

void expect_certified(const LinearProblem& problem, double lambda, Index G, const LinearFit& fit,
                      double tolerance) {
  const Pulls pulls = pulls_at(problem, fit.W, fit.b);
  EXPECT_LE(pulls.balance.lpNorm<Eigen::Infinity>(), 1e-12);
  // The roots of rounded products know zeros to 1e-8 only.
  EXPECT_NEAR(fit.primal, pulls.loss + lambda * trace_norms(fit.W, fit.clusters), 1e-6);
  EXPECT_NEAR(fit.primal, pulls.loss + lambda * squared_trace_norms(fit.W, fit.clusters), 1e-12);
  double dual = pulls.dual;
  for (const auto& group : fit.clusters)
    dual -= std::pow(singular_values(pulls.Z, group).maxCoeff(), 2) / (4 * lambda);
  EXPECT_NEAR(fit.dual, dual, 1e-12 * std::max(1.0, fit.primal));
  EXPECT_LE(fit.primal - dual, tolerance * std::max(1.0, fit.primal));
  EXPECT_EQ(fit.claim, G == 1 ? Claim::optimum : Claim::given_clusters);
  EXPECT_EQ(fit.status, Status::converged);
  EXPECT_LE(std::ssize(fit.clusters), G);
  EXPECT_EQ(fit.clusters, in_order(fit.clusters));
  const std::vector<Index> label = labels_of(fit.clusters, problem.T());
  EXPECT_GE(*std::min_element(label.begin(), label.end()), 0);
}

TEST(Whom, ProofIsAsSaid) {
  for (const Loss loss : losses)
    for (const double lambda : {0.3, 0.01})
      for (const Index G : {1, 2, 3, 6, 8}) {
        const LinearProblem problem = problem_of(1, loss);
        const LinearFit fit = fit_whom(problem, {lambda, G, 3, 1}, exact);
        expect_certified(problem, lambda, std::min<Index>(G, 6), fit, 1e-8);
      }
  const LinearProblem wide = problem_of(2, Loss::squared_hinge, 4, 30);
  expect_certified(wide, 0.1, 2, fit_whom(wide, {0.1, 2, 3, 1}, exact), 1e-8);
}

// Every partition of the tasks into at most G groups.
void for_partitions(Index T, Index G, const std::function<void(const Groups&)>& body) {
  std::vector<Index> label;
  const std::function<void(Index)> next = [&](Index used) {
    if (std::ssize(label) == T) return body(groups_of(label));
    for (Index g = 0; g < std::min(used + 1, G); ++g) {
      label.push_back(g);
      next(std::max(used, g + 1));
      label.pop_back();
    }
  };
  next(0);
}

// Pulls of the fit bound every partition from below; what the bound does not exclude is fitted, from there and with one start.
TEST(Whom, NoPartitionIsBetter) {
  for (const std::uint64_t seed : {3, 4, 5})
    for (const Index G : {2, 3}) {
      const LinearProblem problem = problem_of(seed, Loss::squared_hinge, 5);
      const double lambda = 0.1;
      const LinearFit fit = fit_whom(problem, {lambda, G, 10, 1}, exact);
      const Pulls pulls = pulls_at(problem, fit.W, fit.b);
      Index fitted = 0;
      for_partitions(5, G, [&](const Groups& groups) {
        double dual = pulls.dual;
        for (const auto& group : groups)
          dual -= std::pow(singular_values(pulls.Z, group).maxCoeff(), 2) / (4 * lambda);
        if (dual >= fit.primal) return;
        ++fitted;
        const LinearFit other =
            fit_whom(problem, {lambda, G, 1, 1}, {1e-6, 1000, 1}, {.clusters = groups});
        EXPECT_GE(other.primal, fit.primal - 2e-6 * fit.primal);
      });
      EXPECT_GE(fitted, 1);
    }
}

TEST(Whom, OneGroupHasOneValue) {
  Random random(6);
  for (const Loss loss : losses) {
    const LinearProblem problem = problem_of(6, loss);
    const LinearFit cold = fit_whom(problem, {0.1, 1, 1, 1}, exact);
    for (int trial = 0; trial < 3; ++trial) {
      const LinearStart start{.W = random_matrix(random, 6, 5),
                              .b = random_matrix(random, 6, 1).col(0)};
      const LinearFit other = fit_whom(problem, {0.1, 1, 1, 7}, exact, start);
      EXPECT_NEAR(other.primal, cold.primal, 1e-8 * std::max(1.0, cold.primal));
    }
    const LinearFit warm = fit_whom(problem, {0.1, 1, 1, 1}, exact, {.W = cold.W, .b = cold.b});
    EXPECT_EQ(warm.steps, 0);
    EXPECT_EQ(warm.W, cold.W);
  }
}

TEST(Whom, SingleTasksAreRidge) {
  for (const Loss loss : losses) {
    const LinearProblem problem = problem_of(7, loss);
    RidgePenalty ridge(0.2);
    const LinearFit alone = minimise(problem, ridge, exact);
    for (const Index G : {6, 10}) {
      const LinearFit fit = fit_whom(problem, {0.2, G, 3, 1}, exact);
      EXPECT_NEAR(fit.primal, alone.primal, 2e-8 * std::max(1.0, alone.primal));
      EXPECT_EQ(fit.clusters.size(), 6);
    }
  }
}

// The penalty is superadditive: joining two groups never lowers it. Shares q between groups, sum_g ||diag(q_g)^(1/2) W||_*^2, are
// never below the best of the hard groups that they average: it is concave in q.
TEST(Whom, HardGroupsLoseNothing) {
  Random random(8);
  for (int trial = 0; trial < 50; ++trial) {
    const Index T = 4, d = 1 + random.below(6);
    const Matrix W = random_matrix(random, T, d);
    Vector q(T);
    for (double& x : q) x = random.uniform();
    const Matrix first = q.cwiseSqrt().asDiagonal() * W;
    const Matrix second = (1 - q.array()).sqrt().matrix().asDiagonal() * W;
    const Groups all{{0, 1, 2, 3}};
    const double shared = squared_trace_norms(first, all) + squared_trace_norms(second, all);
    double average = 0, least = std::numeric_limits<double>::infinity();
    for (unsigned set = 0; set < 16; ++set) {  // each hard pair of groups with its probability
      Groups hard(2);
      double probability = 1;
      for (Index t = 0; t < T; ++t) {
        const bool in_first = set >> t & 1;
        hard[in_first ? 0 : 1].push_back(t);
        probability *= in_first ? q[t] : 1 - q[t];
      }
      const double value = squared_trace_norms(W, hard);
      average += probability * value;
      least = std::min(least, value);
      EXPECT_LE(value, squared_trace_norms(W, all) + 1e-12);
      EXPECT_NEAR(value, trace_norms(W, in_order(hard)), 1e-6);
    }
    EXPECT_GE(shared, average - 1e-9);
    EXPECT_GE(shared, least - 1e-9);
  }
}

TEST(Whom, MoreGroupsNeverRaiseTheValue) {
  for (const Loss loss : losses) {
    const LinearProblem problem = problem_of(9, loss);
    LinearStart start;
    double last = std::numeric_limits<double>::infinity();
    for (Index G = 1; G <= 6; ++G) {
      const LinearFit fit = fit_whom(problem, {0.05, G, 2, 1}, exact, start);
      EXPECT_LE(fit.primal, last + 1e-8);
      EXPECT_EQ(std::ssize(fit.clusters), G);  // all are used
      last = fit.primal;
      start = {.W = fit.W, .b = fit.b, .clusters = fit.clusters};
    }
    // and back: more groups than allowed are joined
    EXPECT_EQ(fit_whom(problem, {0.05, 2, 1, 1}, exact, start).clusters.size(), 2);
  }
}

TEST(Whom, NoMoveOfATaskLowersThePenalty) {
  Random random(16);
  const LinearProblem problem = clustered_linear(random, {.T = 16, .d = 6, .clusters = 4});
  const LinearFit fit =
      fit_whom(problem, {0.1, 4, 1, 1}, exact,
               {.clusters = groups_of({0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0})});
  EXPECT_EQ(fit.clusters.size(), 4);
  const double now = squared_trace_norms(fit.W, fit.clusters);
  for (Index t = 0; t < 16; ++t)
    for (std::size_t g = 0; g < fit.clusters.size(); ++g) {
      Groups moved = fit.clusters;
      for (auto& group : moved) std::erase(group, t);
      moved[g].push_back(t);
      EXPECT_GE(squared_trace_norms(fit.W, moved), now * (1 - 1e-9)) << t << " to " << g;
    }
}

TEST(Whom, ObjectiveNeverRises) {
  for (const Loss loss : losses) {
    std::map<Index, double> last;
    Index parts = 0;
    const LinearFit fit =
        fit_whom(problem_of(10, loss), {0.1, 3, 5, 1}, exact, {}, [&](const Progress& p) {
          const double before = last.try_emplace(p.part, p.primal).first->second;
          EXPECT_LE(p.primal, before + 1e-13);
          last[p.part] = p.primal;
          parts = p.parts;
          return true;
        });
    EXPECT_EQ(parts, 5);
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [part, value] : last) least = std::min(least, value);
    EXPECT_NEAR(fit.primal, least, 1e-4 * least);  // compared roughly, then the best alone exactly
  }
}

TEST(Whom, StopsWhenTold) {
  for (const int calls : {1, 3, 8, 12}) {
    int left = calls;
    const LinearFit fit = fit_whom(problem_of(11), {0.1, 2, 5, 1}, exact, {},
                                   [&](const Progress&) { return --left > 0; });
    EXPECT_EQ(left, 0);
    EXPECT_EQ(fit.status, Status::stopped);
    EXPECT_EQ(fit.W.rows(), 6);
    EXPECT_FALSE(fit.clusters.empty());
  }
}

TEST(Whom, NamesOfGroupsDoNotMatter) {
  const LinearProblem problem = problem_of(12);
  const LinearFit one =
      fit_whom(problem, {0.1, 3, 1, 1}, exact, {.clusters = {{0, 1}, {2, 5}, {3, 4}}});
  const LinearFit other =
      fit_whom(problem, {0.1, 3, 1, 1}, exact, {.clusters = {{5, 2}, {3, 4}, {1, 0}}});
  EXPECT_EQ(one.W, other.W);
  EXPECT_EQ(one.clusters, other.clusters);
}

TEST(Whom, OrderAndAxesDoNotMatter) {
  Random random(13);
  for (const Loss loss : losses) {
    const LinearProblem problem = problem_of(13, loss, 6, 4);
    const WhomParameters p{0.1, 2, 6, 1};
    const LinearFit fit = fit_whom(problem, p, exact);
    const double near = 1e-7, weights_near = 1e-2;  // |W - W*|^2 is of the order of the gap
    const std::vector<Index> order = {3, 0, 5, 1, 4, 2};
    const LinearFit permuted = fit_whom(permute_tasks(problem, order), p, exact);
    EXPECT_NEAR(permuted.primal, fit.primal, near);
    for (Index t = 0; t < 6; ++t)
      EXPECT_LE((permuted.W.row(t) - fit.W.row(order[t])).norm(), weights_near);
    const LinearFit reversed = fit_whom(reverse_samples(problem), p, exact);
    EXPECT_NEAR(reversed.primal, fit.primal, near);
    EXPECT_LE((reversed.W - fit.W).norm(), weights_near);
    EXPECT_EQ(reversed.clusters, fit.clusters);
    const Matrix turn = orthonormal(random_matrix(random, 4, 4));
    const LinearFit turned = fit_whom(turn_features(problem, turn), p, exact);
    EXPECT_NEAR(turned.primal, fit.primal, near);
    EXPECT_LE((turned.W - fit.W * turn).norm(), weights_near);
    EXPECT_EQ(turned.clusters, fit.clusters);
  }
}

TEST(Whom, ThreadsChangeNoBit) {
  const LinearProblem problem = problem_of(14);
  const LinearFit one = fit_whom(problem, {0.1, 2, 4, 5}, {1e-6, 1000, 1});
  for (const int threads : {2, 3, 0}) {
    const LinearFit many = fit_whom(problem, {0.1, 2, 4, 5}, {1e-6, 1000, threads});
    EXPECT_EQ(one.W, many.W);
    EXPECT_EQ(one.b, many.b);
    EXPECT_EQ(one.primal, many.primal);
    EXPECT_EQ(one.clusters, many.clusters);
  }
}

// Three lines in ten dimensions; tasks t mod 3 have weights along one of them, of either sign.
TEST(Whom, PlantedSubspacesAreFound) {
  Random random(15);
  const Index T = 12, d = 10, n = 60;
  const Matrix lines = random_matrix(random, 3, d);
  LinearProblem problem;
  std::vector<Index> truth;
  for (Index t = 0; t < T; ++t) {
    const Matrix X = random_matrix(random, n, d);
    const Vector f = (random.uniform() < 0.5 ? -1 : 1) * X * lines.row(t % 3).transpose();
    problem.X.push_back(X);
    problem.y.push_back((f.array() > 0).select(Vector::Ones(n), -1));
    problem.c.push_back(Vector::Constant(n, 1.0 / n));
    truth.push_back(t % 3);
  }
  for (const std::uint64_t seed : {1, 2}) {
    const WhomParameters p{0.02, 3, 3, static_cast<Index>(seed)};
    const LinearFit fit = fit_whom(problem, p, {1e-4, 100, 1});
    EXPECT_EQ(adjusted_rand_index(labels_of(fit.clusters, T), truth), 1);
  }
}

void expect_refused(const WhomParameters& p, const std::string& text) {
  try {
    fit_whom(problem_of(1), p, exact);
    FAIL() << text;
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), text);
  }
}

TEST(Whom, BadParametersAreRefused) {
  expect_refused({0, 1, 1, 1}, "lambda is 0; it must be a number > 0.");
  expect_refused({1, 0, 1, 1}, "clusters is 0; it must be a whole number >= 1.");
  expect_refused({1, 1, 0, 1}, "restarts is 0; it must be a whole number >= 1.");
}

}  // namespace
}  // namespace coterie
