#include "coterie/io/byte_input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace coterie::detail {

ByteInput::ByteInput(const std::string& path) : path_(path), file_(nullptr, gzclose) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) fail("there is no such file. Check the name and the folder.");
    fail(fmt::format("cannot be opened: {}.", std::strerror(errno)));
  }
  struct stat status {};
  fstat(descriptor, &status);
  file_.reset(gzdopen(descriptor, "rb"));
  if (!file_) {
    close(descriptor);
    throw std::bad_alloc();
  }
  if (S_ISDIR(status.st_mode)) fail("this is a folder. Name the files in it.");
  gzbuffer(file_.get(), 1 << 17);
  size_ = static_cast<double>(status.st_size);
  is_gzip_ = gzdirect(file_.get()) == 0;
}

std::size_t ByteInput::read(void* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const auto part = static_cast<unsigned>(std::min(size - done, std::size_t{1} << 30));
    const int count = gzread(file_.get(), static_cast<char*>(to) + done, part);
    int problem = Z_OK;
    gzerror(file_.get(), &problem);
    if (problem == Z_ERRNO) fail(fmt::format("cannot be read: {}.", std::strerror(errno)));
    if (problem == Z_BUF_ERROR)
      fail("the gzip file ends too early. It was cut off; get a whole copy.");
    if (count < 0) fail("the gzip file is damaged. Get a new copy.");
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

double ByteInput::fraction_read() const {
  return size_ > 0 ? std::clamp(static_cast<double>(gzoffset(file_.get())) / size_, 0.0, 1.0) : 0;
}

void ByteInput::fail(const std::string& message) const {
  throw InputError(fmt::format("{}: {}", path_, message));
}

std::string first_bytes(const std::string& path, std::size_t size) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string bytes(size, '\0');
  try {
    bytes.resize(ByteInput(path).read(bytes.data(), size));
  } catch (const InputError&) {
    bytes.clear();
  }
  return bytes;
}

}  // namespace coterie::detail
