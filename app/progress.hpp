// Progress on standard error, Ctrl-C and the time limit.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "coterie/mtmkl/fit.hpp"

namespace coterie::app {

// What SIGINT and SIGTERM do at the moment:
//   nothing_to_keep  say so and end;  stoppable  ask the solver to stop, a second one ends;  kept  the same, but what was done is in a
//   file: if the solver has not stopped by itself soon after, end all the same;  reading_only  end: nothing is written, or no more;
//   replaceable  end, and remove the file that is being written;  writing  wait for the file to be whole.
enum class Stage { nothing_to_keep, stoppable, kept, reading_only, replaceable, writing };
void set_stage(Stage stage);
// Stage::kept: what to say when it ends, and with which exit code.
void set_stage_kept(const std::string& text, int code);
// The same before anything has been kept: until note_kept() it says that nothing was, and removes what was made for it.
struct EmptyKeep {
  std::string file = {}, folder = {};  // "": none
};
void set_stage_kept(const std::string& text, int code, const EmptyKeep& made);
void note_kept();
inline constexpr const char* kNothingKept =
    "stopped before the first part of the work was done; nothing was written.\n";
void install_signal_handlers();
bool interrupted();
// Solvers watch the time limit themselves. If it passes where there is no solver, or what was done is in a file, end soon after.
void end_after(double time_limit_seconds);

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double lap();  // seconds since the last lap or the start

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now(), lap_ = start_;
};

// One updating line on a terminal, plain lines (at most one a second) in a log, nothing when quiet.
class Monitor {
 public:
  explicit Monitor(bool quiet, std::optional<double> time_limit_seconds = {});
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  void phase(const std::string& what);
  void clear();                         // before other text
  void aim(double gap) { aim_ = gap; }  // where fits end, for the time left
  ProgressCallback callback();          // false after Ctrl-C or past the time limit
  bool share(Index done, Index all,
             const std::string& unit);  // as the callback; a bar on a terminal
  // On the way down from share 1; share 0: so many points are left.
  bool path(Index points, double share, double smallest, double left);
  bool timed_out() const { return timed_out_; }

 private:
  bool step(const Progress& progress);
  bool go_on();
  std::string time_left(const Progress& progress);
  void show(const std::string& line, bool now);

  bool quiet_, terminal_;
  std::optional<double> time_limit_seconds_;
  Stopwatch watch_;
  double last_shown_ = 0;
  double phase_began_ = 0;
  double aim_ = 0, first_gap_ = 0, first_gap_at_ = 0;
  Index first_done_ = 0;  // of a share that began in an earlier run
  Index last_done_ = 0, last_all_ = 0;
  bool line_open_ = false, timed_out_ = false;
  std::string phase_;
  std::mutex mutex_;  // parts of a task graph may report at the same time
};

}  // namespace coterie::app
