#include "coterie/io/model_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "coterie/io/atomic_file.hpp"
#include "coterie/io/hdf5_reader.hpp"
#include "coterie/io/model_file_arrays.hpp"
#include "coterie/io/model_file_check.hpp"
#include "coterie/io/text.hpp"

namespace coterie {
namespace {

using detail::kUserBlock;

constexpr std::string_view kMagic = "coterie model\n";
constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";
constexpr std::size_t kLongestProblem = 500;                     // characters
constexpr std::uint64_t kLargestFile = std::uint64_t{16} << 30;  // bytes

// What the block in front says of the HDF5 part behind it.
struct Frame {
  std::uint64_t version = 0;
  std::uint64_t bytes = 0;
  std::uint64_t crc32 = 0;
};

std::string user_block(const Frame& frame) {
  std::string block = fmt::format("{}version {}\nbytes {}\ncrc32 {:08x}\n", kMagic, frame.version,
                                  frame.bytes, frame.crc32);
  block.resize(kUserBlock, '\0');
  return block;
}

std::uint64_t crc32_of(std::string_view bytes) {
  return crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

[[noreturn]] void fail_damaged(std::string_view name, std::string_view what) {
  throw InputError(fmt::format(
      "{}: is damaged: {}. Copy it again from its source, or train it anew.", name, what));
}

// The number of a line "word number\n", which is taken off the text.
std::uint64_t take_line(std::string_view& text, std::string_view word, int base,
                        std::string_view name) {
  std::uint64_t value = 0;
  const std::size_t end = text.find('\n');
  if (end != text.npos && text.starts_with(word)) {
    const auto [after, problem] =
        std::from_chars(text.data() + word.size(), text.data() + end, value, base);
    if (problem == std::errc() && after == text.data() + end) {
      text.remove_prefix(end + 1);
      return value;
    }
  }
  fail_damaged(name, fmt::format("its first {} bytes are not those of a model", kUserBlock));
}

// `head` is the beginning of a file of `size` bytes.
Frame read_frame(std::string_view head, std::uint64_t size, std::string_view name) {
  if (size == 0) throw InputError(fmt::format("{}: is empty, not a coterie model.", name));
  if (!head.starts_with(kMagic))
    throw InputError(
        fmt::format("{}: is not a coterie model{}. Name a file that train has written.", name,
                    head.starts_with(kHdf5Signature) ? ", but another HDF5 file" : ""));
  std::string_view rest = head.substr(kMagic.size());
  Frame frame;
  frame.version = take_line(rest, "version ", 10, name);
  if (frame.version > kModelVersion)
    throw InputError(
        fmt::format("{}: was written by a newer coterie: model version {}, this program reads up "
                    "to version {}. "
                    "Update the program.",
                    name, frame.version, kModelVersion));
  if (frame.version == 0) fail_damaged(name, "there is no version 0");
  frame.bytes = take_line(rest, "bytes ", 10, name);
  frame.crc32 = take_line(rest, "crc32 ", 16, name);
  if (head.size() < kUserBlock || size - kUserBlock != frame.bytes)
    fail_damaged(name, fmt::format("it has {} bytes, but {} behind its first {} were written", size,
                                   frame.bytes, kUserBlock));
  if (head.substr(0, kUserBlock) != user_block(frame))
    fail_damaged(name, fmt::format("its first {} bytes are not those of a model", kUserBlock));
  return frame;
}

class InputDescriptor {
 public:
  explicit InputDescriptor(const std::string& path)
      : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail(errno);
  }
  ~InputDescriptor() { close(descriptor_); }
  InputDescriptor(const InputDescriptor&) = delete;
  InputDescriptor& operator=(const InputDescriptor&) = delete;

  std::uint64_t size() const {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) fail(errno);
    if (S_ISDIR(status.st_mode))
      throw InputError(fmt::format("{}: this is a folder. Name a model file.", path_));
    if (!S_ISREG(status.st_mode))
      throw InputError(fmt::format("{}: is a device or a pipe. Name a model file.", path_));
    return static_cast<std::uint64_t>(status.st_size);
  }

  // Appends up to `count` bytes, fewer only at the end of the file.
  void read_into(std::string& bytes, std::uint64_t count) const {
    std::size_t have = bytes.size();
    bytes.resize(have + count);
    while (have < bytes.size()) {
      const ssize_t got = ::read(descriptor_, bytes.data() + have,
                                 std::min<std::size_t>(bytes.size() - have, std::size_t{1} << 30));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(errno);
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
  }

 private:
  [[noreturn]] void fail(int reason) const {
    throw InputError(fmt::format("{}: cannot be read: {}.", path_, std::strerror(reason)));
  }

  const std::string& path_;
  int descriptor_;
};

}  // namespace

std::string model_to_bytes(const Model& model) {
  try {
    detail::check_model(model);
    detail::check_scale(model);
  } catch (const InputError& problem) {
    throw InputError(fmt::format("the model cannot be written: {}.", problem.what()));
  }
  std::string bytes = detail::write_arrays(model);
  if (bytes.size() > kLargestFile)
    throw InputError(
        fmt::format("the model cannot be written: it takes {} bytes, more than the {} "
                    "that are allowed.",
                    bytes.size(), kLargestFile));
  const std::string_view part = std::string_view(bytes).substr(kUserBlock);
  bytes.replace(0, kUserBlock, user_block({kModelVersion, part.size(), crc32_of(part)}));
  return bytes;
}

Model model_from_bytes(std::string_view bytes, std::string_view name) {
  const Frame frame = read_frame(bytes.substr(0, kUserBlock), bytes.size(), name);
  if (crc32_of(bytes.substr(kUserBlock)) != frame.crc32)
    fail_damaged(name, "its checksum is not that of its contents");
  try {
    Model model = detail::read_arrays(bytes, static_cast<int>(frame.version));
    detail::check_model(model);
    if (frame.version == kModelVersion) detail::check_scale(model);
    return model;
  } catch (const InputError& problem) {
    std::string_view what = problem.what();  // may quote the file, whatever is in it
    if (what.ends_with('.')) what.remove_suffix(1);
    fail_damaged(name, detail::printable(what, kLongestProblem));
  }
}

void write_model(const Model& model, const std::string& path) {
  write_file_atomically(path, model_to_bytes(model));
}

Model read_model(const std::string& path) {
  const InputDescriptor file(path);
  const std::uint64_t size = file.size();
  std::string bytes;
  file.read_into(bytes, std::min<std::uint64_t>(size, kUserBlock));
  read_frame(bytes, size, path);  // before all of a large file is read in vain
  if (size > kLargestFile)
    throw InputError(
        fmt::format("{}: has {} bytes; a model has at most {}.", path, size, kLargestFile));
  file.read_into(bytes, size - bytes.size());
  return model_from_bytes(bytes, path);
}

}  // namespace coterie
