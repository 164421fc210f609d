// parallel.hpp with plain threads, for the thread sanitizer: it knows nothing of how the TBB library, which is compiled without it, hands
// work from one thread to another, and would report that in place of what is ours.
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "coterie/math/parallel.hpp"

namespace coterie {

int thread_count(int threads) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return threads > 0 ? std::min(threads, cores) : cores;
}

void parallel_for(Index count, int threads, const std::function<void(Index)>& body) {
  const int workers = thread_count(threads);
  if (workers == 1 || count < 2) {
    for (Index i = 0; i < count; ++i) body(i);
    return;
  }
  std::atomic<Index> next = 0;
  std::mutex mutex;
  std::exception_ptr problem;
  const auto work = [&] {
    for (Index i; (i = next++) < count;) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!problem) problem = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::jthread> others;
  for (int k = 1; k < workers; ++k) others.emplace_back(work);
  work();
  others.clear();  // waits for them
  if (problem) std::rethrow_exception(problem);
}

}  // namespace coterie
