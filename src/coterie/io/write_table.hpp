// Samples to data files that read_samples reads back bit for bit. Written whole or not at all (atomic_file.hpp).
#pragma once

#include <optional>
#include <string>

#include "coterie/data/dataset.hpp"

namespace coterie {

// Features, then columns `label` and `task` if there are any. Tab separated for .tsv and .tab; gzip for .gz.
void write_csv(const Samples& samples, const std::string& path);

// The rows of one task, or of all when there is no more than one. Names of features and tasks are not kept; the first row shows the last
// feature even if it is 0, to keep their number. gzip for .gz.
void write_libsvm(const Samples& samples, const std::string& path, std::optional<Index> task = {});

}  // namespace coterie
