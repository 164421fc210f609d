// How much memory a command may use: what --memory says, or most of what the machine has.
#pragma once

#include <string>

namespace coterie::app {

// "512MB", "1.5GB", "800k", or a number of bytes; InputError names the option otherwise.
double parse_memory(const std::string& text);

}  // namespace coterie::app
