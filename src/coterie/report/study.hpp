// What a study found, as files: statistics, pictures, and one page with all of it.
#pragma once

#include <string>
#include <vector>

#include "coterie/experiment/figure.hpp"
#include "coterie/experiment/statistics.hpp"
#include "coterie/report/report_file.hpp"

namespace coterie {

// statistics.md and .csv, differences.csv, ranks-SHARE.svg, scores-SHARE.svg and index.html. Pictures of the plan's shares for which there
// is nothing to show are empty. `blocks` are those of study_statistics; `plan` is the name of the plan.
std::vector<ReportFile> study_files(const Experiment& experiment,
                                    const std::vector<StudyBlock>& blocks, const std::string& plan);

// NAME.svg and NAME.csv.
std::vector<ReportFile> figure_files(const Figure& figure);

}  // namespace coterie
