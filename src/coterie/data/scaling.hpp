// Shifts and factors that bring features to a common scale, learnt from training rows only.
//
//   standard   x -> (x - mean) / deviation        deviation over n, not n - 1
//   minmax     x -> (x - min) / (max - min)
//
// A constant column gets factor 1 and becomes 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coterie/data/dataset.hpp"

namespace coterie {

struct Scaling {
  enum class Kind { none, standard, minmax };
  Kind kind = Kind::none;
  Vector shift, factor;  // per feature; empty for none
  bool operator==(const Scaling& other) const;
};

std::string to_string(Scaling::Kind kind);
std::optional<Scaling::Kind> scaling_kind_from(const std::string& text);

// The rows that some task uses, increasing.
std::vector<Index> rows_used(const Dataset& data);

// Per column, whether it has one value in every task, which may differ from task to task.
std::vector<bool> constant_columns(const Dataset& data);

// Throws InputError when a column spans too much or too little for a double.
// The last `kept` columns are left as they are.
Scaling learn_scaling(Scaling::Kind kind, ConstMatrixRef X, const std::vector<Index>& rows,
                      Index kept = 0);
Scaling learn_scaling(Scaling::Kind kind, const Dataset& data);  // from rows_used

// (x - shift) * factor. Takes X by value to scale it in place.
Matrix apply_scaling(const Scaling& scaling, Matrix X);

}  // namespace coterie
