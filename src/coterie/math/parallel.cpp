#include "coterie/math/parallel.hpp"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace coterie {

int thread_count(int threads) {
  const int cores = tbb::info::default_concurrency();
  return threads > 0 ? std::min(threads, cores) : cores;
}

void parallel_for(Index count, int threads, const std::function<void(Index)>& body) {
  const int workers = thread_count(threads);
  if (workers == 1 || count < 2) {
    for (Index i = 0; i < count; ++i) body(i);
    return;
  }
  tbb::task_arena arena(workers);
  arena.execute([&] { tbb::parallel_for(Index{0}, count, body, tbb::simple_partitioner()); });
}

}  // namespace coterie
