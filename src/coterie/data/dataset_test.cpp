#include "coterie/data/dataset.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "coterie/data/description.hpp"
#include "coterie/data/fingerprint.hpp"
#include "coterie/data/names.hpp"
#include "coterie/math/message_of.hpp"

namespace coterie {
namespace {

// One feature, numbered rows, labels by name.
Samples make_samples(const std::vector<std::string>& labels, const std::vector<Index>& label,
                     const std::vector<std::string>& tasks = {},
                     const std::vector<Index>& task = {}) {
  Samples samples;
  samples.X = Vector::LinSpaced(std::ssize(label), 1, static_cast<double>(label.size()));
  samples.features = {"f1"};
  samples.labels = labels;
  samples.label = label;
  samples.tasks = tasks;
  samples.task = task;
  return samples;
}

TEST(Names, NumbersComeByValueBeforeText) {
  std::vector<std::string> labels = {"b", "10", "a", "9", "-1", "+1", "1.5", "B", "nan", ""};
  std::ranges::sort(labels, label_before);
  EXPECT_EQ(labels,
            (std::vector<std::string>{"-1", "+1", "1.5", "9", "10", "", "B", "a", "b", "nan"}));
}

TEST(Names, LongListsAreCut) {
  EXPECT_EQ(list_names({"a", "b", "c"}, 3), "a, b, c");
  EXPECT_EQ(list_names({"a", "b", "c"}, 2), "a, b, ... (3 in all)");
}

TEST(Casting, NamesRoundTrip) {
  for (const Casting casting : {Casting::binary, Casting::one_vs_one, Casting::one_vs_rest}) {
    EXPECT_EQ(casting_from(to_string(casting)), casting);
  }
  EXPECT_EQ(to_string(Casting::one_vs_rest), "one-vs-rest");
  EXPECT_FALSE(casting_from("pairs"));
}

TEST(Casting, BinaryWithoutTasks) {
  const Dataset data = cast_into_tasks(make_samples({"0", "1"}, {1, 0, 1}), Casting::binary);
  ASSERT_EQ(data.tasks.size(), 1U);
  const Task& task = data.tasks[0];
  EXPECT_EQ(task.name, "all");
  EXPECT_EQ(task.negative, "0");
  EXPECT_EQ(task.positive, "1");
  EXPECT_EQ(task.rows, (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(task.y, (Vector(3) << 1, -1, 1).finished());
  EXPECT_TRUE(data.classes.empty());
  check_dataset(data);
}

TEST(Casting, BinaryTasksTakeTheirRows) {
  const Dataset data =
      cast_into_tasks(make_samples({"no", "yes"}, {0, 1, 1, 0}, {"b", "empty", "a"}, {0, 2, 0, 2}),
                      Casting::binary);
  ASSERT_EQ(data.tasks.size(), 2U);  // "empty" has no rows
  EXPECT_EQ(data.tasks[0].name, "b");
  EXPECT_EQ(data.tasks[0].rows, (std::vector<Index>{0, 2}));
  EXPECT_EQ(data.tasks[1].name, "a");
  EXPECT_EQ(data.tasks[1].y, (Vector(2) << 1, -1).finished());
  EXPECT_EQ(data.X.rows(), 4);
}

TEST(Casting, OneVsOneMakesAllPairs) {
  const std::vector<Index> label = {2, 0, 1, 0, 2, 1};
  const Dataset data = cast_into_tasks(make_samples({"a", "b", "c"}, label), Casting::one_vs_one);
  ASSERT_EQ(data.tasks.size(), 3U);
  EXPECT_EQ(data.classes, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(data.tasks[0].name, "a|b");
  EXPECT_EQ(data.tasks[1].name, "a|c");
  EXPECT_EQ(data.tasks[2].name, "b|c");
  for (const Task& task : data.tasks) {
    EXPECT_EQ(task.size(), 4);
    EXPECT_TRUE(std::ranges::is_sorted(task.rows));
    for (Index i = 0; i < task.size(); ++i) {
      const std::string name = data.classes[label[task.rows[i]]];
      EXPECT_EQ(name, task.y[i] > 0 ? task.positive : task.negative);
    }
  }
  check_dataset(data);
}

TEST(Casting, OneVsOneInsideTasksSkipsAbsentClasses) {
  const Dataset data =
      cast_into_tasks(make_samples({"a", "b", "c"}, {0, 1, 2, 1, 2}, {"s", "t"}, {0, 0, 0, 1, 1}),
                      Casting::one_vs_one);
  std::vector<std::string> names;
  for (const Task& task : data.tasks) names.push_back(task.name);
  EXPECT_EQ(names, (std::vector<std::string>{"s:a|b", "s:a|c", "s:b|c", "t:b|c"}));
}

TEST(Casting, OneVsRestHasOneTaskPerClass) {
  const Dataset data =
      cast_into_tasks(make_samples({"a", "b", "c"}, {2, 0, 1}), Casting::one_vs_rest);
  ASSERT_EQ(data.tasks.size(), 3U);
  EXPECT_EQ(data.tasks[1].name, "b|rest");
  EXPECT_EQ(data.tasks[1].negative, "rest");
  EXPECT_EQ(data.tasks[1].positive, "b");
  EXPECT_EQ(data.tasks[1].rows, (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(data.tasks[1].y, (Vector(3) << -1, -1, 1).finished());
}

// Names are for users: two tasks never share one, and what they are about is said by the other members.
TEST(Casting, TasksSayWhatTheyAreAbout) {
  const auto names = [](const Samples& samples, Casting casting) {
    const Dataset data = cast_into_tasks(samples, casting);
    check_dataset(data);
    std::vector<std::string> all;
    for (const Task& task : data.tasks) all.push_back(task.name);
    return all;
  };
  using Names = std::vector<std::string>;
  const Samples clear = make_samples({"a", "b|c", "d"}, {0, 1, 2}, {"s:t"}, {0, 0, 0});
  EXPECT_EQ(names(clear, Casting::one_vs_one), (Names{"s:t:a|b|c", "s:t:a|d", "s:t:b|c|d"}));
  const Dataset data = cast_into_tasks(clear, Casting::one_vs_one);
  EXPECT_EQ(data.tasks[0].negative, "a");
  EXPECT_EQ(data.tasks[0].positive, "b|c");
  EXPECT_EQ(data.tasks[0].part, "s:t");
  EXPECT_EQ(names(make_samples({"a", "a|b", "b|c", "c"}, {0, 1, 2, 3}), Casting::one_vs_one),
            (Names{"a|\"a|b\"", "a|\"b|c\"", "a|c", "\"a|b\"|\"b|c\"", "\"a|b\"|c", "\"b|c\"|c"}));
  EXPECT_EQ(names(make_samples({"b", "t:b"}, {0, 1, 0, 1}, {"s", "s:t"}, {0, 0, 1, 1}),
                  Casting::one_vs_rest),
            (Names{"s:b|rest", "s:\"t:b\"|rest", "\"s:t\":b|rest", "\"s:t\":\"t:b\"|rest"}));
  EXPECT_EQ(cast_into_tasks(make_samples({"0", "1"}, {0, 1}), Casting::binary).tasks[0].part, "");
}

TEST(Casting, UnusedClassesAreLeftOut) {
  const Dataset data = cast_into_tasks(make_samples({"a", "b", "c"}, {2, 0}), Casting::one_vs_rest);
  EXPECT_EQ(data.classes, (std::vector<std::string>{"a", "c"}));
}

TEST(Casting, ErrorsSayWhatToDo) {
  const auto cast = [](const Samples& samples, Casting casting = Casting::binary) {
    return message_of([&] { cast_into_tasks(samples, casting); });
  };
  EXPECT_EQ(cast(make_samples({"bus", "opel", "saab", "van"}, {0, 1, 2, 3})),
            "the data has 4 classes (bus, opel, saab, van); choose `one_vs_one` or `one_vs_rest`.");
  EXPECT_EQ(cast(make_samples({"a", "b", "c"}, {0, 1, 2}, {"s"}, {0, 0, 0})),
            "task 's' has 3 classes (a, b, c); choose `one_vs_one` or `one_vs_rest`.");
  EXPECT_EQ(
      cast(make_samples({"0", "1"}, {0, 1, 1}, {"s", "t"}, {0, 0, 1})),
      "task 't' has only one class ('1'); every task needs samples of two. Add samples of another "
      "class or leave the task out.");
  EXPECT_EQ(cast(make_samples({"0", "1"}, {1, 1}), Casting::one_vs_one),
            "task 'all' has only one class ('1'); every task needs samples of two. Add samples of "
            "another "
            "class or leave the task out.");
  EXPECT_EQ(
      cast(make_samples({"a", "b", "c"}, {0, 1, 0, 2}, {"s", "t"}, {0, 0, 1, 1})),
      "task 's' has the labels a, b but task 't' has a, c; binary tasks need the same two labels. "
      "Rename the labels, or choose `one_vs_one`.");
  EXPECT_EQ(cast(Samples{}), "the data has no rows; there is nothing to learn from.");
  Samples unlabelled = make_samples({"a", "b"}, {0, 1});
  unlabelled.label.clear();
  EXPECT_EQ(cast(unlabelled), "the data has no labels; learning needs a label for every row.");
  EXPECT_EQ(cast(make_samples({"a"}, {0, 1})), "label number 1 does not exist; there are 1.");
  Samples short_labels = make_samples({"a", "b"}, {0, 1});
  short_labels.label.pop_back();
  EXPECT_EQ(cast(short_labels), "2 rows but 1 labels; give one label per row.");
}

TEST(CheckDataset, ErrorsNameTheTask) {
  const Dataset good = cast_into_tasks(make_samples({"0", "1"}, {1, 0, 1}), Casting::binary);
  const auto broken = [&good](auto&& change) {
    Dataset data = good;
    change(data);
    return message_of([&] { check_dataset(data); });
  };
  EXPECT_EQ(broken([](Dataset&) {}), "no error");
  EXPECT_EQ(broken([](Dataset& d) { d.X(1, 0) = std::numeric_limits<double>::quiet_NaN(); }),
            "row 2, feature 'f1' is nan; every value must be a finite number. Fill it in or leave "
            "the row "
            "or the feature out.");
  EXPECT_EQ(broken([](Dataset& d) { d.tasks[0].y.setOnes(); }),
            "task 'all' has only one class ('1'); every task needs samples of two. Add samples of "
            "another "
            "class or leave the task out.");
  EXPECT_EQ(broken([](Dataset& d) { d.tasks[0].y[0] = 2; }),
            "task 'all' has y = 2; y must be -1 or +1.");
  EXPECT_EQ(broken([](Dataset& d) { d.tasks[0].y.conservativeResize(2); }),
            "task 'all' has 3 rows but 2 labels; give one label per row.");
  EXPECT_EQ(broken([](Dataset& d) { d.tasks[0].rows[0] = 3; }),
            "task 'all' refers to row 3, but there are 3 rows.");
  EXPECT_EQ(broken([](Dataset& d) { d.tasks.push_back(d.tasks[0]); }),
            "two tasks are called 'all'; give each its own name.");
  EXPECT_EQ(broken([](Dataset& d) {
              d.tasks.push_back({{"t", "0", "1", ""}, {}, {}});
            }),
            "task 't' has no rows; leave it out.");
  EXPECT_EQ(broken([](Dataset& d) { d.tasks.clear(); }),
            "the data has no tasks; there is nothing to learn.");
  EXPECT_EQ(broken([](Dataset& d) { d.features.clear(); }),
            "1 columns but 0 names of features; give one name per column.");
  EXPECT_EQ(broken([](Dataset& d) { d.weight = Vector::Ones(3); }), "no error");
  EXPECT_EQ(broken([](Dataset& d) { d.weight = Vector::Ones(2); }),
            "3 rows but 2 weights; give one weight per row.");
  EXPECT_EQ(broken([](Dataset& d) { d.weight = Vector::LinSpaced(3, 2, 0); }),
            "row 3 has the weight 0; a weight must be a number > 0.");
  EXPECT_EQ(broken([](Dataset& d) { d.X.resize(3, 0); }),
            "the data has no features; there is nothing to learn from.");
  EXPECT_EQ(message_of([] { check_dataset({}); }),
            "the data has no rows; there is nothing to learn from.");
}

TEST(Subset, KeepsPositionsInTheirOrder) {
  const Dataset data =
      cast_into_tasks(make_samples({"a", "b", "c"}, {2, 0, 1, 0, 2}), Casting::one_vs_one);
  const Dataset part = subset(data, {{1}, {3, 0}, {}});
  EXPECT_EQ(part.tasks[1].rows, (std::vector<Index>{data.tasks[1].rows[3], data.tasks[1].rows[0]}));
  EXPECT_EQ(part.tasks[1].y[1], data.tasks[1].y[0]);
  EXPECT_EQ(part.tasks[2].size(), 0);
  EXPECT_EQ(part.X, data.X);
  EXPECT_EQ(message_of([&] { subset(data, {{0}}); }),
            "1 lists of rows for 3 tasks; give one list per task.");
  EXPECT_EQ(message_of([&] {
              subset(data, {{9}, {}, {}});
            }),
            "position 9 is outside task 'a|b', which has 3 rows.");
}

TEST(Equality, DifferentSizesAreUnequal) {
  const Samples a = make_samples({"0", "1"}, {0, 1}), b = make_samples({"0", "1"}, {0, 1, 1});
  EXPECT_EQ(a, a);
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(cast_into_tasks(a, Casting::binary) == cast_into_tasks(b, Casting::binary));
}

TEST(Fingerprint, ChangesWithEveryPart) {
  const Dataset data = cast_into_tasks(make_samples({"0", "1"}, {1, 0, 1}), Casting::binary);
  std::set<std::string> seen = {fingerprint(data)};
  EXPECT_EQ(fingerprint(data), *seen.begin());
  EXPECT_EQ(seen.begin()->size(), 16U);
  const auto changed = [&](auto&& change) {
    Dataset other = data;
    change(other);
    return seen.insert(fingerprint(other)).second;
  };
  EXPECT_TRUE(changed([](Dataset& d) { d.X(0, 0) = std::nextafter(d.X(0, 0), 9.0); }));
  EXPECT_TRUE(changed([](Dataset& d) { d.X(0, 0) = -d.X(0, 0); }));
  EXPECT_TRUE(changed([](Dataset& d) { std::swap(d.X(0, 0), d.X(1, 0)); }));
  EXPECT_TRUE(changed([](Dataset& d) { d.features[0] = "g1"; }));
  EXPECT_TRUE(changed([](Dataset& d) { d.tasks[0].name = "one"; }));
  EXPECT_TRUE(changed([](Dataset& d) { d.tasks[0].positive = "2"; }));
  EXPECT_TRUE(changed([](Dataset& d) { std::swap(d.tasks[0].rows[0], d.tasks[0].rows[1]); }));
  EXPECT_TRUE(changed([](Dataset& d) { d.tasks[0].y = -d.tasks[0].y; }));
  EXPECT_TRUE(changed([](Dataset& d) { d.tasks.push_back(d.tasks[0]); }));
  EXPECT_TRUE(changed([](Dataset& d) { d.casting = Casting::one_vs_one; }));
  EXPECT_TRUE(changed([](Dataset& d) { d.weight = Vector::Ones(3); }));
  EXPECT_TRUE(changed([](Dataset& d) { d.weight = Vector::LinSpaced(3, 1, 2); }));
}

TEST(Description, CountsRowsOfTasksAndClassesAndThoseThatAreThereTwice) {
  Samples samples = make_samples({"no", "yes"}, {0, 1, 1, 0, 1}, {"a", "b"}, {0, 0, 0, 1, 1});
  samples.X.conservativeResize(5, 2);
  samples.features = {"f1", "f2"};
  samples.X << 1, 7, 1, 7, 1, 7, 1, 7, 2, 7;
  const Description found = describe(samples);
  ASSERT_EQ(found.rows.rows(), 2);
  EXPECT_EQ(found.rows(0, 0), 1);
  EXPECT_EQ(found.rows(0, 1), 2);
  EXPECT_EQ(found.rows(1, 0), 1);
  EXPECT_EQ(found.rows(1, 1), 1);
  EXPECT_EQ(found.duplicates.rows, 2);  // both of task a: b's rows differ
  EXPECT_EQ(found.duplicates.conflicting, 1);
  ASSERT_EQ(found.columns.size(), 2U);
  EXPECT_EQ(found.columns[0].smallest, 1);
  EXPECT_EQ(found.columns[0].largest, 2);
  EXPECT_DOUBLE_EQ(found.columns[0].mean, 1.2);
  EXPECT_EQ(found.constant_columns(), std::vector<std::string>{"f2"});
}

TEST(Names, AFieldOfATableIsQuotedOnlyWhereItMustBe) {
  EXPECT_EQ(csv_field("Wards Cove 3"), "Wards Cove 3");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("5\" pipe"), "\"5\"\" pipe\"");
  EXPECT_EQ(csv_field("a\tb"), "\"a\tb\"");
  EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
  EXPECT_EQ(csv_field(" a"), "\" a\"");
  EXPECT_EQ(csv_field("a "), "\"a \"");
}

}  // namespace
}  // namespace coterie
