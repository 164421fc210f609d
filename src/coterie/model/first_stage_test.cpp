#include "coterie/model/first_stage.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coterie/data/planted_weights.hpp"
#include "coterie/data/split.hpp"
#include "coterie/math/message_of.hpp"
#include "coterie/math/random.hpp"
#include "coterie/model/extend.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/model/train.hpp"
#include "coterie/model/verify.hpp"
#include "coterie/stats/scores.hpp"

namespace coterie {
namespace {

Dataset planted(Index tasks = 4, Index samples = 24, Index clusters = 1, std::uint64_t seed = 3) {
  return cast_into_tasks(plant_weights({.tasks = tasks,
                                        .clusters = clusters,
                                        .samples = samples,
                                        .features = 4,
                                        .deviation = 0.1,
                                        .noise = 0.05,
                                        .seed = seed})
                             .samples,
                         Casting::binary);
}

// Labels that nothing can tell.
Dataset noise(Index tasks, Index samples, std::uint64_t seed) {
  Random random(seed);
  Matrix X(tasks * samples, 3);
  std::vector<std::string> label, task;
  for (Index i = 0; i < X.rows(); ++i) {
    for (double& x : X.row(i)) x = random.normal();
    label.emplace_back(random.uniform() < 0.5 ? "no" : "yes");
    task.push_back(std::to_string(i / samples));
  }
  return {X, label, task};
}

Settings with_kernels(const std::string& kernels, const Parameters& first = {{"C", 1}}) {
  Settings settings;
  settings.kernels = kernels;
  settings.first_stage = first;
  settings.lambda = Lambda::infinite();
  return settings;
}

Model train(const Dataset& data, const Settings& settings) {
  const Prepared prepared = prepare(data, settings, {}, 1);
  return make_model(prepared, settings, fit_prepared(prepared, settings, 1), "");
}

// AUC of a column over all samples.
double auc_of(const Matrix& scores, Index column, const Dataset& data) {
  std::vector<double> f, y;
  for (const Task& task : data.tasks)
    for (Index i = 0; i < task.size(); ++i) {
      f.push_back(scores(task.rows[static_cast<std::size_t>(i)], column));
      y.push_back(task.y[i]);
    }
  return auc(Eigen::Map<const Vector>(f.data(), std::ssize(f)),
             Eigen::Map<const Vector>(y.data(), std::ssize(y)));
}

// A kernel that knows every row by heart: a model that has seen a row gives it its label, one that has not says nothing.
const char* const by_heart = "gauss:0.05 linear:raw@pooled linear:raw@others linear:raw@group";

TEST(FirstStage, NoRowIsScoredByAModelThatSawIt) {
  const Dataset data = noise(4, 60, 1);
  const Scored scored = learn_scores(data, with_kernels(by_heart, {{"C", 10}}), 1);
  ASSERT_EQ(scored.first->scores.cols(), 6);
  // 240 labels by chance: a deviation of 0.037 of the AUC.
  for (Index j = 0; j < 6; ++j) EXPECT_NEAR(auc_of(scored.first->scores, j, data), 0.5, 0.15) << j;
  // The same models at rows that they were trained on.
  const Task& task = data.tasks[0];
  const Matrix seen = with_scores(*scored.first, 0, data.X(task.rows, Eigen::all));
  EXPECT_EQ(auc(seen.col(3), task.y), 1);
}

TEST(FirstStage, NorByOneThatSawACopyInAnotherTask) {
  const Dataset once = noise(2, 80, 2);
  Dataset data = once;  // every row of the first task again, with its label, in a third
  Task copy = once.tasks[0];
  copy.name = copy.part = "copy";
  data.X.conservativeResize(240, Eigen::NoChange);
  for (Index i = 0; i < 80; ++i) {
    data.X.row(160 + i) = once.X.row(copy.rows[static_cast<std::size_t>(i)]);
    copy.rows[static_cast<std::size_t>(i)] = 160 + i;
  }
  data.tasks.push_back(copy);
  const Scored scored = learn_scores(data, with_kernels(by_heart, {{"C", 10}}), 1);
  for (Index j = 0; j < scored.first->columns(); ++j)
    EXPECT_NEAR(auc_of(scored.first->scores, j, data), 0.5, 0.15) << j;
}

// By hand: the rows outside a part alone, in a table of their own.
TEST(FirstStage, ScoresOfAPartComeFromTheOtherRows) {
  const Dataset data = planted(3, 20);
  const FirstStage first =
      *learn_scores(data, with_kernels("linear gauss:2 linear:raw@pooled", {{"C", 0.5}}), 1).first;
  const std::vector<Index> part = cross_fit_parts(data, 5, 1);
  Settings pooled;
  pooled.method = "pooled";
  pooled.kernels = "linear gauss:2";
  pooled.C = 0.5;
  pooled.norm = std::numeric_limits<double>::infinity();
  pooled.class_weight = ClassWeight::balanced;
  pooled.tolerance = 1e-9;
  for (Index k = 0; k < 5; ++k) {
    std::vector<Index> rows, held;
    std::vector<std::string> label, task;
    for (std::size_t t = 0; t < 3; ++t)
      for (Index i = 0; i < 20; ++i) {
        const Index row = data.tasks[t].rows[static_cast<std::size_t>(i)];
        if (part[static_cast<std::size_t>(row)] == k) {
          held.push_back(row);
          continue;
        }
        rows.push_back(row);
        label.emplace_back(data.tasks[t].y[i] > 0 ? "1" : "-1");
        task.push_back(data.tasks[t].name);
      }
    ASSERT_GE(held.size(), 10);
    const Dataset others(data.X(rows, Eigen::all), label, task);
    const MethodProblem problem = prepare_method(others, pooled, {}, 1);
    const Model model = make_model(problem, pooled, fit_method(problem, pooled, 1), "");
    const Vector f = decision_values(model, 0, data.X(held, Eigen::all));
    const Vector stored = first.scores(held, 0).array() / first.factor[0] + first.shift[0];
    EXPECT_LE((f - stored).cwiseAbs().maxCoeff(), 0.05 * f.cwiseAbs().maxCoeff());
  }
}

TEST(FirstStage, ColumnsHaveMeanZeroAndVarianceOne) {
  const Dataset data = planted(5, 30);
  const FirstStage first =
      *learn_scores(data, with_kernels("linear gauss:1@pooled gauss:1@others"), 1).first;
  ASSERT_EQ(first.columns(), 6);
  EXPECT_LE(first.scores.colwise().mean().cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_NEAR(first.scores.col(0).squaredNorm() / 150, 1, 1e-12);
  // Of the others without the 30 rows of their own task.
  for (Index j = 1; j < 6; ++j) EXPECT_NEAR(first.scores.col(j).squaredNorm() / 120, 1, 1e-12);
  for (std::size_t t = 0; t < 5; ++t)
    for (const Index row : data.tasks[t].rows)
      EXPECT_EQ(first.scores(row, 1 + static_cast<Index>(t)), 0);
}

TEST(FirstStage, NewRowsHaveTheScoresOfItsModels) {
  const Dataset data = planted(3, 20);
  const FirstStage first =
      *learn_scores(data, with_kernels("linear gauss:2 gauss:1@pooled gauss:1@others"), 1).first;
  const Matrix X = Matrix::Random(7, 4);
  const Matrix wide = with_scores(first, 1, X);
  ASSERT_EQ(wide.cols(), 8);
  EXPECT_EQ(wide.leftCols(4), X);
  const auto expected = [&](std::size_t block, Index task, Index column) -> Vector {
    return (decision_values(first.models[block], task, X).array() - first.shift[column]) *
           first.factor[column];
  };
  EXPECT_EQ(wide.col(4), expected(0, 1, 0));
  EXPECT_EQ(wide.col(5), expected(1, 0, 1));
  EXPECT_EQ(wide.col(6), Vector::Zero(7));
  EXPECT_EQ(wide.col(7), expected(1, 2, 3));
}

TEST(FirstStage, ModelsVerifyAndForgeriesAreFound) {
  const Dataset data = planted(6, 20, 2);
  for (const Scale scale : {Scale::none, Scale::standard}) {
    Settings settings =
        with_kernels("linear gauss:2 linear:raw@pooled gauss:1@others gauss:1@group");
    settings.scale = scale;
    settings.normalise = Normalisation::variance();
    const Model model = train(data, settings);
    const Verification check = verify_training(model, data);
    for (const std::string& finding : check.findings) ADD_FAILURE() << finding;
    for (std::size_t b = 0; b < 3; ++b) {
      FirstStage forged = *model.first_stage;
      forged.models[b].tasks[0].bias += 0.5;
      Model wrong = model;
      wrong.first_stage = std::make_shared<const FirstStage>(forged);
      EXPECT_FALSE(verify_training(wrong, data).holds()) << forged.blocks[b];
    }
    FirstStage forged = *model.first_stage;
    forged.scores(0, 0) += 1;
    Model wrong = model;
    wrong.first_stage = std::make_shared<const FirstStage>(forged);
    EXPECT_FALSE(verify_training(wrong, data).holds());
    EXPECT_NE(wrong, model);
  }
}

TEST(FirstStage, PairsOfClassesHaveTheirOwnScoreAmongTheOthers) {
  Random random(4);
  Matrix X(90, 3);
  std::vector<std::string> label;
  for (Index i = 0; i < 90; ++i) {
    for (double& x : X.row(i)) x = random.normal();
    X(i, i % 3) += 2;
    label.emplace_back(1, static_cast<char>('a' + i % 3));
  }
  const Dataset data(X, label, {}, Casting::one_vs_one);
  const Model model = train(data, with_kernels("gauss:2 gauss:1@others"));
  EXPECT_TRUE(verify_training(model, data).holds());
  EXPECT_EQ(model.first_stage->columns(), 3);
  EXPECT_EQ(with_scores(*model.first_stage, 0, X), with_scores(*model.first_stage, 2, X));
  EXPECT_GT(model.first_stage->scores.col(0).norm(), 1);
  EXPECT_NE(message_of([&] {
              train(data, with_kernels("gauss:2 gauss:1@pooled"));
            }).find("labels that mean the same"),
            std::string::npos);
}

TEST(FirstStage, BorrowingHelpsTasksOfOneClassifier) {
  const Dataset data = planted(12, 12, 1, 8);
  const Dataset fresh = planted(12, 400, 1, 8);
  const auto accuracy = [&](const std::string& kernels) {
    Settings settings = with_kernels(kernels);
    settings.lambda = 0;
    const Model model = train(data, settings);
    double sum = 0;
    for (std::size_t t = 0; t < 12; ++t) {
      const Task& task = fresh.tasks[t];
      const Vector f =
          decision_values(model, static_cast<Index>(t), fresh.X(task.rows, Eigen::all));
      sum += static_cast<double>((f.array() * task.y.array() > 0).count()) /
             static_cast<double>(task.size());
    }
    return sum / 12;
  };
  EXPECT_GT(accuracy("linear linear:raw@pooled"), accuracy("linear") + 0.03);
}

TEST(FirstStage, TasksWithoutBothClassesOutsideAPartAreNotKnownThere) {
  Dataset data = planted(3, 20);
  Task& task = data.tasks[1];  // a single row of one class
  const std::vector<Index> plus = [&] {
    std::vector<Index> out;
    for (Index i = 0; i < task.size(); ++i)
      if (task.y[i] > 0) out.push_back(i);
    return out;
  }();
  for (std::size_t k = 1; k < plus.size(); ++k) task.y[plus[k]] = -1;
  const FirstStage first = *learn_scores(data, with_kernels("linear gauss:1@others"), 1).first;
  const std::vector<Index> part = cross_fit_parts(data, 5, 1);
  const Index single = part[static_cast<std::size_t>(task.rows[static_cast<std::size_t>(plus[0])])];
  for (const Index row : data.tasks[0].rows)
    EXPECT_EQ(first.scores(row, 1) == 0, part[static_cast<std::size_t>(row)] == single);
}

TEST(FirstStage, SaysWhatItCannotDo) {
  const Dataset data = planted(3, 20);
  EXPECT_EQ(message_of([&] { train(planted(1, 20), with_kernels("linear gauss:1@others")); }),
            "`kernels`: @others are the scores of models of other tasks, and there is one task.");
  Settings linear = with_kernels("linear gauss:1@others");
  linear.method = "cmtl";
  EXPECT_NE(message_of([&] { validate(linear); }).find("an SVM for every task"), std::string::npos);
  EXPECT_NE(message_of([&] {
              validate(with_kernels("linear gauss:1@others", {{"fold", 3}}));
            }).find("`first_stage` names 'fold'"),
            std::string::npos);
  EXPECT_EQ(message_of([&] {
              validate(with_kernels("linear gauss:1@others", {{"folds", 1}}));
            }),
            "`first_stage`: folds is '1'; it must be a whole number from 2 to 1000000.");
  Dataset odd = data;
  odd.features[0] = "@pooled";
  EXPECT_EQ(message_of([&] { train(odd, with_kernels("linear")); }),
            "a column is called '@pooled', which is the name of scores. Rename it.");
  const Model model = train(data, with_kernels("linear linear:raw@pooled"));
  EXPECT_NE(
      message_of([&] { fit_extension(model, data, {}, 1, {}); }).find("Train all tasks together"),
      std::string::npos);
}

TEST(FirstStage, AColumnOfThatNameIsTheColumn) {
  Dataset data = planted(3, 20);
  data.features[0] = "pooled";
  const Model model = train(data, with_kernels("linear gauss:1@pooled"));
  EXPECT_EQ(model.first_stage, nullptr);
  EXPECT_EQ(model.kernels[1].columns, std::vector<Index>{0});
}

TEST(FirstStage, IsTheSameWithAnyNumberOfThreads) {
  const Dataset data = planted(5, 20, 2);
  const Settings settings = with_kernels("linear gauss:1@pooled+others gauss:1@group", {});
  EXPECT_EQ(*learn_scores(data, settings, 1).first, *learn_scores(data, settings, 2).first);
}

}  // namespace
}  // namespace coterie
