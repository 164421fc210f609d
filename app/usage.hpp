// What is wrong with a command line, in words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace coterie::app {

// A sentence or two, with the command that helps. `program` has tried to read the command line.
std::string usage_text(const CLI::App& program, const CLI::ParseError& error);

// The name that is nearest to what was typed, if it may be a slip of the hand; else empty.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

// "; did you mean train?", or nothing.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

}  // namespace coterie::app
