// A matrix of numbers from a CSV or TSV file without header, such as a precomputed kernel.
#pragma once

#include <string>

#include "coterie/math/types.hpp"

namespace coterie {

// Plain or gzip. Errors are InputErrors "file:line:column: ...".
Matrix read_matrix(const std::string& path);

}  // namespace coterie
