// Refuses work that this machine's memory cannot hold, before it starts.
#pragma once

#include "coterie/data/dataset.hpp"

namespace coterie::app {

// Throws InputError when the Gram matrices of `kernels` kernels on all tasks would not fit.
void check_memory(const Dataset& data, std::size_t kernels);

}  // namespace coterie::app
