// The problems that are timed: real data from the folder COTERIE_DATA, cut as in the paper, and generated tasks.
#pragma once

#include <string>
#include <vector>

#include "coterie/coterie.hpp"

namespace coterie::bench {

struct Work {
  std::string name;
  std::vector<std::string> paths = {};  // empty for generated data
  TableOptions columns = {};
  Casting casting = Casting::binary;
  double share = 1;     // of the samples that are trained on
  Index per_class = 0;  // at most so many samples of a class; 0: all
  std::string scale = "none";
};

// The cases of the paper that are in the folder; empty without one.
std::vector<Work> real_work();

// Reads and cuts. `letter` is cast into the paper's eight pairs of letters.
Dataset load(const Work& work);

}  // namespace coterie::bench
