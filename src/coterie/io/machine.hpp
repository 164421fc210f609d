// The machine that this runs on.
#pragma once

namespace coterie {

// Bytes of memory, or less where a container has a limit.
double memory_of_machine();

}  // namespace coterie
