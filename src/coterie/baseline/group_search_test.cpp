#include "coterie/baseline/group_search.hpp"

#include <gtest/gtest.h>

#include "coterie/baseline/plain.hpp"
#include "coterie/data/planted_weights.hpp"
#include "coterie/math/random.hpp"
#include "coterie/mtmkl/group_list.hpp"
#include "coterie/stats/partitions.hpp"

namespace coterie {
namespace {

struct Pooled {
  std::vector<Index> sizes;
  Dataset pool;
  Grams grams;

  explicit Pooled(const Dataset& data, const std::string& kernels = "linear gauss:2,4,8")
      : pool(pool_tasks(data)) {
    for (const Task& task : data.tasks) sizes.push_back(task.size());
    grams = compute_grams(pool, prepare_kernels(Kernels(kernels), {}, pool.features), {}, {}, 1);
  }

  FoundGroups find(const GroupSearch& how, int threads = 1,
                   const KeepGoing& keep_going = {}) const {
    const Index M = std::ssize(grams.kernels);
    return find_groups({grams.tasks[0], pool.tasks[0].y, sizes},
                       Vector::Constant(M, 1.0 / static_cast<double>(M)), 1, how, threads,
                       keep_going);
  }
};

Dataset planted(Index clusters, std::vector<Index>* truth, std::uint64_t seed, Index tasks = 12,
                double deviation = 0.1) {
  PlantedWeights out = plant_weights({.tasks = tasks,
                                      .clusters = clusters,
                                      .samples = 40,
                                      .features = 6,
                                      .deviation = deviation,
                                      .noise = 0.05,
                                      .seed = seed});
  if (truth) *truth = out.cluster;
  return cast_into_tasks(std::move(out.samples), Casting::binary);
}

double index_of(const Groups& groups, const std::vector<Index>& truth) {
  return adjusted_rand_index(group_numbers(std::ssize(truth), groups), truth);
}

TEST(FindGroups, FindsPlantedClassifiers) {
  for (const Index clusters : {2, 3})
    for (const std::uint64_t seed : {1, 2, 3}) {
      std::vector<Index> truth;
      const Pooled pooled(planted(clusters, &truth, seed));
      const FoundGroups found = pooled.find({.clusters = clusters, .restarts = 10});
      EXPECT_EQ(index_of(found.groups, truth), 1) << clusters << " clusters, seed " << seed;
      EXPECT_LT(found.loss, 0.8);
      EXPECT_GE(found.agreeing, 1);
      EXPECT_EQ(found.starts, 10);
    }
}

TEST(FindGroups, OneGroupOfAllWhereOneIsAskedFor) {
  const Pooled pooled(planted(2, nullptr, 1, 5));
  const FoundGroups found = pooled.find({.clusters = 1});
  EXPECT_EQ(found.groups, (Groups{{0, 1, 2, 3, 4}}));
  EXPECT_EQ(found.starts, 1);
}

TEST(FindGroups, ATaskThatTurnsItsLabelsAroundIsAlone) {
  Dataset data = planted(1, nullptr, 4, 7, 0);
  data.tasks[3].y *= -1;
  const FoundGroups found = Pooled(data).find({.clusters = 2});
  EXPECT_EQ(found.groups, (Groups{{0, 1, 2, 4, 5, 6}, {3}}));
}

TEST(FindGroups, FewerGroupsWhereTasksAreAlike) {
  const FoundGroups found = Pooled(planted(1, nullptr, 2, 8, 0)).find({.clusters = 8});
  EXPECT_LT(found.groups.size(), 8);
}

// A kernel that knows every sample by heart: a model that had seen the samples of a task would have no loss on them.
TEST(FindGroups, NoTaskIsJudgedByAModelThatSawIt) {
  Dataset data = planted(1, nullptr, 5, 6);
  Random random(3);
  for (Task& task : data.tasks)
    for (Index i = 0; i < task.size(); ++i)
      task.y[i] = i < 2 ? 2.0 * static_cast<double>(i) - 1 : random.uniform() < 0.5 ? -1 : 1;
  for (const Index clusters : {1, 2, 3})
    EXPECT_GE(Pooled(data, "gauss:0.1").find({.clusters = clusters}).loss, 0.999) << clusters;
}

// Tasks of two kinds of ground: samples differ, and what the labels say of them is chance.
TEST(FindGroups, TasksWhoseSamplesLookAlikeWhateverTheirLabels) {
  std::vector<Index> kind;
  Dataset data = planted(1, nullptr, 7, 10, 0);
  Random random(8);
  for (std::size_t t = 0; t < data.tasks.size(); ++t) {
    kind.push_back(static_cast<Index>(t % 3 == 0));
    for (Index i = 0; i < data.tasks[t].size(); ++i) {
      data.X.row(data.tasks[t].rows[static_cast<std::size_t>(i)]).array() += 0.7 * kind.back();
      data.tasks[t].y[i] = i < 2                    ? 2.0 * static_cast<double>(i) - 1
                           : random.uniform() < 0.5 ? -1
                                                    : 1;
    }
  }
  const FoundGroups found = Pooled(data).find({.clusters = 2, .restarts = 0});
  EXPECT_EQ(index_of(found.groups, kind), 1);
  EXPECT_EQ(found.starts, 1);
  for (Task& task : data.tasks) task.y *= -1;
  EXPECT_EQ(Pooled(data).find({.clusters = 2, .restarts = 0}, 2).groups, found.groups);
  EXPECT_EQ(Pooled(data).find({.clusters = 1, .restarts = 0}).groups.size(), 1);
}

TEST(FindGroups, ASingleTaskHasNoOtherModel) {
  const FoundGroups found = Pooled(planted(1, nullptr, 1, 1)).find({.clusters = 3});
  EXPECT_EQ(found.groups, (Groups{{0}}));
  EXPECT_EQ(found.loss, 1);
}

TEST(FindGroups, ThreadsChangeNothing) {
  const Pooled pooled(planted(3, nullptr, 6));
  const FoundGroups one = pooled.find({.clusters = 3}), two = pooled.find({.clusters = 3}, 2);
  EXPECT_EQ(one.groups, two.groups);
  EXPECT_EQ(one.loss, two.loss);
}

TEST(FindGroups, StopsWithWhatItHas) {
  const Pooled pooled(planted(2, nullptr, 1));
  EXPECT_EQ(pooled.find({}, 1, [] { return false; }).groups.size(), 1);
  Index asked = 0;  // the first start ends, the second does not
  const FoundGroups some = pooled.find({.restarts = 50}, 1, [&] { return ++asked < 40; });
  EXPECT_GE(some.starts, 1);
  EXPECT_LT(some.starts, 50);
  EXPECT_LT(some.loss, 1);
}

}  // namespace
}  // namespace coterie
