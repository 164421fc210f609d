// How a verb runs: what it may use, and who is told. None of this changes a bit of an answer.
#pragma once

#include <functional>
#include <limits>
#include <string>

#include "coterie/mtmkl/fit.hpp"

namespace coterie {

// What a verb is about to do.
enum class Work { preparing, fitting, searching, calibrating };

struct Run {
  int threads = 0;          // 0: all cores
  double memory_bytes = 0;  // to stay within; 0: nine tenths of the machine's
  double time_limit_seconds = std::numeric_limits<double>::infinity();  // then fits end as they are
  ProgressCallback progress = {};                                       // of fits; false stops them
  // Of searches, paths and calibrations: rows, points or folds done, of all; false stops them.
  std::function<bool(Index done, Index all)> share = {};
  std::function<void(Work)> phase = {};
  std::function<void(bool all)> kept = {};  // whether memory holds all kernel values, before a fit
  std::function<void(const std::string& note)> note = {};  // what a user should know, in a sentence
};

// The budget in bytes, and a progress callback that also ends at the time limit, counted from here.
double memory_budget(const Run& run);
ProgressCallback watched(const Run& run);

}  // namespace coterie
