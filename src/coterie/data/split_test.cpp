#include "coterie/data/split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "coterie/data/planted.hpp"
#include "coterie/data/validation.hpp"
#include "coterie/math/message_of.hpp"

namespace coterie {
namespace {

Samples uneven_samples() {
  return plant_groups(
             {.tasks = 5, .groups = 2, .samples = 31, .positive_share = 0.3, .size_spread = 0.5})
      .samples;
}

// Every position on exactly one side, both increasing.
void expect_partition(std::vector<Index> train, const std::vector<Index>& rest, Index count) {
  EXPECT_TRUE(std::ranges::is_sorted(train));
  EXPECT_TRUE(std::ranges::is_sorted(rest));
  train.insert(train.end(), rest.begin(), rest.end());
  std::ranges::sort(train);
  ASSERT_EQ(std::ssize(train), count);
  for (Index i = 0; i < count; ++i) EXPECT_EQ(train[i], i);
}

TEST(SplitTasks, KeepsTheShareOfEachClass) {
  const Dataset data = cast_into_tasks(uneven_samples(), Casting::binary);
  const Split split = split_tasks(data, 0.6, 3);
  ASSERT_EQ(split.train.size(), data.tasks.size());
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const Task& task = data.tasks[t];
    expect_partition(split.train[t], split.rest[t], task.size());
    const auto positive = [&](Index i) { return task.y[i] > 0; };
    const auto all = static_cast<double>((task.y.array() > 0).count());
    EXPECT_EQ(std::ranges::count_if(split.train[t], positive), std::lround(0.6 * all));
  }
  check_dataset(subset(data, split.train));
  EXPECT_EQ(split, split_tasks(data, 0.6, 3));
  EXPECT_FALSE(split == split_tasks(data, 0.6, 4));
}

TEST(SplitSamples, StratifiesByTaskAndLabel) {
  const Samples samples = uneven_samples();
  const RowSplit split = split_samples(samples, 0.25, 3);
  expect_partition(split.train, split.rest, samples.X.rows());
  std::map<std::pair<Index, Index>, std::pair<Index, Index>> counts;  // all, train
  for (Index i = 0; i < samples.X.rows(); ++i) ++counts[{samples.task[i], samples.label[i]}].first;
  for (const Index i : split.train) ++counts[{samples.task[i], samples.label[i]}].second;
  EXPECT_EQ(counts.size(), 10U);
  for (const auto& [key, count] : counts) {
    EXPECT_EQ(count.second, std::lround(0.25 * static_cast<double>(count.first)));
  }
  EXPECT_EQ(split, split_samples(samples, 0.25, 3));
}

TEST(SplitSamples, SmallClassesGoToBothSidesIfTheyCan) {
  Samples samples;
  samples.X = Matrix::Zero(3, 1);
  samples.label = {0, 1, 1};
  samples.labels = {"a", "b"};
  for (const double share : {0.01, 0.99}) {
    const RowSplit split = split_samples(samples, share, 1);
    EXPECT_EQ(split.train.size(), 2U);
    EXPECT_EQ(split.train.front(), 0);  // the only sample of class a
    EXPECT_EQ(split.rest.size(), 1U);
  }
}

TEST(SelectRows, TakesRowsInTheOrderAsked) {
  const Samples samples = uneven_samples();
  const Samples some = select_rows(samples, {40, 2});
  EXPECT_EQ(some.X.rows(), 2);
  EXPECT_EQ(some.X.row(0), samples.X.row(40));
  EXPECT_EQ(some.label, (std::vector<Index>{samples.label[40], samples.label[2]}));
  EXPECT_EQ(some.task, (std::vector<Index>{samples.task[40], samples.task[2]}));
  EXPECT_EQ(some.labels, samples.labels);
  EXPECT_EQ(some.tasks, samples.tasks);
}

TEST(Split, ErrorsSayWhatIsAllowed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message_of([] { split_tasks({}, 1, 1); }),
            "train_share is 1; it must be between 0 and 1.");
  EXPECT_EQ(message_of([&] { split_samples({}, nan, 1); }),
            "train_share is nan; it must be between 0 and 1.");
  EXPECT_EQ(message_of([] { select_rows({}, {0}); }),
            "row 0 does not exist; there are 0 rows, counted from 0.");
}

Dataset three_classes() {
  Samples samples;
  samples.X = Matrix::Random(60, 2);
  samples.features = {"a", "b"};
  samples.labels = {"x", "y", "z"};
  for (Index i = 0; i < 60; ++i) samples.label.push_back(i < 11 ? 0 : i < 31 ? 1 : 2);
  return cast_into_tasks(std::move(samples), Casting::one_vs_one);
}

