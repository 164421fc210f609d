#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <utility>

#include "coterie/io/atomic_file.hpp"
#include "messages.hpp"

namespace coterie::app {
namespace {

// Signal handlers can reach nothing else.
std::atomic<Stage> current_stage = Stage::nothing_to_keep;
std::atomic<bool> stop_requested = false;
static_assert(std::atomic<Stage>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

// Of Stage::kept, and not changed while that lasts.
std::string kept_text;
int kept_code = 1;
EmptyKeep made_to_keep;
std::atomic<bool> anything_kept = false;
constexpr suseconds_t patience =
    400'000;                   // microseconds; to give gigabytes back takes as long again
constexpr double grace = 0.7;  // seconds after the time limit

[[noreturn]] void end_from_handler(std::string_view text, int code) {
  discard_unfinished_file();
  write_message(text);
  _exit(code);
}

[[noreturn]] void end_kept() {
  if (anything_kept) end_from_handler(kept_text, kept_code);
  if (!made_to_keep.file.empty()) unlink(made_to_keep.file.c_str());
  if (!made_to_keep.folder.empty()) rmdir(made_to_keep.folder.c_str());
  end_from_handler(kNothingKept, kept_code);
}

void end_in_a_moment() {
  itimerval timer{};
  timer.it_value.tv_usec = patience;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// Of end_in_a_moment after a signal, or of end_after.
void on_alarm(int) {
  const Stage stage = current_stage.load();
  if (stage == Stage::kept) end_kept();
  if (stage == Stage::nothing_to_keep)
    end_from_handler(
        "stopped at the time limit, before there was anything to keep; nothing was written. Raise "
        "--time-limit.\n",
        1);
}

void on_signal(int) {
  switch (current_stage.load()) {
    case Stage::writing:
      stop_requested = true;
      return;
    case Stage::kept:
      if (stop_requested.exchange(true)) end_kept();
      write_message("\nstopping\n");
      end_in_a_moment();
      return;
    case Stage::stoppable:
      if (!stop_requested.exchange(true)) {
        write_message("\nstopping after this step; press Ctrl-C again to end at once\n");
        return;
      }
      [[fallthrough]];
    case Stage::nothing_to_keep:
      end_from_handler("\nstopped; nothing was written\n", 1);
    case Stage::reading_only:
      end_from_handler("\nstopped\n", 1);
    case Stage::replaceable:
      end_from_handler("\nstopped; unfinished files were removed\n", 1);
  }
}

std::size_t terminal_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20;
  return known ? size.ws_col : 80;
}

}  // namespace

void set_stage(Stage stage) { current_stage = stage; }

void set_stage_kept(const std::string& text, int code, const EmptyKeep& made) {
  current_stage = Stage::reading_only;  // a signal at this very moment
  kept_text = text;
  kept_code = code;
  made_to_keep = made;
  current_stage = Stage::kept;
}

void set_stage_kept(const std::string& text, int code) {
  anything_kept = true;
  set_stage_kept(text, code, {});
}

void note_kept() { anything_kept = true; }

bool interrupted() { return stop_requested; }

void end_after(double time_limit_seconds) {
  constexpr double longest = 1e8;  // three years
  const double end = std::min(time_limit_seconds, longest) + grace;
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(end);
  timer.it_value.tv_usec = static_cast<suseconds_t>(1e6 * (end - std::floor(end)));
  timer.it_interval.tv_usec = patience;  // the stage may change
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, nullptr);
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
  if (line_open_) write_message("\r\x1b[K");
  line_open_ = false;
}

void Monitor::show(const std::string& line, bool now) {
  const double since = watch_.seconds() - last_shown_;
  if (quiet_ || (!now && since < (terminal_ ? 0.05 : 1.0))) return;
  last_shown_ = watch_.seconds();
  if (terminal_)
    tell("\r\x1b[K{}", line.substr(0, terminal_width() - 1));
  else
    tell("{}\n", line);
  line_open_ = terminal_;
}

void Monitor::phase(const std::string& what) {
  phase_ = what;
  phase_began_ = watch_.seconds();
  first_gap_ = 0;
  first_done_ = -1;
  show(what, true);
}

bool Monitor::go_on() {
  if (time_limit_seconds_ && watch_.seconds() >= *time_limit_seconds_) timed_out_ = true;
  return !timed_out_ && !interrupted();
}

bool Monitor::share(Index done, Index all, const std::string& unit) {
  const std::lock_guard lock(mutex_);
  if (first_done_ >= 0 && (all != last_all_ || done < last_done_)) {  // a new round
    phase_began_ = watch_.seconds();
    first_done_ = -1;
  }
  last_all_ = all;
  last_done_ = done;
  if (first_done_ < 0) first_done_ = done;
  const double here = watch_.seconds() - phase_began_;
  std::string line = fmt::format("{}: ", phase_);
  if (terminal_ && all > 0) {
    constexpr Index width = 20;
    const auto filled = static_cast<std::size_t>(width * done / all);
    line += fmt::format("[{}{}] ", std::string(filled, '#'),
                        std::string(static_cast<std::size_t>(width) - filled, '.'));
  }
  line += fmt::format("{} of {} {}, {:.0f} s", done, all, unit, here);
  if (done > first_done_ && done < all)
    line +=
        fmt::format(", about {:.0f} s left", std::ceil(here * static_cast<double>(all - done) /
                                                       static_cast<double>(done - first_done_)));
  show(line, false);
  return go_on();
}

bool Monitor::path(Index points, double share, double smallest, double left) {
  const std::lock_guard lock(mutex_);
  const double here = watch_.seconds() - phase_began_;
  std::string line = fmt::format("{}: {} points, ", phase_, points);
  if (share > 0) {
    line += fmt::format("lambda {:.4f} of the largest, {:.0f} s", share, here);
    const double way = std::log(share) / std::log(smallest);
    if (way > 0.02 && way < 1)
      line += fmt::format(", at most about {:.0f} s left for the way down",
                          std::ceil(here * (1 - way) / way));
  } else {
    line += fmt::format("locating merges, {:.0f} s, about {:.0f} s left", here,
                        std::ceil(here * left / static_cast<double>(std::max<Index>(1, points))));
  }
  show(line, false);
  return go_on();
}

// Gaps fall by about the same factor from step to step, or faster: the time left is at most about that of the steps still needed.
std::string Monitor::time_left(const Progress& progress) {
  const double now = watch_.seconds();
  if (progress.groups == 0 || progress.parts > 1 || !(aim_ > 0) || !(progress.gap > aim_))
    return "";
  if (first_gap_ == 0 || progress.gap > first_gap_) {
    first_gap_ = progress.gap;
    first_gap_at_ = now;
    return "";
  }
  const double gained = std::log(first_gap_ / progress.gap);
  if (!(gained > 0.1)) return "";
  const double left = (now - first_gap_at_) * std::log(progress.gap / aim_) / gained;
  return fmt::format(", about {:.0f} s left", std::ceil(left));
}

bool Monitor::step(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  std::string line = fmt::format("{}: ", phase_);
  if (progress.parts > 1) line += fmt::format("part {} of {}, ", progress.part + 1, progress.parts);
  if (std::isinf(progress.primal) || (progress.groups == 0 && progress.primal == 0)) {
    line += fmt::format("first steps, {:.1f} s", watch_.seconds());
  } else {
    line += fmt::format("step {}, objective {:.6g}, gap {:.1e}, ", progress.outer_step,
                        progress.primal, progress.gap);
    if (progress.groups > 0)
      line += fmt::format("{} group{}, ", progress.groups, progress.groups == 1 ? "" : "s");
    line += fmt::format("{:.1f} s", watch_.seconds());
  }
  if (progress.common) line += " (lambda = inf)";
  line += time_left(progress);
  show(line, false);
  return go_on();
}

ProgressCallback Monitor::callback() {
  return [this](const Progress& progress) { return step(progress); };
}

}  // namespace coterie::app
