// The lambda path as tables, pictures, text and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/search/stability.hpp"
#include "text.hpp"

namespace coterie::app {

struct PathResult {
  const Dataset& data;
  LambdaPath path;
  MergeTree tree;
  std::vector<std::string> kernels;
  std::optional<Stability> stability;
  std::optional<std::size_t> chosen;  // point with the groups asked for
  double share(double lambda) const { return lambda > 0 ? lambda / path.lambda_max : 0; }
};

std::vector<std::string> names_of(const std::vector<Index>& members, const Dataset& data);

inline constexpr const char* path_files[] = {"path.csv",    "weights.csv", "merges.csv",
                                             "weights.svg", "tree.svg",    "affinity.svg"};

// path.csv, weights.csv, merges.csv and the pictures weights.svg, tree.svg, affinity.svg; each is written whole or not at all.
// Returns their names; what has nothing to show is left out.
std::vector<std::string> write_path_folder(const std::string& name, const PathResult& result);

Json json_path(const PathResult& result, const Settings& settings);
void print_path_points(const PathResult& result, bool advise);  // to write all points to a folder
void print_merge_tree(const PathResult& result);

}  // namespace coterie::app
