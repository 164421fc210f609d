// What --method means for the other options.
#pragma once

#include <CLI/CLI.hpp>

#include "coterie/mtmkl/settings.hpp"

namespace coterie::app {

// The settings with the scaling that suits the method unless one was given. Throws InputError for settings that break their rules, and for
// options of `command` that were given though the method has no use for them.
TrainSettings resolve_method(TrainSettings settings, const CLI::App& command);

}  // namespace coterie::app
