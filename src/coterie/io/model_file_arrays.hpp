// A model as the arrays of an HDF5 file. Internal to this room.
#pragma once

#include <string>
#include <string_view>

#include "coterie/model/model.hpp"

namespace coterie::detail {

// The file with a user block of zeros, for a model that passes check_model.
std::string write_arrays(const Model& model);

// The model in a file of that version, for check_model to look at: only its lists are known to have lengths that agree. Throws InputError
// that says what is wrong, but not where.
Model read_arrays(std::string_view bytes, int version);

// Throws InputError unless every array holds what may stand in it. The model has groups, and functions of the kind that its method learns.
void check_values(const Model& model);

}  // namespace coterie::detail
