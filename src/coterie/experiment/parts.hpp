// The rows of a table in three parts: to train on, to choose on, to test on.
//
// Rows are dealt out by class (within every task, where there is a task column), before they are cast into tasks: a row is in the same part
// for all its tasks. Of a class of n rows, round(share n) are trained on, at least one and at most n - 2; of the others half are for
// the choice and half, or one more, for the test.
//
// With equal classes, every class has as many training rows as the smallest one gives: round(share n) for its n. Where classes differ
// in size that is less than the share of all rows, and `Parts` says by how much.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "coterie/data/dataset.hpp"

namespace coterie {

struct Parts {
  std::vector<Index> train, validation, test;  // rows, increasing
  bool operator==(const Parts&) const = default;
};

struct PartSettings {
  double share = 0.5;  // of the rows, to train on
  bool equal_classes = false;
  std::uint64_t seed = 1;
};

// Depends on the settings, the names of tasks and classes, and the order of the rows of each; on nothing else. Throws InputError for a class
// of fewer than three rows.
Parts part_rows(const Samples& samples, const PartSettings& settings);

// At most `most` rows of every class (within every task), drawn at random; increasing.
std::vector<Index> capped_rows(const Samples& samples, Index most, std::uint64_t seed);

// A seed for what the text names.
std::uint64_t seed_of(std::string_view text);

}  // namespace coterie
