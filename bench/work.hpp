// The problems that are timed: real data from the folder COTERIE_DATA, cut as in the paper, and generated tasks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coterie/coterie.hpp"

namespace coterie::bench {

struct Work {
  std::string name;
  std::function<Dataset()> load;  // reads and cuts; the same rows every time
  std::string scale = "none";     // of the features
  TrainSettings settings() const;
};

// Throws InputError when COTERIE_DATA is not set: there is nothing to measure then.
std::vector<Work> real_work();

// Planted tasks, four features to a group. With five groups, the ten kernels with which they can be found: linear and gauss:2 on
// every group's block of features.
Dataset planted_tasks(Index tasks, Index samples, Index groups);
inline constexpr const char* planted_kernels =
    "linear@f1-f4 linear@f5-f8 linear@f9-f12 linear@f13-f16 linear@f17-f20 "
    "gauss:2@f1-f4 gauss:2@f5-f8 gauss:2@f9-f12 gauss:2@f13-f16 gauss:2@f17-f20";

}  // namespace coterie::bench
