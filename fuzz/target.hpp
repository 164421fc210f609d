// Fuzz targets: functions that take any bytes at all. A file each; CONTRIBUTING.md says how to add one.
//
// A target turns bytes into an input of a reader or a grammar and calls it. Input that is wrong must be refused with an InputError whose
// text can be shown; what is taken must keep the promises of its header. Anything else is a finding: another exception, a crash, an
// assertion, a sanitizer's report, more than 512 MB or ten seconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie::fuzz {

using Bytes = std::string_view;

// Every file of a target defines one of these, which makes it known to the program it is linked into.
struct Target {
  Target(std::string_view its_name, void (*its_run)(Bytes));
  std::string_view name;
  void (*run)(Bytes);
};
const std::vector<Target>& targets();

// Prints what does not hold, and aborts.
void require(bool holds, std::string_view what);

// Of a refusal: not empty, nor endless. `strict`: also printable UTF-8, as contents of files must be made before they are shown.
void check_message(std::string_view text, bool strict);

// Whether the call takes its input. Refuses: it throws an InputError. Other exceptions pass, and end the program.
template <typename F>
bool accepts(F&& call, bool strict = true) {
  try {
    call();
    return true;
  } catch (const InputError& error) {
    check_message(error.what(), strict);
    return false;
  }
}

// Bytes that stand for choices, taken from the end, so that the front of an input is a file as users have it.
class Choices {
 public:
  explicit Choices(Bytes bytes) : left_(bytes) {}
  std::uint8_t byte() {  // 0 when there are none left
    if (left_.empty()) return 0;
    const char last = left_.back();
    left_.remove_suffix(1);
    return static_cast<std::uint8_t>(last);
  }
  bool empty() const { return left_.empty(); }
  Bytes rest() const { return left_; }

 private:
  Bytes left_;
};

std::vector<std::string> split_lines(Bytes bytes, std::size_t count);  // exactly so many

// A folder of this process for files that need a name; it is removed at the end.
const std::string& scratch_folder();
std::string write_scratch(const std::string& name, Bytes bytes);  // its path

}  // namespace coterie::fuzz
