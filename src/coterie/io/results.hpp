// Long tables of results: a row per score.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/stats/comparison.hpp"

namespace coterie {

struct ResultColumns {
  std::optional<std::string> block = {};  // rows with the same value are a block; none: all are one
  std::string dataset = "dataset";
  std::string method = "method";
  std::optional<std::string> repetition = {};  // none: one score for a method on a data set
  std::string score = "score";
};

// Reads a CSV or TSV file, gzip too. Other columns are passed over. Blocks, data sets and methods are in the order of the file, and every
// method of a block has a score on every data set of it, for the same repetitions. Every error is an InputError that says where.
std::vector<ResultBlock> read_results(const std::string& path, const ResultColumns& columns = {});

}  // namespace coterie
