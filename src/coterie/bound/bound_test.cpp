#include "coterie/bound/bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "coterie/bound/fitted_class.hpp"
#include "coterie/bound/guarantee.hpp"
#include "coterie/bound/small_problem.hpp"
#include "coterie/bound/strata.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/data/planted.hpp"
#include "coterie/math/parallel.hpp"
#include "coterie/model/extend.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/model/train.hpp"

namespace coterie {
namespace {

Dataset planted(Index tasks = 5, std::uint64_t seed = 1, double size_spread = 0.4) {
  return cast_into_tasks(plant_groups({.tasks = tasks,
                                       .groups = std::min<Index>(2, tasks),
                                       .samples = 24,
                                       .size_spread = size_spread,
                                       .seed = seed})
                             .samples,
                         Casting::binary);
}

// Four classes, a task for every pair: every row is in three tasks.
Dataset pairs_of_classes() {
  Random random(3);
  Matrix X(40, 3);
  std::vector<std::string> labels;
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index j = 0; j < 3; ++j) X(i, j) = random.normal() + (i % 4 == j ? 2 : 0);
    labels.push_back(std::string(1, static_cast<char>('a' + i % 4)));
  }
  return {X, labels, {}, Casting::one_vs_one};
}

Model fitted(const Dataset& data, const Settings& settings) {
  const Settings all = in_full(settings);
  const Prepared prepared = prepare(data, all, {}, 1);
  return make_model(prepared, all, fit_prepared(prepared, all, 1), fingerprint(data));
}

Settings plain() {
  Settings settings;
  settings.kernels = "linear gauss:1,2,4";
  settings.C = 2;
  return settings;
}

constexpr BoundSettings few = {.samples = 60};

TEST(Bound, ReadsTheClassOffTheModel) {
  const Dataset data = planted();
  const Model model = fitted(data, plain());
  const Bound found = bound_of(model, data, few);
  double R = 0, gamma = 0, bias = 0;
  Index wrong = 0, N = 0;
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const KernelExpansion& f = model.tasks[t].expansion();
    double norm = 0;  // by the definition of the kernels
    for (std::size_t i = 0; i < f.sample.size(); ++i)
      for (std::size_t j = 0; j < f.sample.size(); ++j)
        for (std::size_t m = 0; m < model.kernels.size(); ++m) {
          const Index a = static_cast<Index>(i), b = static_cast<Index>(j);
          const Vector x = model.support_vectors.row(f.support[i]);
          const Vector z = model.support_vectors.row(f.support[j]);
          norm += f.alpha[a] * f.y[a] * f.alpha[b] * f.y[b] * f.theta[static_cast<Index>(m)] *
                  kernel_value(model.kernels[m], x, z);
        }
    EXPECT_NEAR(found.norms[static_cast<Index>(t)], norm, 1e-9 * (1 + norm));
    R = std::max(R, norm);
    bias = std::max(bias, std::abs(model.tasks[t].bias));
    for (std::size_t s = t + 1; s < data.tasks.size(); ++s)
      gamma += (model.tasks[t].theta() - model.tasks[s].theta()).norm();
    const Matrix X = data.X(data.tasks[t].rows, Eigen::all);
    const Vector values = decision_values(model, static_cast<Index>(t), X);
    wrong += (values.array() * data.tasks[t].y.array() <= 0).count();
    N += values.size();
  }
  EXPECT_NEAR(found.R, R, 1e-9 * (1 + R));
  EXPECT_NEAR(found.gamma, gamma, 1e-12);
  EXPECT_EQ(found.largest_bias, bias);
  EXPECT_EQ(found.samples, N);
  EXPECT_EQ(found.rows, data.X.rows());
  EXPECT_EQ(found.rounds, 1);
  EXPECT_DOUBLE_EQ(found.training_error, static_cast<double>(wrong) / static_cast<double>(N));
  EXPECT_DOUBLE_EQ(found.published,
                   std::sqrt(std::sqrt(3.0) * found.gamma * found.R * 4 / static_cast<double>(N)));
}

