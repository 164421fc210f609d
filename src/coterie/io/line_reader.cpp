#include "coterie/io/line_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "coterie/io/text.hpp"

namespace coterie::detail {
namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 18;
constexpr std::size_t read_limit = std::size_t{1} << 30;  // of one call of read or gzread
constexpr std::size_t longest_line = std::size_t{1} << 30;
constexpr double largest_pipe = 2e9;  // bytes, but at most a quarter of the machine's memory
// A gzip file that unpacks to more text than there is memory for tables, and to so many times its size, holds nothing but repetitions.
// Tables have a tenth of that.
constexpr double largest_ratio = 200;

struct Magic {
  std::string_view bytes, what;
};
constexpr std::string_view matlab =
    "a MATLAB file, which is read from a file (no pipe) whose name ends in .mat";
constexpr std::array<Magic, 10> magics = {{
    {"PK\x03\x04", "a zip archive or spreadsheet; export it as CSV"},
    {"PAR1\x15", "a Parquet file; export it as CSV"},
    {"\x89HDF\r\n\x1a\n", "an HDF5 file; give the table of data instead"},
    {"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it first"},
    {"\xfd\x37zXZ", "compressed with xz; decompress it first"},
    {"BZh", "compressed with bzip2; decompress it first"},
    {"\xff\xfe", "UTF-16 text; save it as UTF-8"},
    {"\xfe\xff", "UTF-16 text; save it as UTF-8"},
    {"MATLAB 5.0 MAT-file", matlab},
    {"MATLAB 7.3 MAT-file", matlab},
}};

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

double pipe_limit() { return std::min(largest_pipe, memory_of_machine() / 4); }

std::string gigabytes(double bytes) { return fmt::format("{:.2g} GB", bytes / 1e9); }

}  // namespace

struct LineReader::File {
  int descriptor = -1;
  off_t size = 0;
  gzFile gzip = nullptr;

  ~File() {
    if (gzip != nullptr) {
      gzclose(gzip);  // closes the descriptor
    } else if (descriptor >= 0) {
      close(descriptor);
    }
  }
};

LineReader::LineReader(const std::string& path, double memory)
    : path_(path), memory_(memory), file_(std::make_unique<File>()) {
  File& file = *file_;
  file.descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file.descriptor < 0) {
    if (errno == ENOENT) fail_file("there is no such file. Check the name and the folder.");
    fail_file(fmt::format("cannot be opened: {}.", std::strerror(errno)));
  }
  struct stat status {};
  fstat(file.descriptor, &status);
  if (S_ISDIR(status.st_mode)) fail_file("this is a folder. Name the files in it.");
  is_regular_ = S_ISREG(status.st_mode);
  file.size = status.st_size;

  capacity_ = buffer_size;
  buffer_ = std::make_unique_for_overwrite<char[]>(capacity_);
  if (!is_regular_) keep_in_memory();

  std::array<char, 2> magic{};
  if (pread(file.descriptor, magic.data(), 2, 0) == 2 && is_gzip({magic.data(), 2})) {
    file.gzip = gzdopen(file.descriptor, "rb");
    if (file.gzip == nullptr) fail_file("cannot be read: out of memory.");
    gzbuffer(file.gzip, buffer_size);
  }
  rewind();
}

LineReader::~LineReader() = default;

