// Model files of versions 1 to 4, read as files of today. Internal to this room.
#pragma once

#include "coterie/io/hdf5_reader.hpp"
#include "coterie/model/model.hpp"

namespace coterie::detail {

inline constexpr int kFirstOfThisLayout = 5;  // version
inline constexpr int kFirstWithNeighbours = 7;

// Certificates of extensions stood apart from that of the training, and the arrays of linear methods in a group of their own. What was
// not there yet stays missing.
void rearrange_old(Hdf5Reader& file);

// What is said by other members, or was always so: the parts of tasks, and the rounding of certificates that state no bound.
void complete_old(const Hdf5Reader& file, Model& model);

}  // namespace coterie::detail
