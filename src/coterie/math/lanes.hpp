// Four doubles that are worked on at once. Plain arithmetic and comparisons between them are the compiler's vector
// extension: wide instructions where the target has them, narrow ones elsewhere.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif
#include <cstring>

#include "coterie/math/types.hpp"

namespace coterie {

constexpr Index kLanes = 4;

using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));
using LaneNumbers = long long __attribute__((vector_size(kLanes * sizeof(double))));

// The smallest multiple of the number of lanes that is at least n.
constexpr Index padded(Index n) { return (n + kLanes - 1) / kLanes * kLanes; }

inline Lanes load(const double* from) {
  Lanes x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
inline void store(double* to, Lanes x) { std::memcpy(to, &x, sizeof x); }
inline Lanes broadcast(double x) { return Lanes{x, x, x, x}; }
inline double sum_of(Lanes x) { return (x[0] + x[2]) + (x[1] + x[3]); }

// While one of these lives, results below the normal range of double become 0 in this thread. Powers of narrow Gaussians
// fall there, where arithmetic is a hundred times slower and nothing of value is left.
class FlushSubnormals {
 public:
#if defined(__SSE__)
  FlushSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040U); }
  ~FlushSubnormals() { _mm_setcsr(before_); }
#else
  FlushSubnormals() = default;
#endif
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
#if defined(__SSE__)
  unsigned before_;
#endif
};

}  // namespace coterie
