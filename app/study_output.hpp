// What `experiment` writes beside its tables: statistics, pictures, and one page with all of it.
#pragma once

#include <string>

#include "coterie/experiment/experiment.hpp"

namespace coterie::app {

// statistics.md, .csv and .json, differences.csv, ranks-SHARE.svg, scores-SHARE.svg and index.html in the folder, each written whole.
// Pictures of the plan's shares for which there is nothing to show are removed.
void write_study(const Experiment& experiment, const std::string& plan, const std::string& folder);

}  // namespace coterie::app
