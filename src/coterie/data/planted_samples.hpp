// What planted data have in common: names, labels turned over, and rules of settings.
#pragma once

#include <vector>

#include "coterie/data/dataset.hpp"
#include "coterie/math/random.hpp"

namespace coterie {

// Throws InputError: "name is value; it must be rule."
void require_setting(bool good, const char* name, double value, const char* rule);

// Names of tasks (t01, t02, ..), features (f1, f2, ..) and labels (-1 and 1), and room for the rows.
Samples planted_samples(Index tasks, Index features, Index rows);

// Turns over a share of the labels (0 or 1) of `members`, one class; rounded down, so that it keeps a sample.
void turn_over(std::vector<Index> members, double share, std::vector<Index>& label, Random& random);

}  // namespace coterie
