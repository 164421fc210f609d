// The structure of a MATLAB 5 file, checked from end to end before libmatio reads it. Internal to this room.
#pragma once

#include <string>

namespace coterie::detail {

// Every element lies within the one around it, every array has as many values as its dimensions say, cells and structs do not nest
// deeper than a few dozen levels. So no later allocation is larger than the file. The file must have no compressed elements.
// Throws InputError, which calls the file `path`.
void check_mat5(int descriptor, const std::string& path);

}  // namespace coterie::detail
