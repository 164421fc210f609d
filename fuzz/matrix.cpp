// Matrices of numbers, such as precomputed kernels.
#include "coterie/io/matrix_file.hpp"
#include "coterie/io/memory_file.hpp"
#include "target.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_matrix(Bytes bytes) {
  detail::MemoryFile file;
  file.append(bytes);
  accepts([&] {
    const Matrix K = read_matrix(file.path());
    require(K.size() > 0, "a matrix has values");
    require(K.allFinite(), "its values are finite");
  });
}

const Target matrix_target("matrix", fuzz_matrix);

}  // namespace
}  // namespace coterie::fuzz
