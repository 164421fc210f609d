// What --method means for the other options.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "coterie/model/settings.hpp"

namespace coterie::app {

// Throws InputError for options of `command` that were given though the method, or none of several, has a use for them.
void check_given(const Settings& settings, const CLI::App& command);
void check_given(const std::vector<Settings>& candidates, const CLI::App& command);

}  // namespace coterie::app
