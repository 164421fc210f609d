#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <utility>

namespace coterie::app {
namespace {

// Signal handlers can reach nothing else.
std::atomic<Stage> current_stage = Stage::nothing_to_keep;
std::atomic<bool> stop_requested = false;
static_assert(std::atomic<Stage>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void say_from_handler(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void on_signal(int) {
  switch (current_stage.load()) {
    case Stage::writing:
      stop_requested = true;
      return;
    case Stage::stoppable:
      if (!stop_requested.exchange(true)) {
        say_from_handler("\nstopping after this step; once more to end at once\n");
        return;
      }
      [[fallthrough]];
    case Stage::nothing_to_keep:
      say_from_handler("\nstopped; nothing was written\n");
      _exit(1);
  }
}

}  // namespace

void set_stage(Stage stage) { current_stage = stage; }

bool interrupted() { return stop_requested; }

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

double Stopwatch::lap() {
  const Clock::time_point now = Clock::now();
  return std::chrono::duration<double>(now - std::exchange(lap_, now)).count();
}

Monitor::Monitor(bool quiet, std::optional<double> time_limit_seconds)
    : quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      time_limit_seconds_(time_limit_seconds) {}

Monitor::~Monitor() { clear(); }

void Monitor::clear() {
  if (line_open_) std::fputs("\r\x1b[K", stderr);
  line_open_ = false;
}

void Monitor::show(const std::string& line, bool now) {
  const double since = watch_.seconds() - last_shown_;
  if (quiet_ || (!now && since < (terminal_ ? 0.05 : 1.0))) return;
  last_shown_ = watch_.seconds();
  if (terminal_)
    fmt::print(stderr, "\r\x1b[K{}", line.substr(0, 79));
  else
    fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
  line_open_ = terminal_;
}

void Monitor::phase(const std::string& what) {
  phase_ = what;
  show(what, true);
}

bool Monitor::step(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  std::string line = fmt::format("{}: ", phase_);
  if (progress.parts > 1) line += fmt::format("part {} of {}, ", progress.part + 1, progress.parts);
  if (progress.groups == 0)
    line += fmt::format("first SVMs, {:.1f} s", watch_.seconds());
  else
    line += fmt::format("step {}, objective {:.6g}, gap {:.1e}, {} group{}, {:.1f} s",
                        progress.outer_step, progress.primal, progress.gap, progress.groups,
                        progress.groups == 1 ? "" : "s", watch_.seconds());
  if (progress.common) line += " (lambda = inf)";
  show(line, false);
  if (time_limit_seconds_ && watch_.seconds() >= *time_limit_seconds_) timed_out_ = true;
  return !timed_out_ && !interrupted();
}

ProgressCallback Monitor::callback() {
  return [this](const Progress& progress) { return step(progress); };
}

}  // namespace coterie::app
