#include "coterie/io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace coterie {
namespace {

[[noreturn]] void fail(const std::string& path, int reason) {
  throw OutputError(fmt::format("{}: cannot be written: {}.", path, std::strerror(reason)));
}

// The name of the temporary file at hand, where a signal handler finds it. Longer names are not remembered; the next run removes them.
std::array<char, 4096> unfinished{};
std::atomic<bool> unfinished_is_set = false;

void remember_unfinished(const std::string& name) {
  unfinished_is_set = false;
  if (name.empty() || name.size() >= unfinished.size()) return;
  std::memcpy(unfinished.data(), name.c_str(), name.size() + 1);
  unfinished_is_set = true;
}

// An open file, removed again unless it was kept.
class OutputFile {
 public:
  OutputFile(const std::string& path, std::string temporary, int descriptor)
      : path_(path), temporary_(std::move(temporary)), descriptor_(descriptor) {
    remember_unfinished(temporary_);
  }
  ~OutputFile() {
    if (!temporary_.empty()) unlink(temporary_.c_str());
    remember_unfinished("");
    if (descriptor_ >= 0) ::close(descriptor_);
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

  void sync() {
    if (fsync(descriptor_) != 0) fail(path_, errno);
  }

  void close() {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail(path_, errno);
  }

  // Before it is closed: until then its lock tells other processes to leave it alone.
  void move_to(const std::string& target) {
    if (rename(temporary_.c_str(), target.c_str()) != 0) fail(path_, errno);
    temporary_.clear();
    remember_unfinished("");
  }

 private:
  const std::string& path_;
  std::string temporary_;
  int descriptor_;
};

// The process in the name of a temporary file; 0: it is not one of ours.
pid_t writer_of(std::string_view name) {
  constexpr std::string_view begin = ".coterie-", end = ".tmp";
  if (!name.starts_with(begin) || !name.ends_with(end)) return 0;
  name.remove_prefix(begin.size());
  name.remove_suffix(end.size());
  const char* const last = name.data() + name.size();
  pid_t process = 0;
  unsigned number = 0;
  const auto first = std::from_chars(name.data(), last, process);
  if (first.ec != std::errc() || first.ptr == last || *first.ptr != '-' || process <= 0) return 0;
  const auto second = std::from_chars(first.ptr + 1, last, number);
  const bool whole = second.ec == std::errc() && second.ptr == last;
  return whole && fmt::format("{}-{}", process, number) == name ? process : 0;
}

bool is_running(pid_t process) { return kill(process, 0) == 0 || errno != ESRCH; }

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Removes a temporary file unless somebody may still be writing it. The number of a process may belong to another one by now, on this
// machine or (folders on a network, containers) on another: a lock counts as well, and in our own process nothing else.
void remove_if_left(const std::string& name, pid_t writer) {
  if (writer != getpid() && is_running(writer)) return;
  const int descriptor = open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return;
  struct stat opened {
  }, named{};
  const bool ours = fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode) &&
                    opened.st_uid == geteuid() && opened.st_nlink == 1;
  if (ours && flock(descriptor, LOCK_EX | LOCK_NB) == 0 && lstat(name.c_str(), &named) == 0 &&
      same_file(opened, named))
    unlink(name.c_str());
  ::close(descriptor);
}

// Once for every folder: a command may write thousands of files into one.
void remove_left_files(const std::filesystem::path& folder) {
  static std::mutex mutex;
  static std::set<std::string> done;
  const std::lock_guard lock(mutex);
  if (!done.insert(folder.string()).second) return;
  std::error_code error;
  std::vector<std::pair<std::string, pid_t>> left;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (const pid_t writer = writer_of(entry->path().filename().native()))
      left.emplace_back(entry->path().string(), writer);
  for (const auto& [name, writer] : left) remove_if_left(name, writer);
}

// A new temporary file, open and locked. Another process that finds it before the lock is there takes it for one that was left: then
// it is that process's to remove, and we make another.
std::pair<std::string, int> make_temporary(const std::filesystem::path& folder,
                                           const std::string& path) {
  static std::atomic<unsigned> counter = 0;
  for (;;) {
    std::string name = (folder / fmt::format(".coterie-{}-{}.tmp", getpid(), counter++)).string();
    const int descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) fail(path, errno);
    const bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK) return {name, descriptor};  // a file system without locks
    struct stat status {};
    if (locked && fstat(descriptor, &status) == 0 && status.st_nlink > 0) return {name, descriptor};
    ::close(descriptor);
  }
}

void write_directly(const std::string& path, const std::function<void(const ByteSink&)>& write) {
  // Standard output is shared, with its position, rather than opened anew.
  const int descriptor = path == "/dev/stdout" ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                               : open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail(path, errno);
  OutputFile file(path, "", descriptor);
  write([&file](std::string_view bytes) { file.write(bytes); });
  file.close();
}

// Makes the rename last through a power cut. Some file systems cannot; the file is whole all the same.
void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

std::string output_target(const std::string& path) {
  std::filesystem::path target = path;
  for (int links = 0;; ++links) {
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) return target.string();  // no link
    if (links == 40) fail(path, ELOOP);
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
}

void discard_unfinished_file() noexcept {
  if (unfinished_is_set) unlink(unfinished.data());
}

bool is_device(const std::string& path) {
  return path.starts_with("/dev/") && !path.starts_with("/dev/shm/");
}

void write_file_atomically(const std::string& path,
                           const std::function<void(const ByteSink&)>& write) {
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    throw OutputError(path + ": cannot be written: this is a folder.");
  if (is_device(path) || (exists && !S_ISREG(status.st_mode))) return write_directly(path, write);
  if (exists && access(path.c_str(), W_OK) != 0) fail(path, errno);

  const std::filesystem::path target = output_target(path);
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  remove_left_files(folder);
  const auto [temporary, descriptor] = make_temporary(folder, path);
  OutputFile file(path, temporary, descriptor);
  if (exists) file.set_mode(status.st_mode & 07777);
  write([&file](std::string_view bytes) { file.write(bytes); });
  file.sync();
  file.move_to(target.string());
  file.close();
  sync_folder(folder);
}

void write_file_atomically(const std::string& path, std::string_view contents) {
  write_file_atomically(path, [contents](const ByteSink& sink) { sink(contents); });
}

}  // namespace coterie
