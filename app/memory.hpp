// How much memory a command may use: what --memory says, or most of what the machine has.
#pragma once

#include <string>

namespace coterie::app {

// "512MB", "1.5GB", "800k", or a number of bytes; InputError names the option otherwise.
double parse_memory(const std::string& text);

// Freed memory stays with the process: fits allocate blocks of the same sizes again and again, and fresh pages cost more than the
// numbers that go into them.
void keep_freed_memory();
// Large blocks go back at once, where memory is short.
void return_freed_memory();

}  // namespace coterie::app
