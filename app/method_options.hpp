// What --method means for the other options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "coterie/mtmkl/settings.hpp"

namespace coterie::app {

// Options that the method of these settings has no use for: "--lambda", ...
std::vector<std::string> foreign_options(const TrainSettings& settings);

// The settings with the scaling that suits the method unless one was given. Throws InputError for settings that break their rules, and for
// options of `command` that were given though the method has no use for them.
TrainSettings resolve_method(TrainSettings settings, const CLI::App& command);

}  // namespace coterie::app
