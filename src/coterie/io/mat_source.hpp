// A MATLAB file in the one form that libmatio is trusted with. Internal to this room.
//
// libmatio and HDF5 are not made for hostile files. So a MATLAB 5 file (saved with -v6 or -v7) is inflated here, where zlib checks it, and
// its structure is checked (mat5_check.hpp). A MATLAB 7.3 file, which is HDF5, is turned into MATLAB 5 by a process of its own: if
// that crashes or hangs, this one says so.
#pragma once

#include <optional>
#include <string>

#include "coterie/io/memory_file.hpp"

namespace coterie::detail {

inline constexpr std::size_t mat_header_size = 128;

class MatSource {
 public:
  explicit MatSource(const std::string& path);  // throws InputError

  // Of a MATLAB 5 file, sound and without compression.
  std::string path() const { return plain_ ? plain_->path() : path_; }
  double file_size() const { return file_size_; }  // bytes of the file as it was given

 private:
  std::string path_;
  double file_size_ = 0;
  std::optional<MemoryFile> plain_;  // when the file itself has another form
};

}  // namespace coterie::detail
