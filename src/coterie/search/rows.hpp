// How the rows of a grid are fitted: what differs between methods in a search.
//
// Methods that share by lambda walk down it, from strong sharing to none. At every C a fit at lambda = inf begins the row, itself begun at
// that of the C before; each other fit begins where the one before ended. Where lambda >= lambda_max, docs/maths.md (39), the
// fit at lambda = inf is the answer, with its certificate.
//
// Other methods walk the longest of C and the parameters that are not whole numbers, from simple to complex. The first fit of a row begins
// cold, each other where the one before ended if the problem is convex; else every fit begins cold, so that a point is judged by
// what a fit of it alone would give.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "coterie/search/grid_scores.hpp"

namespace coterie {

struct Row {
  GridPoint point;                // place 0 on the walked list
  std::vector<GridPoint> points;  // in the order of the walk
};

// How a fit among others runs.
struct Turn {
  int threads = 1;
  const std::atomic<bool>& stop;
};

// Where a row begins: the fit at lambda = inf.
struct Beginning {
  WarmStart start;
  Vector judged;
  double lambda_max = 0;
  Effort effort;
};
using Beginnings = std::map<GridPoint, Beginning>;  // by row

class RowStrategy {
 public:
  virtual ~RowStrategy() = default;
  virtual Index& place(GridPoint& point) const = 0;  // on the walked list
  // What all rows of a fold, in order, begin with. Incomplete when it was stopped.
  virtual Beginnings begin(const Fold& fold, const std::vector<Row>& rows,
                           const Turn& turn) const = 0;
  // Incomplete when it was stopped.
  virtual RowScores score(const Fold& fold, const Row& row, const Beginnings& beginnings,
                          const Turn& turn) const = 0;
};

// What is referred to must outlive it.
std::unique_ptr<const RowStrategy> strategy_of(const SearchData& search, const Grid& grid,
                                               Score score);

// The points as rows, in the order of the lists.
std::vector<Row> rows_of(const std::vector<GridPoint>& points, const RowStrategy& strategy);

}  // namespace coterie
