// k-means with the k-means++ start of Arthur and Vassilvitskii (2007).
#pragma once

#include <cstdint>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie {

struct Kmeans {
  std::vector<Index> label;  // per point, numbered by first appearance
  Matrix centres;            // in that order
  double spread = 0;         // sum of squared distances to the centres
};
// The best of `restarts` starts; the same for the same seed. At most as many clusters as there are distinct points.
Kmeans kmeans(ConstMatrixRef points, Index clusters, Index restarts, std::uint64_t seed);

}  // namespace coterie
