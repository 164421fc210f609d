#include "messages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "coterie/io/atomic_file.hpp"

namespace coterie::app {

void write_message(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void guard_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files: writing fails, and says so
  // In this order each gets the lowest free number, which is its own. Standard output cannot be written then: a result that is lost
  // must be an error.
  for (const auto& [descriptor, mode] :
       {std::pair(STDIN_FILENO, O_RDONLY), std::pair(STDOUT_FILENO, O_RDONLY),
        std::pair(STDERR_FILENO, O_WRONLY)})
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", mode) < 0) return;
}

namespace {

[[noreturn]] void fail_output(int reason) {
  if (reason == EPIPE) throw BrokenPipe{};
  throw OutputError(fmt::format("standard output cannot be written{}.",
                                reason == 0 ? "" : fmt::format(": {}", std::strerror(reason))));
}

}  // namespace

void print_text(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_output(errno);
}

void check_standard_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail_output(errno);
}

std::string with_options(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '`' ? text.find('`', at + 1) : std::string::npos;
    const std::string name = end == std::string::npos ? "" : text.substr(at + 1, end - at - 1);
    const bool is_name = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_';
    });
    if (!is_name) {
      out += text[at++];
      continue;
    }
    out.append("--").append(name);
    std::replace(out.end() - static_cast<std::ptrdiff_t>(name.size()), out.end(), '_', '-');
    at = end + 1;
  }
  return out;
}

}  // namespace coterie::app
