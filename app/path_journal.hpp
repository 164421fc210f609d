// What an interrupted `coterie path` has done so far.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coterie/search/stability.hpp"

namespace coterie::app {

struct KnownPath {
  std::map<double, PathPoint> points;  // by lambda
  std::map<Index, ResampledPath> resamples;
};

std::string encode(const PathPoint& point);
std::string encode(Index resample, const ResampledPath& path);
KnownPath decode_path(const std::vector<std::string>& records);

}  // namespace coterie::app
