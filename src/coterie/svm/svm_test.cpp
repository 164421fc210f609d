#include <gtest/gtest.h>
#include <libsvm/svm.h>

#include <cmath>
#include <numeric>

#include "coterie/math/random.hpp"
#include "coterie/svm/interior_svm.hpp"
#include "coterie/svm/task_svm.hpp"

namespace coterie {
namespace {

struct Case {
  Matrix K;
  Vector y, p, C;
};

// Gaussian kernel on two overlapping clouds, or a kernel of low rank; costs and linear terms as asked.
Case random_case(Random& random, Index n, bool low_rank, bool general) {
  Case c;
  const Index d = low_rank ? 2 : 6;
  Matrix X(n, d);
  c.y.resize(n);
  c.p = Vector::Ones(n);
  const double C = std::pow(10, random.uniform(-3, 3));
  c.C = Vector::Constant(n, C);
  for (Index i = 0; i < n; ++i) {
    c.y[i] = i == 0 ? 1 : i == 1 ? -1 : random.uniform() < 0.4 ? 1 : -1;
    for (Index j = 0; j < d; ++j) X(i, j) = random.normal() + 0.5 * c.y[i];
    if (i > 4 && random.uniform() < 0.2) X.row(i) = X.row(i - 3);
    if (general) {
      c.p[i] = random.uniform(-0.5, 2);
      c.C[i] *= random.uniform(0.2, 3);
    }
  }
  const double width = std::pow(2, random.uniform(-1, 4));
  c.K = X * X.transpose();
  if (!low_rank)
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j)
        c.K(i, j) = std::exp(-(X.row(i) - X.row(j)).squaredNorm() / (2 * width * width));
  return c;
}

SvmResult solve(const TaskGrams& base, const Case& c, const Vector& start, double tolerance) {
  TaskSvm svm(base, c.y, c.p, c.C, c.y.size());
  svm.gram().set_weights(Vector::Ones(1));
  return svm.solve(start, {.gap_tolerance = tolerance});
}

// Feasibility, objective and gap with plain loops.
void expect_certificate(const Case& c, const SvmResult& result, double tolerance) {
  const Index n = c.y.size();
  double balance = 0;
  double linear = 0;
  double quadratic = 0;
  double hinge = 0;
  for (Index i = 0; i < n; ++i) {
    EXPECT_GE(result.alpha[i], 0);
    EXPECT_LE(result.alpha[i], c.C[i]);
    balance += c.y[i] * result.alpha[i];
    linear += c.p[i] * result.alpha[i];
    double f = 0;
    for (Index j = 0; j < n; ++j) f += c.K(i, j) * c.y[j] * result.alpha[j];
    quadratic += c.y[i] * result.alpha[i] * f;
    hinge += c.C[i] * std::max(0.0, c.p[i] - c.y[i] * (f + result.bias));
  }
  EXPECT_NEAR(balance, 0, 1e-12 * c.C.sum());
  const double dual = linear - quadratic / 2;
  const double primal = quadratic / 2 + hinge;
  const double scale = std::max(1.0, std::abs(dual));
  EXPECT_TRUE(result.converged);
  EXPECT_LE(primal - dual, tolerance * scale * (1 + 1e-6) + 1e-12 * scale);
  EXPECT_GE(primal - dual, -1e-10 * scale);
  EXPECT_NEAR(dual, result.dual, 1e-9 * scale);
  EXPECT_NEAR(primal, result.primal, 1e-9 * scale);
}

TEST(Svm, ReachesTheGapOnRandomProblems) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const Case c = random_case(random, 2 + random.below(80), i % 3 == 0, i % 2 == 0);
    const TaskGrams base({c.K});
    expect_certificate(c, solve(base, c, Vector(), 1e-8), 1e-8);
  }
}

