#include "coterie/mtmkl/group_list.hpp"

#include <gtest/gtest.h>

namespace coterie {
namespace {

TEST(GroupList, LargerGroupsComeFirstThenTheirFirstTasks) {
  const Groups groups = {{0}, {1, 4}, {2}, {3, 5, 7}, {6, 8}};
  EXPECT_EQ(listed(groups), (Groups{{3, 5, 7}, {1, 4}, {6, 8}, {0}, {2}}));
  EXPECT_EQ(group_numbers(9, groups), (std::vector<Index>{4, 2, 5, 1, 2, 1, 3, 1, 3}));
}

TEST(GroupList, NumbersOfGroupsWithSeveralTasksSkipNone) {
  const Groups groups = {{0}, {1}, {2, 3}, {4}, {5, 6}};
  const Groups list = listed(groups);
  EXPECT_GT(list[0].size(), 1u);
  EXPECT_GT(list[1].size(), 1u);
  EXPECT_EQ(list[2].size(), 1u);
}

}  // namespace
}  // namespace coterie
