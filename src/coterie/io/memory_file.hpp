// A file in memory, for libraries that want a path. Internal to this room and the program.
#pragma once

#include <string>
#include <string_view>

namespace coterie::detail {

class MemoryFile {
 public:
  MemoryFile();  // empty; throws std::bad_alloc
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;

  int descriptor() const { return descriptor_; }
  std::string path() const;             // valid as long as this lives, in this process
  void append(std::string_view bytes);  // throws std::bad_alloc

 private:
  int descriptor_;
};

}  // namespace coterie::detail