// Where two-variable steps would go on for long, barriers lead to the same optimum: here they are given nothing to begin with.
TEST(Svm, ReachesTheGapFromTheInside) {
  Random random(5);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    const Case c = random_case(random, 2 + random.below(60), i % 2 == 0, i % 3 == 0);
    const TaskGrams base({c.K});
    TaskSvm svm(base, c.y, c.p, c.C, c.y.size());
    svm.gram().set_weights(Vector::Ones(1));
    SvmResult nothing;
    nothing.alpha = Vector::Zero(c.y.size());
    nothing.primal = nothing.plain = c.C.dot(c.p.cwiseMax(0.0));
    const SvmSettings settings{.gap_tolerance = 1e-8, .max_steps = 500 * c.y.size()};
    expect_certificate(c, solve_from_inside(svm.gram(), {c.y, c.p, c.C}, nothing, settings), 1e-8);
  }
}

// Kernel values so large that doubles cannot find the optimum: alpha is feasible all the same, to a rounding of its own sum, and the
// search ends soon.
TEST(Svm, AlphaIsFeasibleWhereRoundingRules) {
  Random random(9);
  Index unconverged = 0;
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    Case c = random_case(random, 10 + random.below(60), true, false);
    c.K *= std::pow(10, random.uniform(14, 24));
    Vector start(c.y.size());
    for (double& a : start) a = random.uniform() * c.C.maxCoeff();
    const SvmResult result = solve(TaskGrams({c.K}), c, i % 2 ? start : Vector(), 1e-6);
    unconverged += !result.converged;
    EXPECT_GE(result.alpha.minCoeff(), 0);
    EXPECT_LE((result.alpha - c.C).maxCoeff(), 0);
    const double n = static_cast<double>(c.y.size());
    EXPECT_LE(std::abs(c.y.dot(result.alpha)), 2 * n * 2.3e-16 * result.alpha.sum());
    EXPECT_LE(result.steps, 30 * 200 * c.y.size());
  }
  EXPECT_GE(unconverged, 30);
}

TEST(Svm, WarmStartsReachTheSameObjectiveFromAnywhere) {
  Random random(2);
  for (int i = 0; i < 50; ++i) {
    SCOPED_TRACE(i);
    const Case c = random_case(random, 10 + random.below(200), i % 3 == 0, i % 2 == 0);
    const TaskGrams base({c.K});
    const SvmResult cold = solve(base, c, Vector(), 1e-9);
    Vector start(c.y.size());
    for (double& a : start) a = random.uniform(-1, 2) * c.C.maxCoeff();
    const SvmResult warm = solve(base, c, start, 1e-9);
    expect_certificate(c, warm, 1e-9);
    EXPECT_NEAR(cold.dual, warm.dual, 2e-9 * std::max(1.0, std::abs(cold.dual)));
    const SvmResult again = solve(base, c, cold.alpha, 1e-9);
    EXPECT_EQ(again.steps, 0) << "an optimal start needs no step";
  }
}

TEST(Svm, FindsTheSamplesThatMatter) {
  Random random(6);
  for (int i = 0; i < 30; ++i) {
    SCOPED_TRACE(i);
    const Case c = random_case(random, 150 + random.below(400), i % 3 == 0, i % 2 == 0);
    // Turned round, so that it is not read where it stands and samples stay outside.
    std::vector<Index> backwards(static_cast<std::size_t>(c.y.size()));
    for (std::size_t k = 0; k < backwards.size(); ++k)
      backwards[k] = static_cast<Index>(backwards.size() - 1 - k);
    const TaskGrams source(std::make_shared<StoredRoots>(std::vector<Matrix>{c.K.reverse()}),
                           std::make_shared<KernelPowers>(std::vector<KernelTerm>{{}}), backwards);
    for (const double tolerance : {1e-3, 1e-8}) {
      const SvmResult result =
          train_svm(source, Vector::Ones(1), c.y, c.p, c.C, {.gap_tolerance = tolerance}, 64);
      expect_certificate(c, result, tolerance);
      const Vector beta = c.y.cwiseProduct(result.alpha);
      EXPECT_TRUE(result.gradient.isApprox(c.K * beta - c.y.cwiseProduct(c.p), 1e-9));
    }
  }
}

