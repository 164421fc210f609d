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

// Calls write(sink) once, with a sink that takes the contents piece by piece. They go to a temporary file in the same folder, which
// replaces `path` when all is on disk. When anything fails, or write throws, `path` stays as it was and the temporary file is removed.
// Devices and pipes, such as /dev/stdout, are written directly. Throws OutputError.
void write_file_atomically(const std::string& path,
                           const std::function<void(const ByteSink&)>& write);
void write_file_atomically(const std::string& path, std::string_view contents);

}  // namespace coterie
