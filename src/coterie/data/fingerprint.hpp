// A number that tells one dataset from another.
#pragma once

#include <string>

#include "coterie/data/dataset.hpp"

namespace coterie {

// 64 bits, as 16 hexadecimal digits, of every bit of X and all names, rows and labels. Not a defence against forgery.
std::string fingerprint(const Dataset& data);

}  // namespace coterie
