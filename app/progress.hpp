// Progress on standard error, Ctrl-C and the time limit.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "coterie/mtmkl/fit.hpp"

namespace coterie::app {

// What SIGINT and SIGTERM do at the moment:
//   nothing_to_keep  say so and end;  stoppable  ask the solver to stop, a second one ends;  writing  wait for the file to be whole.
enum class Stage { nothing_to_keep, stoppable, writing };
void set_stage(Stage stage);
void install_signal_handlers();
bool interrupted();

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
  void clear();                 // before other text
  ProgressCallback callback();  // false after Ctrl-C or past the time limit
  bool timed_out() const { return timed_out_; }

 private:
  bool step(const Progress& progress);
  void show(const std::string& line, bool now);

  bool quiet_, terminal_;
  std::optional<double> time_limit_seconds_;
  Stopwatch watch_;
  double last_shown_ = 0;
  bool line_open_ = false, timed_out_ = false;
  std::string phase_;
  std::mutex mutex_;  // parts of a task graph may report at the same time
};

}  // namespace coterie::app
