// What commands that write pages share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace coterie::app {

// --page FILE
void add_page_option(CLI::App& command, std::string& path, const std::string& what);

// Throws InputError unless a page can go there; an empty name is fine.
void check_page_output(const std::string& path, const std::string& option,
                       const std::vector<std::string>& inputs);

// "coterie VERB ..." with the arguments that were given, but for the options named; for a shell.
std::string command_again(const CLI::App& command, const std::string& verb,
                          const std::vector<std::string>& without);

}  // namespace coterie::app
