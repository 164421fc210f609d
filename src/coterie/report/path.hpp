// A lambda path as files: tables and pictures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/report/report_file.hpp"
#include "coterie/search/stability.hpp"

namespace coterie {

// A path and what is read off it.
struct TracedPath {
  const Dataset& data;
  LambdaPath path;
  MergeTree tree;
  std::vector<std::string> kernels;
  std::optional<Stability> stability;
  std::optional<std::size_t> chosen;  // point with the groups asked for
  double share(double lambda) const { return lambda > 0 ? lambda / path.lambda_max : 0; }
};

inline constexpr const char* kPathFiles[] = {"path.csv",    "weights.csv", "merges.csv",
                                             "weights.svg", "tree.svg",    "affinity.svg"};

// The tables path.csv, weights.csv, merges.csv and the pictures weights.svg, tree.svg, affinity.svg; what has nothing to show is left out.
std::vector<ReportFile> path_files(const TracedPath& traced);

std::vector<std::string> names_of(const std::vector<Index>& members, const Dataset& data);
std::vector<std::string> names_of_tasks(const Dataset& data);
// "best held-out accuracy 93.21 %: 3 groups"
std::string best_text(const TracedPath& traced, std::size_t best);

}  // namespace coterie
