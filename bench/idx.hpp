// IDX files (big-endian header, then bytes), plain or gzip: the format of MNIST.
#pragma once

#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie::bench {

struct IdxBytes {
  Index items = 0, item_size = 0;
  std::vector<unsigned char> bytes;  // items * item_size
};

// Throws InputError unless the file is an IDX file of unsigned bytes, complete.
IdxBytes read_idx(const std::string& path);

}  // namespace coterie::bench