TEST(FoldTasks, HoldEveryRowOutOnceInAllItsTasks) {
  const Dataset data = three_classes();
  const std::vector<Split> folds = fold_tasks(data, 5, 7);
  ASSERT_EQ(folds.size(), 5u);
  std::map<Index, Index> fold_of_row;
  for (std::size_t k = 0; k < folds.size(); ++k)
    for (std::size_t t = 0; t < data.tasks.size(); ++t) {
      expect_partition(folds[k].train[t], folds[k].rest[t], data.tasks[t].size());
      for (const Index i : folds[k].rest[t]) {
        const Index row = data.tasks[t].rows[static_cast<std::size_t>(i)];
        const auto [place, is_new] = fold_of_row.emplace(row, static_cast<Index>(k));
        EXPECT_EQ(place->second, static_cast<Index>(k)) << "row " << row;
      }
    }
  EXPECT_EQ(fold_of_row.size(), 60u);
  // Classes of 11, 20 and 29 rows, and all 60, are spread as evenly as whole numbers allow.
  for (const auto& [first, count] : {std::pair<Index, Index>{0, 11}, {11, 20}, {31, 29}, {0, 60}}) {
    std::map<Index, Index> sizes;
    for (Index row = first; row < first + count; ++row) ++sizes[fold_of_row[row]];
    for (Index k = 0; k < 5; ++k) {
      EXPECT_GE(sizes[k], count / 5);
      EXPECT_LE(sizes[k], (count + 4) / 5);
    }
  }
  EXPECT_EQ(folds, fold_tasks(data, 5, 7));
  EXPECT_FALSE(folds == fold_tasks(data, 5, 8));
}

TEST(FoldTasks, SaysWhichTaskHasTooFewRows) {
  Dataset data = three_classes();
  data.tasks.resize(1);
  Task& task = data.tasks.front();
  task.rows.resize(12);  // eleven of x, one of y
  task.y.conservativeResize(12);
  try {
    fold_tasks(data, 3, 1);
    FAIL() << "one row of a class was accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "task 'x|y' has too few rows of class 'y' to hold some out and train on the "
                 "others. Give it at least two of each class, or leave the task out.");
  }
  EXPECT_THROW(fold_tasks(three_classes(), 1, 1), InputError);
  EXPECT_THROW(fold_tasks(three_classes(), 61, 1), InputError);
}

TEST(HoldOutTasks, HoldsOutTheShareOfEveryClass) {
  const Dataset data = three_classes();
  const Split split = hold_out_tasks(data, 0.3, 2);
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    expect_partition(split.train[t], split.rest[t], data.tasks[t].size());
    for (const double y : {-1.0, 1.0}) {
      const auto of_class = [&](Index i) { return data.tasks[t].y[i] == y; };
      const auto all = static_cast<double>((data.tasks[t].y.array() == y).count());
      EXPECT_EQ(std::ranges::count_if(split.train[t], of_class), std::lround(0.7 * all));
    }
  }
  EXPECT_THROW(hold_out_tasks(data, 1, 2), InputError);
}

TEST(ResampleTasks, DrawsRowsTogetherAndKeepsTheSizeOfClasses) {
  const Dataset data = three_classes();
  const std::vector<std::vector<Index>> drawn = resample_tasks(data, 4);
  std::map<Index, Index> times;  // by row, from the first task that uses it
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    const Task& task = data.tasks[t];
    ASSERT_EQ(std::ssize(drawn[t]), task.size());
    std::map<Index, Index> here;
    double positive = 0;
    for (const Index i : drawn[t]) {
      ++here[task.rows[static_cast<std::size_t>(i)]];
      positive += task.y[i] > 0;
    }
    EXPECT_EQ(positive, static_cast<double>((task.y.array() > 0).count()));
    for (const auto& [row, count] : here) {
      const auto [place, is_new] = times.emplace(row, count);
      EXPECT_EQ(place->second, count) << "row " << row;
    }
  }
  EXPECT_LT(times.size(), 60u);  // some row is drawn twice
}

// ---- rows to judge on from a table of their own

