#include "coterie/math/parallel.hpp"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace coterie {

int thread_count(int threads) {
  const int cores = tbb::info::default_concurrency();
  return threads > 0 ? std::min(threads, cores) : cores;
}

namespace {

// One arena for each number of threads, for good: threads that have just left a loop are still awake when the next one starts.
tbb::task_arena& arena_of(int workers) {
  static std::mutex mutex;
  static std::map<int, tbb::task_arena> arenas;
  const std::lock_guard lock(mutex);
  return arenas.try_emplace(workers, workers).first->second;
}

}  // namespace

void parallel_for(Index count, int threads, const std::function<void(Index)>& body) {
  const int workers = thread_count(threads);
  if (workers == 1 || count < 2) {
    for (Index i = 0; i < count; ++i) body(i);
    return;
  }
  arena_of(workers).execute(
      [&] { tbb::parallel_for(Index{0}, count, body, tbb::simple_partitioner()); });
}

}  // namespace coterie
