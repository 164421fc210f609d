// What the journal of a study keeps of a cell: all that its result depends on, and the result. Text, a line for each.
#pragma once

#include <string>
#include <string_view>

#include "coterie/experiment/cell.hpp"

namespace coterie {

// All that a cell depends on: version, data, split, method, score. Two plans that agree on these share the cell. `data` is the fingerprint
// of the data set.
std::string describe_cell(const Plan& plan, const DatasetPlan& dataset, const std::string& data,
                          double share, Index repetition, const MethodPlan& method);

struct Record {
  std::string description;
  CellResult result;
};
std::string encode(const Record& record);
Record decode(std::string_view text);  // throws InputError that says what is wrong

}  // namespace coterie
