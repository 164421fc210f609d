// Text on standard error, for all of the program.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace coterie::app {

// What cannot be written there (a full disk, a closed pipe) is lost, and nothing else: no result depends on its messages.
void write_message(std::string_view text) noexcept;

template <typename... Values>
void tell(fmt::format_string<Values...> text, Values&&... values) {
  write_message(fmt::format(text, std::forward<Values>(values)...));
}

// Settings stand between backquotes in texts of the library, under their members' names; here they are options: `task_C` is --task-C.
std::string with_options(const std::string& text);

// Makes the three standard descriptors safe to use, before any file is opened: one that is closed would be given to the next file,
// which would then get our messages. A closed pipe is an error of write, not a signal that ends the program.
void guard_standard_streams();

// Whoever read standard output has seen enough, as `| head` has: the program ends without a word.
struct BrokenPipe {};

// To standard output. These throw BrokenPipe, or OutputError when something there could not be written.
void print_text(std::string_view text);
void check_standard_output();

}  // namespace coterie::app
