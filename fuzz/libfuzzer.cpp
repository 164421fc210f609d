// What libFuzzer calls: the one target that is linked into the program.
#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  coterie::fuzz::targets().front().run({reinterpret_cast<const char*>(data), size});
  return 0;
}
