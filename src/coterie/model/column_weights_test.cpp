#include "coterie/model/column_weights.hpp"

#include <gtest/gtest.h>

#include "coterie/data/planted.hpp"
#include "coterie/model/train.hpp"

namespace coterie {
namespace {

Model model_of(const char* kernels, double norm) {
  const Dataset data = cast_into_tasks(
      plant_groups({.tasks = 6, .groups = 2, .samples = 40}).samples, Casting::binary);
  Settings settings;
  settings.kernels = kernels;
  settings.norm = norm;
  const Prepared prepared = prepare(data, settings, {}, 1);
  return make_model(prepared, settings, fit_prepared(prepared, settings, 1), "");
}

// Against sums over single tasks, whatever the groups and the norm.
TEST(ColumnWeights, AreSharesOfTheWeightsOfEveryTask) {
  for (const double norm : {1.0, 2.0}) {
    const Model model = model_of("linear gauss:0.5,2@each gauss:1@f1-f2", norm);
    const ColumnWeights found = column_weights(model);
    ASSERT_EQ(found.columns.size(), model.features.size());
    const Vector row_sums = found.share.rowwise().sum() + found.together;
    EXPECT_LE((row_sums.array() - 1).abs().maxCoeff(), 1e-12);
    for (std::size_t k = 0; k < found.columns.size(); ++k) {
      double mean = 0;
      for (const TaskModel& task : model.tasks)
        for (std::size_t m = 0; m < model.kernels.size(); ++m)
          if (model.kernels[m].columns == std::vector<Index>{found.columns[k]})
            mean += task.theta()[static_cast<Index>(m)] / task.theta().sum() /
                    static_cast<double>(model.tasks.size());
      EXPECT_NEAR(found.mean[static_cast<Index>(k)], mean, 1e-12);
      if (k == 0) continue;
      EXPECT_LE(found.mean[static_cast<Index>(k)], found.mean[static_cast<Index>(k) - 1]);
    }
  }
}

TEST(ColumnWeights, AreNoneWithoutKernelsOfOneColumn) {
  EXPECT_TRUE(column_weights(model_of("linear gauss:1@f1-f2", 1)).columns.empty());
}

}  // namespace
}  // namespace coterie
