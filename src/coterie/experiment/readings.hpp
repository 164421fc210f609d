// What cells of the published protocol give, read in several ways (published.hpp), as text.
#pragma once

#include <string>

#include "coterie/experiment/experiment.hpp"

namespace coterie {

// Per data set, share and method: mean and standard error of every reading, and how much choosing the
// iterate on test rows adds, split by split.
std::string readings_table(const Experiment& experiment);

// readings.csv and readings.md in the folder, where cells have readings.
void write_readings(const Experiment& experiment, const std::string& folder);

}  // namespace coterie
