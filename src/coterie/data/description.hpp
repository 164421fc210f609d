// What is in a table: rows of tasks and classes, ranges of its columns, rows that are there twice.
#pragma once

#include <string>
#include <vector>

#include "coterie/data/dataset.hpp"

namespace coterie {

struct Duplicates {
  Index rows = 0;         // whose features repeat those of another row before, of the same task
  Index conflicting = 0;  // of these, the ones with another label
};

struct ColumnRange {
  std::string name;
  double smallest = 0, mean = 0, largest = 0;
  bool is_constant() const { return smallest == largest; }
};

struct Description {
  Eigen::Matrix<Index, -1, -1> rows;  // tasks (one where there are none) x classes
  std::vector<ColumnRange> columns;
  Duplicates duplicates;
  std::vector<std::string> constant_columns() const;
};

Description describe(const Samples& samples);

}  // namespace coterie
