// Long work under Python: it runs on a thread of its own, which never touches the interpreter, while the caller's thread waits without the
// GIL, and with it now and then passes on progress and obeys signals. So a signal is obeyed at once, whatever the work is doing: after
// a moment of grace, work that has not yet come to an end is left behind, and ends by itself where it next asks whether to go on.
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coterie/front/run.hpp"

namespace coterie::python {

namespace py = pybind11;

// What a caller allows, and whom it wants told: progress(dict) may return False to stop, note(text).
struct Resources {
  int threads = 0;
  double memory_bytes = 0;
  py::object progress = py::none(), note = py::none();
};

// The threads of a pool stay behind when a process forks, so a child works alone: with the same bits, as for any number of threads.
inline const pid_t home_process = getpid();
inline int threads_here(int threads) { return getpid() == home_process ? threads : 1; }

// Work that was left behind. The interpreter must not end before it; who does not want to wait interrupts once more.
inline std::atomic<int> left_behind = 0;
inline void wait_for_left_behind() {
  if (getpid() != home_process) return;
  constexpr int interrupted = 130;  // as shells have it
  while (left_behind > 0) {
    if (PyErr_CheckSignals() != 0) _exit(interrupted);
    py::gil_scoped_release release;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// What the work tells, and where it is told to stop.
struct Told {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> stop = false;
  bool done = false, abandoned = false, fresh = false;
  std::string phase;
  std::optional<Progress> step;
  Index share_done = 0, share_all = 0;
  std::vector<std::string> notes;
  std::exception_ptr error;

  template <typename Change>
  bool tell(const Change& change) {
    const std::lock_guard lock(mutex);
    change();
    fresh = true;
    return !stop;
  }
};

inline std::string phase_name(Work work) {
  switch (work) {
    case Work::preparing:
      return "preparing";
    case Work::fitting:
      return "fitting";
    case Work::searching:
      return "searching";
    case Work::calibrating:
      break;
  }
  return "calibrating";
}

inline Run run_telling(const std::shared_ptr<Told>& told, const Resources& resources) {
  Run run;
  run.threads = threads_here(resources.threads);
  run.memory_bytes = resources.memory_bytes;
  run.progress = [told](const Progress& now) { return told->tell([&] { told->step = now; }); };
  run.share = [told](Index done, Index all) {
    return told->tell([&] {
      told->share_done = done;
      told->share_all = all;
    });
  };
  run.phase = [told](Work work) {
    if (!told->tell([&] {
          told->phase = phase_name(work);
          told->step.reset();
          told->share_done = told->share_all = 0;
        }))
      throw Stopped{};
  };
  run.note = [told](const std::string& text) { told->tell([&] { told->notes.push_back(text); }); };
  return run;
}

// The last state, as a dict; nothing new: None.
inline py::object news_of(Told& told) {
  const std::lock_guard lock(told.mutex);
  if (!std::exchange(told.fresh, false)) return py::none();
  py::dict news;
  news["phase"] = told.phase;
  if (told.step) {
    news["step"] = told.step->outer_step;
    news["objective"] = told.step->primal;
    news["gap"] = told.step->gap;
    news["groups"] = told.step->groups;
  }
  if (told.share_all > 0) {
    news["done"] = told.share_done;
    news["all"] = told.share_all;
  }
  return news;
}

// Throws what Python raised: KeyboardInterrupt, or an exception of the caller's callback.
inline void pass_on(Told& told, const Resources& resources) {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (!resources.progress.is_none()) {
    const py::object news = news_of(told);
    if (!news.is_none() && resources.progress(news).is(py::bool_(false))) told.stop = true;
  }
  if (resources.note.is_none()) return;
  std::vector<std::string> notes;
  {
    const std::lock_guard lock(told.mutex);
    notes.swap(told.notes);
  }
  for (const std::string& note : notes) resources.note(note);
}

// The result of the work, which must own all that it uses. Called with the GIL.
template <typename Result>
Result run_job(const Resources& resources, std::function<Result(const Run&)> work) {
  using namespace std::chrono_literals;
  constexpr auto grace = 400ms;
  struct Job {
    std::function<Result(const Run&)> work;
    std::optional<Result> result;
  };
  const auto told = std::make_shared<Told>();
  const auto job = std::make_shared<Job>(Job{std::move(work), {}});
  std::thread worker([told, job, run = run_telling(told, resources)] {
    std::exception_ptr error;
    try {
      job->result = job->work(run);
    } catch (...) {
      error = std::current_exception();
    }
    job->work = nullptr;  // frees what it owns
    const std::lock_guard lock(told->mutex);
    told->error = error;
    told->done = true;
    if (told->abandoned) --left_behind;
    told->changed.notify_all();
  });
  const auto wait = [&](std::chrono::milliseconds time) {
    py::gil_scoped_release release;
    std::unique_lock lock(told->mutex);
    return told->changed.wait_for(lock, time, [&] { return told->done; });
  };
  try {
    while (!wait(50ms)) pass_on(*told, resources);
    pass_on(*told, resources);
  } catch (...) {
    told->stop = true;
    if (!wait(grace)) {
      const std::lock_guard lock(told->mutex);
      if (!told->done) {
        told->abandoned = true;
        ++left_behind;
        worker.detach();
      }
    }
    if (worker.joinable()) worker.join();
    throw;
  }
  {
    py::gil_scoped_release release;
    worker.join();
  }
  if (told->error) std::rethrow_exception(told->error);
  return std::move(*job->result);
}

}  // namespace coterie::python
