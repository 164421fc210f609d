// What an interrupted path has done so far, as records of a journal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coterie/io/journal.hpp"
#include "coterie/search/stability.hpp"

namespace coterie {

struct KnownPath {
  std::map<double, PathPoint> points;  // by lambda
  std::map<Index, ResampledPath> resamples;
};

std::string encode(const PathPoint& point);
std::string encode(Index resample, const ResampledPath& path);

// What the records of a journal must agree with.
struct PathShape {
  std::vector<Vector> C;  // of the training samples of every task
  TaskGraph graph;
  Index kernels = 0, ladder = 0;  // ladder: points of a resample
};
// Throws InputError that names the file and the record, when one cannot be of such a path.
KnownPath decode_path(const Journal& journal, const PathShape& shape);

}  // namespace coterie
