// Uninitialised memory for many numbers, in large pages where the system has them: rows that lie far apart are then read
// half as fast again, and the first touch costs a fraction.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "coterie/math/types.hpp"

namespace coterie {

inline std::shared_ptr<double[]> large_block(Index count) {
  constexpr std::size_t page = std::size_t{2} << 20;
  const std::size_t bytes =
      (static_cast<std::size_t>(count) * sizeof(double) + page - 1) / page * page;
  void* block = std::aligned_alloc(page, std::max(page, bytes));
  if (!block) throw std::bad_alloc();
#if defined(__linux__)
  madvise(block, bytes, MADV_HUGEPAGE);  // a wish: nothing is lost if it is not granted
#endif
  return {static_cast<double*>(block), [](double* p) { std::free(p); }};
}

}  // namespace coterie
