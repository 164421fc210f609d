// The grammar of kernels: what is read is written as a name that reads the same; blocks resolve, values are computed.
#include <cmath>

#include "coterie/kernel/kernel.hpp"
#include "target.hpp"

namespace coterie::fuzz {
namespace {

void check_values(const std::vector<Kernel>& list) {
  const std::vector<std::string> features = {"f1", "f2", "f3", "f-4", "a+b"};
  std::vector<Kernel> kernels = expand_each(list, features);
  resolve_columns(kernels, features);
  Vector x(5), z(5);
  x << 0.5, 1, 0, 2, 0.25;
  z << 0, 1.5, 3, 0.125, 1;
  for (const Kernel& kernel : kernels) {
    for (const Index column : kernel.columns)
      require(column >= 0 && column < 5, "columns of a block are those of the data");
    accepts([&] { kernel_value(kernel, x, z); }, false);
  }
}

void fuzz_kernels(Bytes bytes) {
  accepts(
      [&] {
        const std::vector<Kernel> kernels = parse_kernels(bytes);
        require(!kernels.empty(), "a list has kernels");
        std::string all;
        for (const Kernel& kernel : kernels) {
          const std::string name = to_string(kernel);
          require(parse_kernels(name) == std::vector<Kernel>{kernel}, "a name reads as its kernel");
          all += name + ";";
        }
        require(parse_kernels(all) == kernels, "a list of names reads as the kernels");
        require(parse_kernels(to_string(Kernels(kernels))) == kernels,
                "a short list reads as the kernels");
        check_values(kernels);
      },
      false);
}

const Target kernels_target("kernels", fuzz_kernels);

}  // namespace
}  // namespace coterie::fuzz