// All positive samples are the same point, as many at the bound as free: no sample inside the working set of a warm start violates
// the conditions, only a pair of which one sample is outside.
TEST(Svm, FindsViolatingPairsAcrossTheWorkingSet) {
  Case c;
  Matrix X(6, 2);
  X << 1, 0, 1, 0, 1, 0, 0.2, 1, -1, 0, 0, -1;
  c.y.resize(6);
  c.y << 1, 1, 1, 1, -1, -1;
  c.p = Vector::Ones(6);
  c.C = Vector::Constant(6, 0.05);
  c.K = X * X.transpose();
  const TaskGrams base({c.K});
  for (Index first = 0; first < 4; ++first)
    for (Index second = first + 1; second < 4; ++second) {
      Vector start = Vector::Zero(6);
      start[first] = start[second] = start[4] = start[5] = 0.05;
      expect_certificate(c, solve(base, c, start, 1e-10), 1e-10);
    }
}

TEST(Svm, MixedRowsAreTheWeightedSum) {
  Random random(3);
  std::vector<Matrix> matrices;
  for (int m = 0; m < 7; ++m) matrices.push_back(random_case(random, 40, false, false).K);
  const TaskGrams base(matrices);
  Vector theta(7);
  theta << 0.1, 0, 0.3, 0.2, 0, 0.15, 0.25;
  Matrix expected = Matrix::Zero(40, 40);
  for (Index m = 0; m < 7; ++m) expected += theta[m] * matrices[static_cast<std::size_t>(m)];
  MixedGram K(base);
  std::vector<Index> all(40);
  std::iota(all.begin(), all.end(), Index{0});
  K.add(all);
  K.set_weights(theta);
  for (Index i = 39; i >= 0; i -= 3) {
    const double* row = K.row(i);
    EXPECT_EQ(row, K.row(i)) << "a row is mixed once";
    for (Index j = 0; j < 40; ++j) EXPECT_NEAR(row[j], expected(i, j), 1e-15);
  }
}

// Two kernels that take turns with the memory of one set of rows, as tasks do.
TEST(Svm, MixedRowsCanBeLent) {
  Random random(9);
  const TaskGrams large({random_case(random, 30, false, false).K});
  const TaskGrams small({random_case(random, 20, false, false).K});
  RowPool pool;
  for (int round = 0; round < 2; ++round)
    for (const TaskGrams* base : {&large, &small}) {
      MixedGram K(*base);
      std::vector<Index> all(static_cast<std::size_t>(base->n()));
      std::iota(all.begin(), all.end(), Index{0});
      K.add(all);
      K.set_weights(Vector::Constant(1, 0.5));
      K.lend(pool.take());
      for (Index i = 0; i < base->n(); ++i)
        for (Index j = 0; j < base->n(); ++j) EXPECT_EQ(K.row(i)[j], 0.5 * base->kernel(0)(i, j));
      pool.give_back(K.take_back());
    }
}

// With hardly any memory rows come and go; rows, products and decisions keep their bits while the set changes.
TEST(Svm, MixedRowsAreTheSameWithLittleMemory) {
  Random random(7);
  std::vector<Matrix> matrices;
  for (int m = 0; m < 3; ++m) matrices.push_back(random_case(random, 90, false, false).K);
  const TaskGrams base(matrices);
  MixedGram roomy(base);
  MixedGram tight(base, 0);
  Vector theta(3);
  theta << 0.5, 0.2, 0.3;
  const std::vector<Index> first = {3,  50, 7,  80, 21, 5,  33, 60, 61, 62,
                                    63, 64, 65, 66, 67, 68, 69, 70, 2};
  const std::vector<Index> kept = {0, 2, 5, 6, 18};
  const std::vector<Index> joining = {89, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22};
  for (MixedGram* K : {&roomy, &tight}) {
    K->add(first);
    K->set_weights(theta);
    K->change(kept, joining);
  }
  ASSERT_EQ(roomy.samples(), tight.samples());
  const Index n = roomy.size();
  for (int round = 0; round < 3; ++round) {
    for (Index k = n - 1; k >= 0; --k) {
      const double* a = roomy.row(k);
      const double* b = tight.row(k);
      for (Index l = 0; l < n; ++l) {
        EXPECT_EQ(a[l], b[l]);
        const Index i = roomy.samples()[static_cast<std::size_t>(k)];
        const Index j = roomy.samples()[static_cast<std::size_t>(l)];
        EXPECT_NEAR(a[l],
                    0.5 * matrices[0](i, j) + 0.2 * matrices[1](i, j) + 0.3 * matrices[2](i, j),
                    1e-15);
      }
    }
  }
  Vector beta(n);
  for (double& b : beta) b = random.normal();
  const std::vector<Index> support = {1, 4, 9, 16};
  const std::vector<Index> outside = {1, 30, 31};
  Matrix with_room, without;
  roomy.products(support, support, beta.data(), with_room);
  tight.products(support, support, beta.data(), without);
  EXPECT_TRUE(with_room == without);
  EXPECT_TRUE(roomy.decisions(outside, support, beta.data()) ==
              tight.decisions(outside, support, beta.data()));
  EXPECT_TRUE(roomy.diagonal() == tight.diagonal());
}

