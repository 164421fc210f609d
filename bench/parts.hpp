// The parts of ./run bench: each measures one idea and gives its tables.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "report.hpp"
#include "work.hpp"

namespace coterie::bench {

struct Options {
  int runs = 5;                // medians of so many
  std::string only = {};       // real cases whose name contains this
  double limit_seconds = 120;  // of one fit in the growth series
  std::string plots = "docs";  // folder of the SVG files
};

std::vector<Report> part_parse(const Options& options);
std::vector<Report> part_limits(const Options& options);
std::vector<Report> part_phases(const Options& options);
std::vector<Report> part_fit(const Options& options);
std::vector<Report> part_whole(const Options& options);
std::vector<Report> part_svm(const Options& options);
std::vector<Report> part_path(const Options& options);
std::vector<Report> part_lambdas(const Options& options);
std::vector<Report> part_grid(const Options& options);
std::vector<Report> part_gram(const Options& options);
std::vector<Report> part_memory(const Options& options);
std::vector<Report> part_threads(const Options& options);
std::vector<Report> part_tasks(const Options& options);
std::vector<Report> part_samples(const Options& options);
std::vector<Report> part_kernels(const Options& options);
std::vector<Report> part_columns(const Options& options);
std::vector<Report> part_growth(const Options& options);
std::vector<Report> part_choosing(const Options& options);
std::vector<Report> part_standardised(const Options& options);
std::vector<Report> part_calibration(const Options& options);
std::vector<Report> part_letters(const Options& options);
std::vector<Report> part_select(const Options& options);
std::vector<Report> part_cone(const Options& options);
std::vector<Report> part_methods(const Options& options);
std::vector<Report> part_planted(const Options& options);
std::vector<Report> part_bound(const Options& options);

// What the memory part runs in a process of its own: trains on the case, and prints what it took as JSON.
void run_memory_child(const std::string& name);

// The real cases that the options ask for, and among them those of `names` (empty: all).
std::vector<Work> chosen_work(const Options& options, const std::vector<std::string>& names = {});

std::string case_name(const Work& work, double C, double share);  // "pen 50%, C 1, 0.05max"
std::string how_often(const Options& options);                    // "medians of 5 (...)"

// Says on standard error what is being measured.
void say(const std::string& text);

}  // namespace coterie::bench
