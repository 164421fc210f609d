// The machine that this runs on.
#pragma once

namespace coterie {

// Bytes of memory, or less where a container has a limit.
double memory_of_machine();

// Bytes that a table may take, unless its reader is told otherwise: three quarters of all. The last one is for pipes.
double memory_for_tables();

// Freed memory stays with the process: fits allocate blocks of the same sizes again and again, and fresh pages cost more than the
// numbers that go into them.
void keep_freed_memory();
// Large blocks go back at once, where memory is short.
void return_freed_memory();

}  // namespace coterie
