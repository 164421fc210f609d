// Samples to a file whose name says the format.
#pragma once

#include <string>
#include <vector>

#include "coterie/data/dataset.hpp"

namespace coterie::app {

// Throws InputError unless the name ends in .csv, .tsv, .tab, .svm, .libsvm or .svmlight, perhaps followed by .gz.
void check_table_name(const std::string& path);

// Returns the files written: one, or for several tasks in LIBSVM format one per task, named stem-task.svm.
std::vector<std::string> write_samples(const Samples& samples, const std::string& path);

// The path with its extensions replaced: "a/b.csv.gz" gives "a/b" + ending.
std::string with_ending(const std::string& path, const std::string& ending);

}  // namespace coterie::app
