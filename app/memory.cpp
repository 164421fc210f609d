#include "memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace coterie::app {
namespace {

// Bytes of memory, or less where a container has a limit.
double memory_size() {
  double bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  double limit = 0;
  std::ifstream file("/sys/fs/cgroup/memory.max");  // holds "max" when there is no limit
  if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  return bytes;
}

}  // namespace

void check_memory(const Dataset& data, std::size_t kernels) {
  double entries = 0;
  for (const Task& task : data.tasks)
    entries += static_cast<double>(task.size()) * static_cast<double>(task.size());
  const double needed = entries * static_cast<double>(kernels) * sizeof(double);
  const double available = memory_size();
  if (needed <= available) return;
  throw InputError(
      fmt::format("the Gram matrices of {} tasks and {} kernels need {:.1f} GB, and this machine "
                  "has {:.1f} GB. Use fewer rows, tasks or "
                  "kernels.",
                  data.tasks.size(), kernels, needed / 1e9, available / 1e9));
}

}  // namespace coterie::app
