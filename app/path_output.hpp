// The lambda path as text and JSON.
#pragma once

#include "coterie/report/path.hpp"
#include "text.hpp"

namespace coterie::app {

Json json_path(const TracedPath& result, const Settings& settings);
void print_path_points(const TracedPath& result, bool advise);  // to write all points to a folder
void print_merge_tree(const TracedPath& result);

}  // namespace coterie::app