void expect_order(const Bound& found) {
  const double slack = 1 + 2 * few.tolerance;
  const auto ordered = [&](const Complexity& one) {
    EXPECT_LE(one.monte_carlo.value, one.data.value * slack);
    EXPECT_LE(one.gap, few.tolerance);
    EXPECT_GE(one.monte_carlo.standard_error, 0);
  };
  ordered(found.common);
  ordered(found.complexity);
  ordered(found.separate);
  EXPECT_LE(found.common.monte_carlo.value, found.complexity.monte_carlo.value * slack);
  EXPECT_LE(found.complexity.monte_carlo.value, found.separate.monte_carlo.value * slack);
  EXPECT_LE(found.common.closed, found.complexity.closed);
  EXPECT_LE(found.complexity.closed, found.separate.closed);
}

void expect_sums(const Guarantee& one) {
  EXPECT_NEAR(one.bound, one.margin_error + 2 / one.margin * one.complexity + one.deviation,
              1e-12 * one.bound);
  EXPECT_GE(one.low, 0);
  EXPECT_LE(one.high, 1);
  EXPECT_LE(one.low, one.high);
  EXPECT_GE(one.high, std::min(1.0, one.bound));  // two sides cost more than one
}

TEST(Bound, FiguresStandInTheirOrder) {
  const Dataset data = planted();
  for (const double norm : {1.0, 2.0, std::numeric_limits<double>::infinity()}) {
    Settings settings = plain();
    settings.norm = norm;
    const Bound found = bound_of(fitted(data, settings), data, few);
    expect_order(found);
    for (const Guarantee* one :
         {&found.by_published, &found.by_closed, &found.by_data, &found.by_monte_carlo})
      expect_sums(*one);
    EXPECT_GT(found.bias_complexity, 0);
  }
}

TEST(Bound, ExtremeModelsHaveTheComplexityOfTheExtremes) {
  const Dataset data = planted();
  Settings settings = plain();
  settings.lambda = Lambda::infinite();
  const Bound common = bound_of(fitted(data, settings), data, few);
  EXPECT_EQ(common.gamma, 0);
  EXPECT_EQ(common.published, 0);
  EXPECT_EQ(common.complexity.monte_carlo.value, common.common.monte_carlo.value);
  EXPECT_EQ(common.complexity.closed, common.common.closed);
  ASSERT_FALSE(common.notes.empty());
  EXPECT_NE(common.notes.front().find("the printed theorem does not hold"), std::string::npos);
  const Dataset one = planted(1);
  const Bound single = bound_of(fitted(one, plain()), one, few);
  EXPECT_EQ(single.common.monte_carlo.value, single.separate.monte_carlo.value);
}

TEST(Bound, ThreadsChangeNoBitAndSeedsDo) {
  const Dataset data = planted();
  const Model model = fitted(data, plain());
  const Bound one = bound_of(model, data, few, {}, 1), three = bound_of(model, data, few, {}, 3);
  EXPECT_EQ(one.complexity.monte_carlo.value, three.complexity.monte_carlo.value);
  EXPECT_EQ(one.complexity.data.value, three.complexity.data.value);
  EXPECT_EQ(one.by_monte_carlo.bound, three.by_monte_carlo.bound);
  BoundSettings other = few;
  other.seed = 2;
  EXPECT_NE(one.complexity.monte_carlo.value,
            bound_of(model, data, other).complexity.monte_carlo.value);
}

// The mean over draws is that over all vectors of signs, within six standard errors (one in 10^9 by the normal distribution).
TEST(Bound, DrawsAgreeWithAllSigns) {
  const SmallProblem problem = small_problem(17);
  const std::vector<Matrix> forms = draw_forms(problem.tasks, 4000, 5, 2);
  for (Index t = 0; t < problem.T(); ++t)
    for (Index m = 0; m < problem.M(); ++m) {
      const Vector drawn = forms[static_cast<std::size_t>(t)].col(m);
      const Vector all = problem.forms[static_cast<std::size_t>(t)].col(m);
      const double variance = (all.array() - all.mean()).square().mean();
      EXPECT_NEAR(drawn.mean(), all.mean(), 6 * std::sqrt(variance / 4000) + 1e-12);
    }
}

