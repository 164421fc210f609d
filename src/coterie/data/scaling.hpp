// Shifts and factors that bring features to a common scale, learnt from training rows only.
//
//   standard   x -> (x - mean) / deviation        deviation over n, not n - 1
//   minmax     x -> (x - min) / (max - min)
//
// A constant column gets factor 1 and becomes 0.
//
// Then columns that rise together may be averaged, docs/maths.md (57):
//
//   smooth k   x_j -> mean over i in N_j of x_i        N_j: column j, and the k - 1 others of the largest correlation with it
//
// Only columns of positive correlation count; where there are fewer, column j stands for those that are missing. Labels have no part in it.
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
  Index smooth = 1;      // columns that are averaged
  // Per column the `smooth` columns whose mean it becomes, itself first, one list behind the other; empty where smooth is 1.
  std::vector<Index> neighbours;
  bool changes() const { return kind != Kind::none || smooth > 1; }
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
                      Index kept = 0, Index smooth = 1);
Scaling learn_scaling(Scaling::Kind kind, const Dataset& data, Index smooth = 1);  // rows_used

// (x - shift) * factor, then the means. Takes X by value to scale it in place.
Matrix apply_scaling(const Scaling& scaling, Matrix X);

}  // namespace coterie
