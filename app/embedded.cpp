#include "embedded.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

extern "C" const char coterie_digits_begin[], coterie_digits_end[];

namespace coterie::app {

EmbeddedFile::EmbeddedFile() : descriptor_(memfd_create("digits.csv.gz", MFD_CLOEXEC)) {
  std::string_view rest(coterie_digits_begin,
                        static_cast<std::size_t>(coterie_digits_end - coterie_digits_begin));
  while (descriptor_ >= 0 && !rest.empty()) {
    const ssize_t count = write(descriptor_, rest.data(), rest.size());
    if (count <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  if (descriptor_ < 0 || !rest.empty())
    throw std::system_error(errno, std::generic_category(), "the embedded data cannot be unpacked");
  path_ = fmt::format("/proc/self/fd/{}", descriptor_);
}

EmbeddedFile::~EmbeddedFile() { close(descriptor_); }

}  // namespace coterie::app
