#include "coterie/io/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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
constexpr std::uint64_t kLargestRecord = std::uint64_t{1} << 30;

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

// As many bytes as there are, up to `count`.
std::string read_some(int file, std::uint64_t count, const std::string& path) {
  std::string bytes(count, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        ::read(file, bytes.data() + have, std::min<std::size_t>(bytes.size() - have, 1 << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw InputError(fmt::format("{}: cannot be read: {}.", path, std::strerror(errno)));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

[[noreturn]] void fail_damaged(const std::string& path, std::uint64_t place, std::size_t sound,
                               const std::string& what) {
  throw InputError(fmt::format(
      "{0}: the journal is damaged at byte {1}: {2}. To go on with the {3} before it, cut the file "
      "there (truncate -s {1} {0}); to start from scratch, run without `resume`.",
      path, place, what, sound == 1 ? "1 record" : fmt::format("{} records", sound)));
}

}  // namespace

bool Journal::exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Journal::Journal(std::string path, std::string_view run, bool resume) : path_(std::move(path)) {
  try {
    open_file();
    read_records(std::string(kFormat) + framed(run), resume);
  } catch (...) {
    if (file_ >= 0) ::close(file_);
    throw;
  }
}

void Journal::open_file() {
  struct stat status {};
  if (stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw InputError(
        fmt::format("{}: this name is needed for the journal of the run, but it is no regular "
                    "file. Move it away, or choose another `output`.",
                    path_));
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0)
    throw OutputError(fmt::format("{}: cannot be written: {}.", path_, std::strerror(errno)));
  if (flock(file_, LOCK_EX | LOCK_NB) != 0)
    throw InputError(fmt::format(
        "{}: another run is writing this file. Wait for it, or choose another `output`.", path_));
}

// Leaves the file behind its last whole record.
void Journal::read_records(std::string_view begin, bool resume) {
  struct stat status {};
  if (fstat(file_, &status) != 0)
    throw InputError(fmt::format("{}: cannot be read: {}.", path_, std::strerror(errno)));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::string head = read_some(file_, std::min<std::uint64_t>(size, begin.size()), path_);
  const std::string_view format = std::string_view(head).substr(0, kFormat.size());
  if (!kFormat.starts_with(format))
    throw InputError(
        fmt::format("{}: this name is needed for the journal of the run, but the file is something "
                    "else. Move it away, or choose another `output`.",
                    path_));
  if (resume && !begin.starts_with(head))  // the first line may be cut off
    throw InputError(
        fmt::format("{}: it holds a run with other data, options or another version. Run without "
                    "`resume` to start from scratch, or with the options and data of that run.",
                    path_));
  std::uint64_t whole = 0;
  if (resume && size >= begin.size()) {
    whole = begin.size();
    while (size - whole >= kHead) {
      std::uint64_t of_record[2];
      const std::string bytes = read_some(file_, kHead, path_);
      if (bytes.size() < kHead) break;
      std::memcpy(of_record, bytes.data(), kHead);
      const auto [length, sum] = of_record;
      if (length > size - whole - kHead) break;  // cut off
      if (length > kLargestRecord)
        fail_damaged(path_, whole, records_.size(),
                     fmt::format("a record of {} bytes, more than there can be", length));
      std::string record = read_some(file_, length, path_);
      if (record.size() < length) break;
      const bool last = size - whole - kHead == length;
      if (checksum(record) != sum) {
        if (last) break;  // its bytes did not all reach the disk
        fail_damaged(path_, whole, records_.size(),
                     "the checksum of a record is not that of its contents");
      }
      places_.push_back(whole);
      whole += kHead + length;
      records_.push_back(std::move(record));
    }
  }
  if (ftruncate(file_, static_cast<off_t>(whole)) != 0 ||
      lseek(file_, static_cast<off_t>(whole), SEEK_SET) < 0)
    throw OutputError(fmt::format("{}: cannot be written: {}.", path_, std::strerror(errno)));
  if (whole == 0) write(begin);
}

void Journal::refuse(std::size_t record, const std::string& why) const {
  fail_damaged(path_, places_.at(record), record, why);
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
