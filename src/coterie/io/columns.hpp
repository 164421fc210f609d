// The choice among columns that have names but no header line. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "coterie/io/table.hpp"
#include "coterie/io/text.hpp"

namespace coterie::detail {

std::vector<std::string> numbered_features(Index count);  // f1, f2, ...

// What is left to do when all rows are there: names of labels and tasks, and only the columns of X that `features` and `drop` ask for.
// `path` is for the message when one is not there.
void finish_samples(Samples& samples, const Dictionary& labels, const Dictionary& tasks,
                    const std::string& path, const TableOptions& options);

// "holds nan; every value must be a finite number."
std::string describe_not_finite(double value);

}  // namespace coterie::detail