TEST(Bound, SharedRowsFallIntoRounds) {
  const Dataset data = pairs_of_classes();
  const auto rounds = rounds_of(data);
  EXPECT_EQ(rounds.size(), 3U);
  std::set<Index> seen;
  for (const std::vector<Index>& round : rounds) {
    std::set<Index> rows;
    for (const Index t : round) {
      seen.insert(t);
      for (const Index row : data.tasks[static_cast<std::size_t>(t)].rows)
        EXPECT_TRUE(rows.insert(row).second) << "row " << row << " occurs twice in a round";
    }
  }
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(squared_uses(data), 40 * 9);
  const Bound found = bound_of(fitted(data, plain()), data, few);
  EXPECT_EQ(found.rounds, 3);
  EXPECT_EQ(found.rows, 40);
  EXPECT_EQ(found.samples, 120);
  expect_order(found);
  // The deviation is that of 40 independent rows, not of 120 samples: with delta alone 3 sqrt(log(2/delta) / (2 40)).
  EXPECT_GT(found.by_monte_carlo.deviation, 3 * std::sqrt(std::log(2 / 0.05) / 80));
}

TEST(Bound, MarginIsTheOneAskedFor) {
  const Dataset data = planted();
  const Model model = fitted(data, plain());
  BoundSettings settings = few;
  settings.margin.value = 0.5;
  const Bound given = bound_of(model, data, settings);
  EXPECT_EQ(given.by_monte_carlo.margin, 0.5);
  EXPECT_EQ(given.by_published.margin, 0.5);
  expect_sums(given.by_closed);
  // A wider class holds the model, so that the best margin of the list cannot be worse by more than what rounding R up gives away.
  const Bound best = bound_of(model, data, few);
  EXPECT_LE(best.by_monte_carlo.bound, given.by_monte_carlo.bound + 1e-12);
}

TEST(Bound, KernelsOfAnyScaleCountAsTheyAre) {
  const Dataset data = planted();
  Settings settings = plain();
  settings.kernels = "linear:raw poly:2:raw gauss:2";
  const Bound found = bound_of(fitted(data, settings), data, few);
  expect_order(found);
  bool told = false;
  for (const std::string& note : found.notes) told |= note.starts_with("some k(x,x) is above 1");
  EXPECT_TRUE(told);
  // Larger scores need larger margins: R k is what counts, and it does not change when a kernel is divided.
  EXPECT_GT(found.by_monte_carlo.margin, 0);
}

TEST(Bound, SharesOfDeltaSumToOneAtMost) {
  double powers = 0, spreads = 2.0 / 3, biases = 0.5;
  for (Index j = -2000; j <= 2000; ++j) powers += power_stratum_at(j).share;
  for (int k = 0; k < 2000; ++k) spreads += spread_stratum(std::exp2(-k / 2.0) * 0.999999, 1).share;
  for (Index j = -900; j <= 900; ++j)
    biases += bias_stratum(std::exp2(static_cast<double>(j))).share;
  for (const double sum : {powers, spreads, biases}) {
    EXPECT_LE(sum, 1 + 1e-12);
    EXPECT_GT(sum, 0.998);
  }
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const double x = std::exp2(random.uniform(-20, 20)), top = x * random.uniform(1, 50);
    EXPECT_GE(power_stratum(x).value, x);
    EXPECT_LT(power_stratum(x).value, 2 * x * (1 + 1e-12));
    EXPECT_GE(spread_stratum(x, top).value, x * (1 - 1e-15));
    EXPECT_LT(spread_stratum(x, top).value, std::sqrt(2.0) * x * (1 + 1e-12));
  }
  EXPECT_EQ(spread_stratum(0, 7).value, 0);
  EXPECT_EQ(bias_stratum(0).value, 0);
}