// A pipe is kept in memory, as it is (compressed, perhaps), to be read again. It may have no end: what is no text is told from its
// first bytes, and the rest has a limit.
void LineReader::keep_in_memory() {
  File pipe;
  std::swap(pipe.descriptor, file_->descriptor);
  File& kept = *file_;
  kept.descriptor = memfd_create("coterie", MFD_CLOEXEC);
  kept.size = 0;
  const auto fail_to_keep = [this] {
    fail_file(fmt::format("cannot be kept in memory: {}.", std::strerror(errno)));
  };
  if (kept.descriptor < 0) fail_to_keep();
  const double limit = pipe_limit();
  for (;;) {
    const ssize_t count = ::read(pipe.descriptor, buffer_.get(), capacity_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_file(fmt::format("cannot be read: {}.", std::strerror(errno)));
    if (count == 0) break;
    if (kept.size == 0) {
      unread_ = buffer_.get();
      filled_ = unread_ + count;
      if (!is_gzip(std::string_view(unread_, count))) check_text();
    }
    for (ssize_t done = 0; done < count;) {
      const ssize_t written = write(kept.descriptor, buffer_.get() + done, count - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_to_keep();
      done += written;
    }
    kept.size += count;
    if (static_cast<double>(kept.size) > limit)
      fail_file(
          fmt::format("more than {} come through this pipe or device, which is the most "
                      "that is kept in memory. Write the data to a file, and name that.",
                      gigabytes(limit)));
  }
  lseek(kept.descriptor, 0, SEEK_SET);  // where gzip begins
}

void LineReader::rewind() {
  if (file_->gzip != nullptr) {
    gzrewind(file_->gzip);
  } else {
    lseek(file_->descriptor, 0, SEEK_SET);
  }
  unread_ = filled_ = buffer_.get();
  line_ = line_end_ = unread_;
  number_ = 0;
  bytes_ = 0;
  fill();
  check_text();
  const std::string_view text(unread_, filled_ - unread_);
  if (text.starts_with("\xef\xbb\xbf")) unread_ += 3;
}

// Adds text to the buffer behind filled_, which grows if it is full. Returns how much.
std::size_t LineReader::fill() {
  if (unread_ > buffer_.get()) {
    const std::size_t kept = filled_ - unread_;
    std::memmove(buffer_.get(), unread_, kept);
    unread_ = buffer_.get();
    filled_ = unread_ + kept;
  }
  const std::size_t kept = filled_ - unread_;
  if (kept == capacity_) {
    const double most = std::clamp(memory_ / 2, 1e6, static_cast<double>(longest_line));
    if (static_cast<double>(capacity_) >= most)
      fail_file(
          fmt::format("line {} has no end within its first {} MB. Check that this is a table, with "
                      "line ends.",
                      number_ + 1, capacity_ >> 20));
    auto larger = std::make_unique_for_overwrite<char[]>(2 * capacity_);
    std::memcpy(larger.get(), buffer_.get(), kept);
    buffer_ = std::move(larger);
    capacity_ *= 2;
    unread_ = buffer_.get();
    filled_ = unread_ + kept;
  }
  const std::size_t room = std::min(capacity_ - kept, read_limit);
  std::ptrdiff_t count = 0;
  if (file_->gzip != nullptr) {
    count = gzread(file_->gzip, filled_, static_cast<unsigned>(room));
    int problem = Z_OK;
    gzerror(file_->gzip, &problem);
    if (count <= 0 && problem == Z_BUF_ERROR) {
      fail_file("the gzip file ends too early. It was cut off; get a whole copy.");
    }
    if (count < 0) fail_file("the gzip file is damaged. Get a new copy.");
  } else {
    do {
      count = ::read(file_->descriptor, filled_, room);
    } while (count < 0 && errno == EINTR);
    if (count < 0) fail_file(fmt::format("cannot be read: {}.", std::strerror(errno)));
  }
  filled_ += count;
  bytes_ += static_cast<double>(count);
  if (file_->gzip != nullptr) check_unpacked();
  return static_cast<std::size_t>(count);
}

// Lines that make no row (blank, comments, columns left out) take no memory, but a gzip file may have them for hours.
void LineReader::check_unpacked() const {
  const double packed = static_cast<double>(gzoffset(file_->gzip));
  if (bytes_ <= memory_ || bytes_ <= largest_ratio * packed) return;
  fail_file(
      fmt::format("this unpacks to more than {}, over {} times its size. Check that it is a table; "
                  "if it is, unpack it first.",
                  gigabytes(memory_), largest_ratio));
}

void LineReader::need(double bytes) const {
  check_table_memory(path_, file_->gzip != nullptr, bytes, memory_);
}

void LineReader::check_text() const {
  const std::string_view text(unread_, filled_ - unread_);
  for (const Magic& magic : magics) {
    if (text.starts_with(magic.bytes)) fail_file(fmt::format("this is {}.", magic.what));
  }
  if (text.substr(0, 4096).find('\0') != std::string_view::npos) {
    fail_file(
        "this is not text: it has NUL bytes. Give a CSV, TSV or LIBSVM file, plain or gzip, or a "
        "MATLAB or IDX "
        "file by its usual name.");
  }
}

bool LineReader::next() {
  std::size_t searched = 0;
  for (;;) {
    const std::size_t length = filled_ - unread_;
    char* newline =
        length == searched
            ? nullptr
            : static_cast<char*>(std::memchr(unread_ + searched, '\n', length - searched));
    searched = length;
    if (newline == nullptr && fill() > 0) continue;
    if (newline == nullptr && unread_ == filled_) return false;
    line_ = unread_;
    line_end_ = newline != nullptr ? newline : filled_;
    unread_ = newline != nullptr ? newline + 1 : filled_;
    if (line_end_ > line_ && line_end_[-1] == '\r') --line_end_;
    ++number_;
    return true;
  }
}

double LineReader::fraction_read() const {
  if (file_->size <= 0) return 0;
  const double done = file_->gzip != nullptr ? static_cast<double>(gzoffset(file_->gzip)) : bytes_;
  return std::clamp(done / static_cast<double>(file_->size), 0.0, 1.0);
}

double LineReader::size() const { return static_cast<double>(file_->size); }

void LineReader::fail(const char* at, const std::string& message) const {
  const auto starts_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  };
  const auto column = 1 + std::count_if(line_, at, starts_character);
  throw InputError(fmt::format("{}:{}:{}: {}", path_, number_, column, message));
}

void LineReader::fail_file(const std::string& message) const {
  throw InputError(fmt::format("{}: {}", path_, message));
}

void check_table_memory(const std::string& path, bool is_gzip, double bytes, double memory) {
  if (bytes <= memory) return;
  throw InputError(
      fmt::format("{}: this {} a table of more than {}, which is the most memory that it may take. "
                  "Use fewer rows or columns, or allow more memory.",
                  path, is_gzip ? "unpacks to" : "is", gigabytes(memory)));
}

Field read_field(const LineReader& reader, const char* at, char delimiter, std::string& scratch) {
  const char* end = reader.end();
  const char* start = at;
  while (start != end && *start == ' ') ++start;
  if (start == end || *start != '"') {
    const void* found = at == end ? nullptr : std::memchr(at, delimiter, end - at);
    const char* after = found != nullptr ? static_cast<const char*>(found) : end;
    return {trim({at, static_cast<std::size_t>(after - at)}), after};
  }
  scratch.clear();
  for (const char* p = start + 1; p != end; ++p) {
    if (*p != '"') {
      scratch += *p;
    } else if (p + 1 != end && p[1] == '"') {
      scratch += *p++;
    } else {
      const char* after = p + 1;
      while (after != end && *after == ' ') ++after;
      if (after == end || *after == delimiter) return {scratch, after};
      reader.fail(after, "text follows a closing quote. Write quotes inside a field twice (\"\").");
    }
  }
  reader.fail(start,
              "the quote opened here is not closed on this line. Close it; a field cannot hold a "
              "line end.");
}

char delimiter_of(const LineReader& reader) {
  std::string_view name = reader.path();
  if (name.ends_with(".gz")) name.remove_suffix(3);
  const bool has_tab = reader.line().find('\t') != std::string_view::npos;
  return name.ends_with(".tsv") || name.ends_with(".tab") || has_tab ? '\t' : ',';
}

}  // namespace coterie::detail
