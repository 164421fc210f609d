// Comparisons of methods as JSON.
#pragma once

#include "coterie/experiment/experiment.hpp"
#include "coterie/experiment/statistics.hpp"
#include "coterie/report/comparison.hpp"
#include "text.hpp"

namespace coterie::app {

// average_ranks, friedman, holm, wilcoxon, nemenyi.
Json json_comparison(const ComparedBlock& block);
Json json_paired(const PairedT& gain);
// Of a study: what statistics.json has.
Json json_study(const Experiment& experiment, const std::vector<StudyBlock>& blocks, double alpha);

}  // namespace coterie::app
