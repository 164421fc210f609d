// Seeded, stratified splits. Of every class, round(share * n) samples go to the training side, at least one, and all but one at
// most when there are two or more.
#pragma once

#include <cstdint>
#include <vector>

#include "coterie/data/dataset.hpp"

namespace coterie {

// Positions within each task, increasing; for subset().
struct Split {
  std::vector<std::vector<Index>> train, rest;
  bool operator==(const Split&) const = default;
};

// Rows of a table, increasing; for select_rows().
struct RowSplit {
  std::vector<Index> train, rest;
  bool operator==(const RowSplit&) const = default;
};

// Splits every task by itself. A row that two tasks share may fall on different sides.
Split split_tasks(const Dataset& data, double train_share, std::uint64_t seed);

// Splits the rows before they are cast into tasks, by task and label: a row is on one side for all its tasks.
RowSplit split_samples(const Samples& samples, double train_share, std::uint64_t seed);

// The rows listed, in that order. Labels and tasks keep their numbers, even those without rows.
Samples select_rows(const Samples& samples, const std::vector<Index>& rows);

}  // namespace coterie
