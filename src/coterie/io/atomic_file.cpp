#include "coterie/io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace coterie {
namespace {

[[noreturn]] void fail(const std::string& path, int reason) {
  throw OutputError(fmt::format("{}: cannot be written: {}.", path, std::strerror(reason)));
}

// An open file, removed again unless it was kept.
class OutputFile {
 public:
  OutputFile(const std::string& path, std::string temporary, int descriptor)
      : path_(path), temporary_(std::move(temporary)), descriptor_(descriptor) {}
  ~OutputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) unlink(temporary_.c_str());
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count =
          ::write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 30));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail(path_, errno);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  void set_mode(mode_t mode) {
    if (fchmod(descriptor_, mode) != 0) fail(path_, errno);
  }

  void sync_and_close() {
    if (!temporary_.empty() && fsync(descriptor_) != 0) fail(path_, errno);
    if (::close(std::exchange(descriptor_, -1)) != 0) fail(path_, errno);
  }

  void move_to(const std::string& target) {
    if (rename(temporary_.c_str(), target.c_str()) != 0) fail(path_, errno);
    temporary_.clear();
  }

 private:
  const std::string& path_;
  std::string temporary_;
  int descriptor_;
};

void write_directly(const std::string& path, const std::function<void(const ByteSink&)>& write) {
  // Standard output is shared, with its position, rather than opened anew.
  const int descriptor = path == "/dev/stdout" ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                               : open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail(path, errno);
  OutputFile file(path, "", descriptor);
  write([&file](std::string_view bytes) { file.write(bytes); });
  file.sync_and_close();
}

// Makes the rename last through a power cut. Some file systems cannot; the file is whole all the same.
void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

void write_file_atomically(const std::string& path,
                           const std::function<void(const ByteSink&)>& write) {
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    throw OutputError(path + ": cannot be written: this is a folder.");
  if (path.starts_with("/dev/") || (exists && !S_ISREG(status.st_mode)))
    return write_directly(path, write);
  if (exists && access(path.c_str(), W_OK) != 0) fail(path, errno);

  std::error_code ignored;
  std::filesystem::path target = path;
  if (exists) target = std::filesystem::canonical(target, ignored);  // a link stays a link
  if (target.empty()) target = path;
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  static std::atomic<unsigned> counter = 0;
  std::string temporary;
  int descriptor = -1;
  do {
    temporary = (folder / fmt::format(".coterie-{}-{}.tmp", getpid(), counter++)).string();
    descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0) fail(path, errno);

  OutputFile file(path, temporary, descriptor);
  if (exists) file.set_mode(status.st_mode & 07777);
  write([&file](std::string_view bytes) { file.write(bytes); });
  file.sync_and_close();
  file.move_to(target.string());
  sync_folder(folder);
}

void write_file_atomically(const std::string& path, std::string_view contents) {
  write_file_atomically(path, [contents](const ByteSink& sink) { sink(contents); });
}

}  // namespace coterie
