// Sizes of memory, as --memory takes them.
#include "memory.hpp"

#include <cmath>

#include "target.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_memory(Bytes bytes) {
  accepts([&] { require(app::parse_memory(std::string(bytes)) > 0, "a size is positive"); }, false);
}

const Target memory_target("memory", fuzz_memory);

}  // namespace
}  // namespace coterie::fuzz
