#include "coterie/io/memory_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

namespace coterie::detail {

MemoryFile::MemoryFile() : descriptor_(memfd_create("coterie", MFD_CLOEXEC)) {
  if (descriptor_ < 0) throw std::bad_alloc();
}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

std::string MemoryFile::path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

// NOLINTNEXTLINE(readability-make-member-function-const): it changes the file
void MemoryFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw std::bad_alloc();
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace coterie::detail
