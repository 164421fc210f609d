#include "coterie/io/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "coterie/io/atomic_file.hpp"
#include "coterie/math/types.hpp"

namespace coterie {

namespace {

constexpr std::string_view kFormat = "coterie journal 1\n";
constexpr std::size_t kHead = 16;  // length and checksum of a record

// FNV-1a, 64 bits: finds what a crash or a bad disk did, not what a forger did.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

std::string framed(std::string_view record) {
  std::uint64_t head[2] = {record.size(), checksum(record)};
  std::string out(kHead, '\0');
  std::memcpy(out.data(), head, kHead);
  out += record;
  return out;
}

std::string read_all(int file, const std::string& path) {
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file, buffer, sizeof buffer);
    if (count == 0) return bytes;
    if (count < 0) {
      if (errno == EINTR) continue;
      throw InputError(fmt::format("{}: cannot be read: {}.", path, std::strerror(errno)));
    }
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

bool Journal::exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Journal::Journal(std::string path, std::string_view run, bool resume) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0)
    throw OutputError(fmt::format("{}: cannot be written: {}.", path_, std::strerror(errno)));
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    ::close(std::exchange(file_, -1));
    throw InputError(fmt::format(
        "{}: another run is writing this file. Wait for it, or choose another --output.", path_));
  }
  const std::string begin = std::string(kFormat) + framed(run);
  const std::string bytes = read_all(file_, path_);
  std::size_t whole = 0;
  const bool ours =
      bytes.size() < kFormat.size() ? kFormat.starts_with(bytes) : bytes.starts_with(kFormat);
  const bool same =
      bytes.starts_with(begin) || begin.starts_with(bytes);  // or cut off in its first line
  if (!ours || (resume && !same)) {
    ::close(std::exchange(file_, -1));
    throw InputError(
        ours ? fmt::format("{}: it holds a run with other data, options or another version. Run "
                           "without --resume to start anew, or with the options and data of that "
                           "run.",
                           path_)
             : fmt::format("{}: this name is needed for the journal of the run, but the file is "
                           "something else. Move it away, or choose another --output.",
                           path_));
  }
  if (resume && bytes.size() >= begin.size()) {
    whole = begin.size();
    while (bytes.size() - whole >= kHead) {
      std::uint64_t head[2];
      std::memcpy(head, bytes.data() + whole, kHead);
      if (head[0] > bytes.size() - whole - kHead) break;
      std::string record = bytes.substr(whole + kHead, head[0]);
      if (checksum(record) != head[1]) break;
      whole += kHead + head[0];
      records_.push_back(std::move(record));
    }
  }
  if (ftruncate(file_, static_cast<off_t>(whole)) != 0 ||
      lseek(file_, static_cast<off_t>(whole), SEEK_SET) < 0) {
    const std::string why = std::strerror(errno);
    ::close(std::exchange(file_, -1));
    throw OutputError(fmt::format("{}: cannot be written: {}.", path_, why));
  }
  if (whole == 0) write(begin);
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

void Journal::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      throw OutputError(fmt::format("{}: cannot be written: {}.", path_, std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void Journal::append(std::string_view record) { write(framed(record)); }

void Journal::remove() {
  ::unlink(path_.c_str());
  ::close(std::exchange(file_, -1));
}

}  // namespace coterie
