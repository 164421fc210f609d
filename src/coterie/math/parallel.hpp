// Loops over independent indices. Every index writes only its own results, so the number of threads changes no bit.
#pragma once

#include <functional>

#include "coterie/math/types.hpp"

namespace coterie {

// Calls body(i) for i = 0 .. count - 1 on at most `threads` threads (0: all cores). Exceptions reach the caller.
void parallel_for(Index count, int threads, const std::function<void(Index)>& body);

// Long loops ask this now and then; false: they throw Stopped, and what they were making is lost.
using KeepGoing = std::function<bool()>;
struct Stopped {};
inline void ask(const KeepGoing& keep_going) {
  if (keep_going && !keep_going()) throw Stopped{};
}

// The number of threads that `threads` stands for: all cores for 0, and never more than those.
int thread_count(int threads);

}  // namespace coterie
