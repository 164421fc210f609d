// What the targets of journals have in common.
#pragma once

#include <string>

#include "target.hpp"

namespace coterie::fuzz {

// A journal of the run "run" with so many records of numbers, about as many bytes each. A byte stands for a number: small ones as they
// are, others from a list of odd ones, or after 255 eight bytes as they stand.
void write_records(const std::string& path, Bytes bytes, std::size_t records);

}  // namespace coterie::fuzz
