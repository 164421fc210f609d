#include "coterie/model/calibrate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "coterie/math/random.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/model/random_problem.hpp"
#include "coterie/model/train.hpp"

namespace coterie {
namespace {

struct Trained {
  RandomProblem problem;
  Model model;
  std::vector<Vector> scores, y;  // noisy scores, as cross-validation would give
};

Trained train_small(std::uint64_t seed) {
  Trained out{random_problem(seed, Oddity::none), {}, {}, {}};
  Settings& settings = out.problem.settings;
  const Prepared prepared = prepare(out.problem.data, settings, {}, 1);
  out.model = make_model(prepared, settings, fit_prepared(prepared, settings, 1), "");
  Random random(seed);
  for (std::size_t t = 0; t < out.model.tasks.size(); ++t) {
    const Task& task = out.problem.data.tasks[t];
    Vector f = decision_values(out.model, static_cast<Index>(t),
                               out.problem.data.X(task.rows, Eigen::all));
    for (double& value : f) value += random.normal();
    out.scores.push_back(std::move(f));
    out.y.push_back(task.y);
  }
  return out;
}

TEST(Calibrate, FitsEveryTaskAndTouchesNothingElse) {
  for (const auto kind : {Calibration::Kind::platt, Calibration::Kind::isotonic}) {
    const Trained trained = train_small(5);
    Model model = trained.model;
    EXPECT_FALSE(is_calibrated(model));
    calibrate(model, trained.scores, trained.y, kind);
    EXPECT_TRUE(is_calibrated(model));
    for (std::size_t t = 0; t < model.tasks.size(); ++t)
      EXPECT_TRUE(model.tasks[t].calibration ==
                  fit_calibration(kind, trained.scores[t], trained.y[t]));
    EXPECT_FALSE(model == trained.model);

    for (std::size_t t = 0; t < model.tasks.size(); ++t) {
      const Vector before =
          decision_values(trained.model, static_cast<Index>(t), trained.problem.data.X);
      EXPECT_EQ(decision_values(model, static_cast<Index>(t), trained.problem.data.X), before);
    }
    calibrate(model, trained.scores, trained.y, Calibration::Kind::none);
    EXPECT_TRUE(model == trained.model);
  }
}

TEST(Calibrate, RefusesScoresOfAnotherModel) {
  Trained trained = train_small(6);
  const Model before = trained.model;
  const auto message = [&](const std::vector<Vector>& scores) -> std::string {
    try {
      calibrate(trained.model, scores, trained.y, Calibration::Kind::platt);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({}).find("Calibration got scores of 0 tasks"), std::string::npos);
  std::vector<Vector> fewer = trained.scores;
  fewer.back() = Vector::Zero(1);
  EXPECT_NE(message(fewer).find("Calibration got 1 scores and "), std::string::npos);
  EXPECT_TRUE(trained.model == before);  // not half of it calibrated
}

Model voters(Casting casting, const std::vector<std::pair<std::string, std::string>>& pairs) {
  Model model;
  model.casting = casting;
  model.classes = {"a", "b", "c"};
  for (const auto& [negative, positive] : pairs) {
    model.tasks.push_back({});
    model.tasks.back().negative = negative;
    model.tasks.back().positive = positive;
  }
  return model;
}

TEST(LabelProbabilities, OfOneTaskAreThoseOfItsCalibration) {
  Model model;
  model.tasks.push_back({});
  model.tasks[0].calibration = {Calibration::Kind::platt, 2, -1, {}, {}};
  Matrix scores(3, 1);
  scores << -1, 0, 4;
  const Matrix p = label_probabilities(model, scores);
  EXPECT_EQ(p.col(1), probabilities(model.tasks[0].calibration, scores.col(0)));
  EXPECT_EQ(p.col(0) + p.col(1), Vector::Ones(3));
}

// Scores whose sigmoids are consistent pairs give back the probabilities of the classes, whichever class of a pair is the positive one.
TEST(LabelProbabilities, OfPairsAreCoupled) {
  Vector p(3);
  p << 0.2, 0.7, 0.1;
  const Model model = voters(Casting::one_vs_one, {{"a", "b"}, {"c", "a"}, {"b", "c"}});
  Matrix scores(1, 3);
  scores << std::log(p[1] / p[0]), std::log(p[0] / p[2]), std::log(p[2] / p[1]);
  const Matrix found = label_probabilities(model, scores);
  EXPECT_LE((found.row(0).transpose() - p).cwiseAbs().maxCoeff(), 1e-8);
}

TEST(LabelProbabilities, AgainstTheRestAreNormalised) {
  Model model = voters(Casting::one_vs_rest, {{"rest", "a"}, {"rest", "b"}, {"rest", "c"}});
  Matrix scores(1, 3);
  scores << 0, 1, -1;
  const Vector each = probabilities({}, scores.row(0).transpose());
  EXPECT_LE((label_probabilities(model, scores).row(0).transpose() - each / each.sum()).norm(),
            1e-15);
  model.classes.emplace_back("d");  // no task stands for it
  EXPECT_EQ(label_probabilities(model, scores)(0, 3), 0);
}

TEST(LabelProbabilities, NeverChangeTheVote) {
  Model model = voters(Casting::one_vs_one, {{"a", "b"}, {"a", "c"}, {"b", "c"}});
  Random random(3);
  Matrix scores(200, 3);
  for (double& f : scores.reshaped()) f = random.normal();
  const std::vector<Index> before = vote(model, scores);
  for (TaskModel& task : model.tasks)
    task.calibration = {
        Calibration::Kind::platt, random.uniform(0, 3), 2 * random.normal(), {}, {}};
  EXPECT_EQ(vote(model, scores), before);
  const Matrix p = label_probabilities(model, scores);
  Index differ = 0;
  for (Index i = 0; i < 200; ++i) {
    Index likeliest = 0;
    p.row(i).maxCoeff(&likeliest);
    differ += likeliest != before[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  EXPECT_GT(differ, 0);  // or the test shows nothing
}

}  // namespace
}  // namespace coterie
