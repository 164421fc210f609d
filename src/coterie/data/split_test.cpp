#include "coterie/data/split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "coterie/data/planted.hpp"

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
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message([] { split_tasks({}, 1, 1); }),
            "train_share is 1; it must be between 0 and 1.");
  EXPECT_EQ(message([&] { split_samples({}, nan, 1); }),
            "train_share is nan; it must be between 0 and 1.");
  EXPECT_EQ(message([] { select_rows({}, {0}); }),
            "row 0 does not exist; there are 0 rows, counted from 0.");
}

}  // namespace
}  // namespace coterie
