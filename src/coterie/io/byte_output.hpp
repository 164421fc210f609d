// Files written whole or not at all (atomic_file.hpp), compressed when their name says so. Internal to this room and the program.
#pragma once

#include <functional>
#include <string>

#include "coterie/io/atomic_file.hpp"

namespace coterie::detail {

// As write_file_atomically; for a name that ends in .gz, in the gzip format, without a time stamp.
void write_bytes(const std::string& path, const std::function<void(const ByteSink&)>& write);

}  // namespace coterie::detail
