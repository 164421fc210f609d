#include "coterie/io/machine.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace coterie {

double memory_of_machine() {
  double bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  double limit = 0;
  std::ifstream file("/sys/fs/cgroup/memory.max");  // holds "max" when there is no limit
  if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  return bytes;
}

double memory_for_tables() { return 0.75 * memory_of_machine(); }

void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
}

void return_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

}  // namespace coterie