TEST(Validation, RowsGoToTheTasksTheyBelongTo) {
  Matrix X(4, 1), V(3, 1);
  X << 1, 2, 3, 4;
  V << 5, 6, 7;
  const Dataset data(X, {"no", "yes", "no", "yes"}, {"a", "a", "b", "b"});
  // One class only, in one of the tasks only.
  const Validated out =
      with_validation(data, make_samples(V, {"yes", "yes", "yes"}, {"b", "b", "b"}));
  EXPECT_EQ(out.data.X.rows(), 7);
  EXPECT_EQ(out.data.tasks[0], data.tasks[0]);
  EXPECT_EQ(out.data.tasks[1].rows, (std::vector<Index>{2, 3, 4, 5, 6}));
  EXPECT_EQ(out.data.tasks[1].y.tail(3), Vector::Ones(3));
  EXPECT_EQ(out.split.train, (std::vector<std::vector<Index>>{{0, 1}, {0, 1}}));
  EXPECT_EQ(out.split.rest, (std::vector<std::vector<Index>>{{}, {2, 3, 4}}));
}

TEST(Validation, ClassesOfManyTasks) {
  Matrix X(6, 1);
  X << 1, 2, 3, 4, 5, 6;
  const std::vector<std::string> labels = {"x", "y", "z", "x", "y", "z"};
  for (const bool parts : {false, true}) {
    std::vector<std::string> tasks, one;
    if (parts) {
      tasks = {"p", "p", "p", "p", "p", "p"};
      one = {"p"};
    }
    const Samples row = make_samples(Matrix::Constant(1, 1, 9.0), {"y"}, one);
    const Dataset pairs(X, labels, tasks, Casting::one_vs_one);  // x|y, x|z, y|z
    const Validated of_pairs = with_validation(pairs, row);
    EXPECT_EQ(of_pairs.split.rest, (std::vector<std::vector<Index>>{{4}, {}, {4}}));
    EXPECT_EQ(of_pairs.data.tasks[0].y[4], 1);
    EXPECT_EQ(of_pairs.data.tasks[2].y[4], -1);
    const Validated rests = with_validation(Dataset(X, labels, tasks, Casting::one_vs_rest), row);
    EXPECT_EQ(rests.split.rest, (std::vector<std::vector<Index>>{{6}, {6}, {6}}));
    EXPECT_EQ(rests.data.tasks[0].y[6], -1);
    EXPECT_EQ(rests.data.tasks[1].y[6], 1);
  }
}

TEST(Validation, SaysWhatIsWrong) {
  Matrix X(4, 1);
  X << 1, 2, 3, 4;
  const Dataset data(X, {"no", "yes", "no", "yes"}, {"a", "a", "b", "b"});
  const auto message = [&](const Samples& rows) -> std::string {
    try {
      with_validation(data, rows);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const Matrix one = Matrix::Ones(1, 1);
  EXPECT_EQ(message(make_samples(one, {"yes"}, {"c"})),
            "`validation` has the task 'c', which the data does not have.");
  EXPECT_EQ(message(make_samples(one, {"yes"})), "`validation` has no tasks, and the data has.");
  EXPECT_EQ(message(make_samples(one, {"maybe"}, {"a"})),
            "`validation` has the label 'maybe' in the task 'a', which the data does not have.");
  EXPECT_EQ(message(make_samples(one, {"yes"}, {"a"}, {"other"})),
            "`validation` has the features other; the data has f1. Give it the same, in the same "
            "order.");
  EXPECT_EQ(message(make_samples(Matrix(0, 1), {}, {}, {"f1"})),
            "`validation` has no rows; there is nothing to judge on.");
}

TEST(CrossFitParts, EqualRowsAreInOnePartAndClassesAreSpread) {
  Matrix X(60, 2);
  std::vector<std::string> label, task;
  for (Index i = 0; i < 60; ++i) {
    X.row(i) << static_cast<double>(i % 45), 1;  // fifteen rows twice
    label.emplace_back(i % 2 == 0 ? "no" : "yes");
    task.emplace_back(i < 45 ? "a" : "b");
  }
  const Dataset data(X, label, task);
  const std::vector<Index> part = cross_fit_parts(data, 5, 3);
  std::vector<Index> count(5, 0);
  for (std::size_t i = 0; i < 60; ++i) {
    ASSERT_TRUE(part[i] >= 0 && part[i] < 5);
    ++count[static_cast<std::size_t>(part[i])];
    EXPECT_EQ(part[i], part[i % 45]);
  }
  for (const Index rows : count) EXPECT_GE(rows, 9);  // of 45 different rows nine each
  EXPECT_NE(part, cross_fit_parts(data, 5, 4));
}

}  // namespace
}  // namespace coterie
