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

// Cross-validation: every row is held out once, in one of `folds` parts, and with it in all tasks that use it. Rows that play the same
// part in the same tasks (a class within a task, or a class of many) are spread evenly over the parts. Throws InputError when a
// class of a task has a single row, which could not be trained on and held out.
std::vector<Split> fold_tasks(const Dataset& data, Index folds, std::uint64_t seed);

// Parts for cross-fitting: per row of X the number of its part, -1 where no task uses it; spread as by fold_tasks. Rows whose features are equal
// are in one part, whatever their tasks, so that nobody is scored by a model that has seen a copy. A class may be missing outside a part.
std::vector<Index> cross_fit_parts(const Dataset& data, Index parts, std::uint64_t seed);

// One split of that kind, with about `share` of the rows held out.
Split hold_out_tasks(const Dataset& data, double share, std::uint64_t seed);

// Rows drawn with replacement, as many of each kind as there are, for all tasks that use them: positions within each task, increasing.
std::vector<std::vector<Index>> resample_tasks(const Dataset& data, std::uint64_t seed);

// The rows listed, in that order. Labels and tasks keep their numbers, even those without rows.
Samples select_rows(const Samples& samples, const std::vector<Index>& rows);

}  // namespace coterie
