#include "coterie/math/kmeans.hpp"

#include <algorithm>
#include <limits>

#include "coterie/math/random.hpp"

namespace coterie {

namespace {

constexpr Index most_rounds = 1000;  // some ten are taken

// k-means++: the first centre is any point; each further one is a point drawn with probability proportional to its squared distance
// from the nearest centre so far. Ends early when every point is a centre.
Matrix draw_centres(ConstMatrixRef points, Index clusters, Random& random) {
  Matrix centres(clusters, points.cols());
  centres.row(0) = points.row(random.below(points.rows()));
  Vector distance = (points.rowwise() - centres.row(0)).rowwise().squaredNorm();
  for (Index k = 1; k < clusters; ++k) {
    double left = distance.sum() * random.uniform();
    if (!(distance.maxCoeff() > 0)) return centres.topRows(k);
    Index chosen = -1;
    for (Index i = 0; i < points.rows(); ++i) {
      if (!(distance[i] > 0)) continue;
      chosen = i;
      left -= distance[i];
      if (left < 0) break;
    }
    centres.row(k) = points.row(chosen);
    distance = distance.cwiseMin((points.rowwise() - centres.row(k)).rowwise().squaredNorm());
  }
  return centres;
}

struct Nearest {
  std::vector<Index> label;
  Vector distance;  // squared
};

Nearest nearest_centres(ConstMatrixRef points, const Matrix& centres) {
  Nearest out{std::vector<Index>(static_cast<std::size_t>(points.rows())), Vector(points.rows())};
  for (Index i = 0; i < points.rows(); ++i)
    out.distance[i] = (centres.rowwise() - points.row(i))
                          .rowwise()
                          .squaredNorm()
                          .minCoeff(&out.label[static_cast<std::size_t>(i)]);
  return out;
}

// The mean of every cluster's points. A cluster that lost all of them gets the point that is farthest from its centre.
Matrix means(ConstMatrixRef points, Nearest& nearest, Index clusters) {
  std::vector<Index>& label = nearest.label;
  Matrix sum = Matrix::Zero(clusters, points.cols());
  Vector count = Vector::Zero(clusters);
  for (const Index k : label) ++count[k];
  for (Index k = 0; k < clusters; ++k) {
    if (count[k] > 0) continue;
    Index far = 0;
    nearest.distance.maxCoeff(&far);
    nearest.distance[far] = 0;
    --count[label[static_cast<std::size_t>(far)]];
    label[static_cast<std::size_t>(far)] = k;
    count[k] = 1;
  }
  for (std::size_t i = 0; i < label.size(); ++i)
    sum.row(label[i]) += points.row(static_cast<Index>(i));
  for (Index k = 0; k < clusters; ++k)
    if (count[k] > 0) sum.row(k) /= count[k];
  return sum;
}

Kmeans in_order_of_appearance(const Kmeans& in) {
  std::vector<Index> number(static_cast<std::size_t>(in.centres.rows()), -1);
  Kmeans out{in.label, Matrix(in.centres.rows(), in.centres.cols()), in.spread};
  Index next = 0;
  for (Index& label : out.label) {
    Index& name = number[static_cast<std::size_t>(label)];
    if (name < 0) {
      name = next++;
      out.centres.row(name) = in.centres.row(label);
    }
    label = name;
  }
  out.centres.conservativeResize(next, Eigen::NoChange);
  return out;
}

// Lloyd's rounds: neither step raises the spread.
Kmeans descend(ConstMatrixRef points, Matrix centres) {
  Nearest nearest = nearest_centres(points, centres);
  for (Index round = 0; round < most_rounds; ++round) {
    centres = means(points, nearest, centres.rows());
    Nearest next = nearest_centres(points, centres);
    const bool same = next.label == nearest.label;
    nearest = std::move(next);
    if (same) break;
  }
  return {nearest.label, centres, nearest.distance.sum()};
}

}  // namespace

Kmeans kmeans(ConstMatrixRef points, Index clusters, Index restarts, std::uint64_t seed) {
  if (points.rows() == 0) return {{}, Matrix(0, points.cols()), 0};
  Random random(seed);
  Kmeans best;
  best.spread = std::numeric_limits<double>::infinity();
  for (Index r = 0; r < std::max<Index>(restarts, 1); ++r) {
    Kmeans found = descend(
        points, draw_centres(points, std::clamp<Index>(clusters, 1, points.rows()), random));
    if (found.spread < best.spread) best = std::move(found);
  }
  return in_order_of_appearance(best);
}

}  // namespace coterie