TEST(Svm, ThinsOutEvenly) {
  EXPECT_EQ(thin_out({1, 2, 3, 4, 5, 6}, 3), (std::vector<Index>{1, 3, 5}));
  EXPECT_EQ(thin_out({1, 2}, 3), (std::vector<Index>{1, 2}));
}

TEST(Svm, BestBiasMinimisesTheHingeLoss) {
  Random random(4);
  for (int i = 0; i < 50; ++i) {
    const Case c = random_case(random, 3 + random.below(20), false, true);
    Vector e(c.y.size());
    for (double& x : e) x = random.normal();
    const SvmProblem problem{c.y, c.p, c.C};
    const auto loss = [&](double b) {
      return c.C.dot((-c.y.array() * (e.array() + b)).max(0.0).matrix());
    };
    const double best = loss(best_bias(e, problem));
    for (const double kink : e) EXPECT_LE(best, loss(-kink) + 1e-12 * c.C.sum());
  }
}

// LIBSVM with the same matrix and a tight stopping rule: objective and decision values agree.
TEST(Svm, AgreesWithLibsvm) {
  svm_set_print_string_function([](const char*) {});
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(i);
    Case c = random_case(random, 20 + random.below(100), false, false);
    c.C.setConstant(std::pow(10, random.uniform(-2, 2)));
    const int n = static_cast<int>(c.y.size());
    std::vector<std::vector<svm_node>> rows(static_cast<std::size_t>(n));
    std::vector<svm_node*> row_pointers;
    std::vector<double> labels(c.y.begin(), c.y.end());
    for (int k = 0; k < n; ++k) {
      auto& row = rows[static_cast<std::size_t>(k)];
      row.push_back({0, k + 1.0});
      for (int j = 0; j < n; ++j) row.push_back({j + 1, c.K(k, j)});
      row.push_back({-1, 0});
      row_pointers.push_back(row.data());
    }
    svm_problem problem{n, labels.data(), row_pointers.data()};
    svm_parameter parameter{};
    parameter.svm_type = C_SVC;
    parameter.kernel_type = PRECOMPUTED;
    parameter.C = c.C[0];
    parameter.eps = 1e-9;
    parameter.cache_size = 100;
    svm_model* model = svm_train(&problem, &parameter);
    const TaskGrams base({c.K});
    const SvmResult ours = solve(base, c, Vector(), 1e-10);
    expect_certificate(c, ours, 1e-10);

    Vector beta = Vector::Zero(n);
    for (int k = 0; k < model->l; ++k) beta[model->sv_indices[k] - 1] = model->sv_coef[0][k];
    if (model->label[0] == -1) beta = -beta;
    const double theirs = beta.cwiseAbs().sum() - 0.5 * beta.dot(c.K * beta);
    EXPECT_NEAR(theirs, ours.dual, 1e-7 * std::max(1.0, theirs));
    for (int k = 0; k < n; ++k) {
      double value = 0;
      svm_predict_values(model, row_pointers[static_cast<std::size_t>(k)], &value);
      if (model->label[0] == -1) value = -value;
      const double f = ours.gradient[k] + c.y[k] + ours.bias;  // p = 1
      EXPECT_NEAR(value, f, 1e-4 * (1 + std::abs(f)));
    }
    svm_free_and_destroy_model(&model);
  }
}

}  // namespace
}  // namespace coterie
