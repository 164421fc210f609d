// Files that are written whole or not at all.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace coterie {

// A file that cannot be written. The text names the file and the reason.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using ByteSink = std::function<void(std::string_view)>;

// The file that writing to `path` makes or replaces: `path` itself, or where a symbolic link leads, whether something is there or not.
// Throws OutputError when links go round in a circle.
std::string output_target(const std::string& path);

// Calls write(sink) once, with a sink that takes the contents piece by piece. They go to a temporary file in the folder of the target,
// which replaces it when all is on disk; a symbolic link stays one. When anything fails, or write throws, `path` stays as it was and the
// temporary file is removed. Devices and pipes, such as /dev/stdout, are written directly. Throws OutputError.
//
// Temporary files are called .coterie-PROCESS-NUMBER.tmp and are locked (flock) while they are written. Those that a killed process
// left in the folder are removed first.
void write_file_atomically(const std::string& path,
                           const std::function<void(const ByteSink&)>& write);
void write_file_atomically(const std::string& path, std::string_view contents);

// Removes the temporary file that is being written at this moment, if there is one. For signal handlers that end the process.
void discard_unfinished_file() noexcept;

// A name that is written to as it is, such as /dev/stdout: nothing there can be replaced by another file.
bool is_device(const std::string& path);

}  // namespace coterie
