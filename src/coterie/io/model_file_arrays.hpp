// A model as the arrays of an HDF5 file: which path holds what. Internal to this room; docs/model-file.md is the list for others.
#pragma once

#include <string>
#include <string_view>

#include "coterie/model/model.hpp"

namespace coterie::detail {

// The file with a user block of zeros, for a model that passes check_model.
std::string write_arrays(const Model& model);

// The model in a file, for check_model to look at: only its lists are known to have lengths that agree. Throws InputError that says
// what is wrong, but not where.
Model read_arrays(std::string_view bytes);

}  // namespace coterie::detail