// Both losses stand on their sides of the error, and meet it as the margin falls.
TEST(Bound, MarginLosses) {
  Vector margins(6);
  margins << -2, -0.1, 0.05, 0.2, 1, 3;
  const double error = 2.0 / 6;
  double above = 1, below = 0;
  for (const double rho : {10.0, 1.0, 0.1, 0.01}) {
    EXPECT_GE(margin_error(margins, rho), error);
    EXPECT_LE(sure_error(margins, rho), error);
    EXPECT_LE(margin_error(margins, rho), above);
    EXPECT_GE(sure_error(margins, rho), below);
    above = margin_error(margins, rho);
    below = sure_error(margins, rho);
  }
  EXPECT_DOUBLE_EQ(above, error);
  EXPECT_DOUBLE_EQ(below, error);
}

void expect_refusal(const std::function<void()>& call, const std::string& text) {
  try {
    call();
    ADD_FAILURE() << "not refused: " << text;
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(Bound, RefusesWhatItIsNotAbout) {
  const Dataset data = planted();
  const Model model = fitted(data, plain());
  expect_refusal([&] { bound_of(model, planted(5, 2), few); },
                 "the data is not what the model was trained on: its fingerprint is");
  Model other = model;
  other.settings.method = "cmtl";
  expect_refusal([&] { bound_of(other, data, few); },
                 "`method` cmtl learns weights of features. It is for models of coterie, stl, mtl");
  other.settings.method = "pooled";
  expect_refusal([&] { bound_of(other, data, few); }, "`method` pooled has one model for all");
  other = model;
  std::get<KernelExpansion>(other.tasks[1].function).theta[0] += 0.1;
  expect_refusal([&] { bound_of(other, data, few); }, "the kernel weights of task 't02'");
  for (const double delta : {0.0, 1.0, -1.0, std::nan("")})
    expect_refusal([&] { bound_of(model, data, {.delta = delta}); },
                   "must be a number between 0 and 1");
  expect_refusal([&] { bound_of(model, data, {.margin = {0.0}}); }, "must be a number > 0");
  expect_refusal([&] { bound_of(model, data, {.samples = 1}); },
                 "must be a whole number from 2 to 10000000");
  expect_refusal([&] { bound_of(model, data, {.seed = -1}); }, "must be a whole number >= 0");
  Margin margin;
  EXPECT_FALSE(read_text("-1", margin));
  EXPECT_FALSE(read_text("inf", margin));
  EXPECT_TRUE(read_text("2.5", margin));
  EXPECT_EQ(text_of(margin), "2.5");
  EXPECT_TRUE(read_text("best", margin));
  EXPECT_EQ(text_of(margin), "best");
}

TEST(Bound, ExtendedModelsByTheirFirstTasks) {
  const Dataset data = planted(4);
  Dataset more = planted(4, 9);
  for (Task& task : more.tasks) task.part = task.name = "new " + task.name;
  const Model model = fitted(data, plain());
  const Model extended = fit_extension(model, more, {}, 1, {});
  const Bound before = bound_of(model, data, few), after = bound_of(extended, data, few);
  EXPECT_EQ(before.complexity.monte_carlo.value, after.complexity.monte_carlo.value);
  EXPECT_EQ(before.by_monte_carlo.bound, after.by_monte_carlo.bound);
  EXPECT_EQ(after.notes.back(), "tasks that were added to the model are left out");
  expect_refusal([&] { bound_of(extended, more, few); }, "tasks that were added to the model");
}

TEST(Bound, StopsWhenAsked) {
  const Dataset data = planted();
  const Model model = fitted(data, plain());
  for (const Index last : {Index{1}, Index{20}})
    EXPECT_THROW(bound_of(model, data, few, {}, 2,
                          [&](Index done, Index all) {
                            EXPECT_LE(done, all);
                            return done < last;
                          }),
                 Stopped);
}

}  // namespace
}  // namespace coterie
