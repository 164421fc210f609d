// Task graphs over tasks of given names.
#include "coterie/io/task_graph.hpp"

#include <cmath>
#include <set>

#include "coterie/io/memory_file.hpp"
#include "target.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_task_graph(Bytes bytes) {
  static const std::vector<std::string> names = {"a",         "b",   "c",       "t1",
                                                 "two words", "x,y", "\xc3\xa4"};
  detail::MemoryFile file;
  file.append(bytes);
  accepts([&] {
    std::set<std::pair<Index, Index>> pairs;
    for (const TaskLink& link : read_task_graph(file.path(), names)) {
      const auto [first, last] = std::minmax(link.t, link.s);
      require(first >= 0 && first < last && last < std::ssize(names), "a link joins two tasks");
      require(std::isfinite(link.weight) && link.weight >= 0, "a weight is a number >= 0");
      require(pairs.emplace(first, last).second, "a pair is linked once");
    }
  });
}

const Target task_graph_target("task_graph", fuzz_task_graph);

}  // namespace
}  // namespace coterie::fuzz
