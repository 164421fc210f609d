#include "idx.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <memory>

namespace coterie::bench {

IdxBytes read_idx(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw InputError(fmt::format("{}: cannot be opened. Check COTERIE_DATA.", path));
  const auto read = [&](unsigned char* to, std::size_t size) {
    if (gzread(file.get(), to, static_cast<unsigned>(size)) != static_cast<int>(size))
      throw InputError(fmt::format("{}: ends too early. Fetch the file again.", path));
  };
  const auto number = [&] {
    unsigned char b[4];
    read(b, 4);
    return Index{b[0]} << 24 | Index{b[1]} << 16 | Index{b[2]} << 8 | Index{b[3]};
  };
  const Index magic = number();
  constexpr Index unsigned_bytes = 0x08;
  if (magic >> 8 != unsigned_bytes || (magic & 0xff) < 1 || (magic & 0xff) > 3)
    throw InputError(fmt::format("{}: is no IDX file of unsigned bytes.", path));
  IdxBytes out;
  out.items = number();
  out.item_size = 1;
  for (Index k = 1; k < (magic & 0xff); ++k) out.item_size *= number();
  if (out.items * out.item_size > Index{1} << 30)
    throw InputError(fmt::format("{}: announces more than 1 GB.", path));
  out.bytes.resize(static_cast<std::size_t>(out.items * out.item_size));
  read(out.bytes.data(), out.bytes.size());
  return out;
}

}  // namespace coterie::bench
