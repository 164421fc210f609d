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
  Scale scale = Scale::none;      // of the features
  Settings settings() const;
};

// Throws InputError when COTERIE_DATA is not set: there is nothing to measure then.
std::vector<Work> real_work();

// Whole data sets with the share to train on, small as in the paper: digits, vehicle, letter and landmine.
struct Study {
  std::string name;
  std::function<Dataset()> load;
  double train_share = 0.2;
  Scale scale = Scale::none;  // standard where features have different units
  bool by_auc = false;        // classes too unequal for accuracy
};
std::vector<Study> studies();

// Planted tasks, four features to a group.
Dataset planted_tasks(Index tasks, Index samples, Index groups);

}  // namespace coterie::bench
