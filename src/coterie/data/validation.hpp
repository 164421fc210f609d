// Rows to judge on that come from a table of their own.
#pragma once

#include "coterie/data/split.hpp"

namespace coterie {

// The data with these rows behind its own, in the tasks that they belong to, and the split that trains on the first and holds out the
// others. Tasks may lack such rows, or have one class of them only. Throws InputError where features differ or a row has a task or a
// label that the data does not have.
struct Validated {
  Dataset data;
  Split split;
};
Validated with_validation(const Dataset& data, const Samples& rows);

}  // namespace coterie
