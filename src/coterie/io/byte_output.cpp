#include "coterie/io/byte_output.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

namespace coterie::detail {
namespace {

class GzipSink {
 public:
  explicit GzipSink(const ByteSink& sink) : sink_(sink) {
    const int gzip_format = 15 + 16;
    if (deflateInit2(&stream_, 6, Z_DEFLATED, gzip_format, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~GzipSink() { deflateEnd(&stream_); }
  GzipSink(const GzipSink&) = delete;
  GzipSink& operator=(const GzipSink&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, 1 << 30);
      stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(part.data()));
      stream_.avail_in = static_cast<uInt>(part.size());
      deflate_all(Z_NO_FLUSH);
      bytes.remove_prefix(part.size());
    }
  }
  void finish() { deflate_all(Z_FINISH); }

 private:
  void deflate_all(int flush) {
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      deflate(&stream_, flush);
      sink_({out_.data(), out_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }

  const ByteSink& sink_;
  z_stream stream_{};
  std::array<char, 1 << 16> out_;
};

}  // namespace

void write_bytes(const std::string& path, const std::function<void(const ByteSink&)>& write) {
  if (!path.ends_with(".gz")) return write_file_atomically(path, write);
  write_file_atomically(path, [&](const ByteSink& sink) {
    GzipSink gzip(sink);
    write([&gzip](std::string_view bytes) { gzip.write(bytes); });
    gzip.finish();
  });
}

}  // namespace coterie::detail
