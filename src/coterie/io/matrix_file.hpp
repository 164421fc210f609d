// A matrix of numbers from a CSV or TSV file without header or a .npy file, such as a precomputed kernel.
#pragma once

#include <string>

#include "coterie/math/types.hpp"

namespace coterie {

// Plain or gzip. Errors are InputErrors "file:line:column: ...", for .npy files "file: byte 27: ..." or "file: row 3, column 4 ...".
Matrix read_matrix(const std::string& path);

}  // namespace coterie
