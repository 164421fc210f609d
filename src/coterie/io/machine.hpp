// The machine that this runs on.
#pragma once

namespace coterie {

// Bytes of memory, or less where a container has a limit.
double memory_of_machine();

// Bytes that a table may take, unless its reader is told otherwise: three quarters of all. The last one is for pipes.
double memory_for_tables();

}  // namespace coterie
