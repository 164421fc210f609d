// Compressed tables. The last byte, even: the bytes are the file, whatever they are. Odd: they are what is in it, and the file may be cut
// or damaged at a place that the byte before names.
#include <zlib.h>

#include "coterie/io/input_file.hpp"
#include "coterie/io/memory_file.hpp"
#include "samples.hpp"

namespace coterie::fuzz {
namespace {

std::string compress_gzip(Bytes bytes, int level) {
  z_stream stream{};
  constexpr int gzip_format = 15 + 16;
  require(deflateInit2(&stream, level, Z_DEFLATED, gzip_format, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          "zlib begins");
  std::string out(deflateBound(&stream, bytes.size()) + 32, '\0');
  std::string in(bytes);
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib compresses");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void fuzz_gzip(Bytes bytes) {
  Choices choices(bytes);
  const std::uint8_t kind = choices.byte();
  std::string contents;
  if (kind % 2 == 0) {
    contents = choices.rest();
  } else {
    const std::size_t place = choices.byte();
    contents = compress_gzip(choices.rest(), (kind & 2) != 0 ? 1 : 0);
    const std::size_t at = contents.size() * place / 256;
    if ((kind & 4) != 0) contents.resize(at);
    if ((kind & 8) != 0 && at < contents.size())
      contents[at] = static_cast<char>(contents[at] ^ 0x10);
    if ((kind & 16) != 0) contents += contents;  // two members are one text
    if ((kind & 32) != 0) contents += "rubbish";
  }
  detail::MemoryFile file;
  file.append(contents);
  accepts([&] { check_samples(read_samples({file.path()}, {.label_required = false})); });
}

const Target gzip_target("gzip", fuzz_gzip);

}  // namespace
}  // namespace coterie::fuzz
