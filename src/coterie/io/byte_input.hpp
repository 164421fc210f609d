// The bytes of a file, plain or gzip (told by its first bytes, not its name). Internal to this room and the program.
#pragma once

#include <zlib.h>

#include <memory>
#include <string>

#include "coterie/math/types.hpp"

namespace coterie::detail {

// Deflate packs at most 1032 bytes into one: what a compressed file promises beyond that is not in it.
inline constexpr double largest_deflate_ratio = 1032;

class ByteInput {
 public:
  explicit ByteInput(const std::string& path);  // throws InputError: not found, a folder

  // Up to `size` bytes; fewer only at the end of the file.
  std::size_t read(void* to, std::size_t size);

  bool is_gzip() const { return is_gzip_; }
  double size() const { return size_; }  // of the file as it is stored
  double fraction_read() const;
  const std::string& path() const { return path_; }
  [[noreturn]] void fail(const std::string& message) const;  // "path: message"

 private:
  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  bool is_gzip_ = false;
  double size_ = 0;
};

// The first bytes of a regular file, inflated if it is gzip; nothing for other files and those that cannot be opened.
std::string first_bytes(const std::string& path, std::size_t size);

}  // namespace coterie::detail
