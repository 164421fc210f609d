#include "coterie/io/mat_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <matio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <vector>

#include "coterie/io/byte_input.hpp"
#include "coterie/io/hdf5_writer.hpp"
#include "coterie/io/mat5_check.hpp"
#include "coterie/math/types.hpp"

namespace coterie::detail {
namespace {

constexpr std::uint32_t compressed = 15;
constexpr double largest_variable = 2147483647;  // bytes, of MATLAB 5

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw InputError(fmt::format("{}: {}", path, message));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return number_; }

 private:
  int number_;
};

struct Tag {
  std::uint32_t type = 0, size = 0;
};

// The elements of a MATLAB 5 file with those that are compressed inflated.
class Mat5Inflater {
 public:
  Mat5Inflater(int file, off_t size, bool swap, const std::string& path)
      : file_(file), size_(size), swap_(swap), path_(path) {}

  bool has_compressed() const {
    for (off_t at = mat_header_size; at < size_;) {
      const Tag tag = tag_at(at);
      if (tag.type == compressed) return true;
      at += 8 + off_t{tag.size};
    }
    return false;
  }

  MemoryFile inflate() const {
    MemoryFile plain;
    copy(plain, 0, mat_header_size);
    for (off_t at = mat_header_size; at < size_;) {
      const Tag tag = tag_at(at);
      if (tag.size > size_ - at - 8) fail_short();
      if (tag.type == compressed) {
        inflate(plain, at + 8, tag.size);
      } else {
        copy(plain, at, 8 + off_t{tag.size});
      }
      at += 8 + off_t{tag.size};
    }
    return plain;
  }

 private:
  [[noreturn]] void fail_short() const {
    fail(path_, "the file ends too early. It was cut off; get a whole copy.");
  }

  void read(off_t at, char* to, std::size_t size) const {
    if (pread(file_, to, size, at) != static_cast<ssize_t>(size)) fail_short();
  }

  Tag tag_at(off_t at) const {
    std::array<std::uint32_t, 2> words{};
    read(at, reinterpret_cast<char*>(words.data()), 8);
    if (swap_) return {__builtin_bswap32(words[0]), __builtin_bswap32(words[1])};
    return {words[0], words[1]};
  }

  void copy(MemoryFile& plain, off_t at, off_t size) const {
    std::vector<char> bytes(static_cast<std::size_t>(std::min<off_t>(size, 1 << 20)));
    for (off_t end = at + size; at < end; at += static_cast<off_t>(bytes.size())) {
      bytes.resize(std::min(bytes.size(), static_cast<std::size_t>(end - at)));
      read(at, bytes.data(), bytes.size());
      plain.append({bytes.data(), bytes.size()});
    }
  }

  void inflate(MemoryFile& plain, off_t at, off_t size) const {
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
    const std::unique_ptr<z_stream, int (*)(z_streamp)> closer(&stream, inflateEnd);
    std::vector<char> in(1 << 16), out(1 << 18);
    int state = Z_OK;
    double total = 0;
    for (const off_t end = at + size; at < end && state == Z_OK;) {
      const std::size_t count = std::min(in.size(), static_cast<std::size_t>(end - at));
      read(at, in.data(), count);
      at += static_cast<off_t>(count);
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(count);
      do {
        stream.next_out = reinterpret_cast<Bytef*>(out.data());
        stream.avail_out = static_cast<uInt>(out.size());
        state = ::inflate(&stream, Z_NO_FLUSH);
        if (state == Z_BUF_ERROR) state = Z_OK;  // wants more
        total += static_cast<double>(out.size() - stream.avail_out);
        if (total > largest_variable)
          fail(path_, "a variable has more than 2 GB. Divide it, or write CSV.");
        plain.append({out.data(), out.size() - stream.avail_out});
      } while (stream.avail_out == 0 && state == Z_OK);
    }
    if (state != Z_STREAM_END || total < 8)
      fail(path_, "the file is damaged: a compressed variable cannot be inflated. Get a new copy.");
    correct_size(plain, static_cast<off_t>(total));
  }

  // The size in the tag of what was just inflated. libmatio 1.5.23 writes 8 too many for texts.
  void correct_size(const MemoryFile& plain, off_t size) const {
    const auto inner = static_cast<std::uint32_t>(size - 8);
    const std::uint32_t word = swap_ ? __builtin_bswap32(inner) : inner;
    const off_t start = lseek(plain.descriptor(), 0, SEEK_CUR) - size;
    if (pwrite(plain.descriptor(), &word, 4, start + 4) != 4) throw std::bad_alloc();
  }

  int file_;
  off_t size_;
  bool swap_;
  const std::string& path_;
};

// How the process that reads HDF5 ends.
enum Mat73Exit : int { converted = 0, unreadable = 2, overpromised = 3, too_large = 4 };

// Whether every dataset is at most as large as the file can hold.
bool sizes_are_possible(const std::string& path, double file_size) {
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  double room = largest_deflate_ratio * file_size;
  const auto visit = [](hid_t root, const char* name, const H5O_info_t* info,
                        void* data) -> herr_t {
    if (info->type != H5O_TYPE_DATASET) return 0;
    const Hdf5Handle dataset(H5Dopen2(root, name, H5P_DEFAULT), H5Dclose);
    const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
    const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
    const double bytes = static_cast<double>(H5Sget_simple_extent_npoints(space)) *
                         static_cast<double>(H5Tget_size(type));
    return bytes > *static_cast<double*>(data) ? 1 : 0;
  };
  return H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, visit, &room, H5O_INFO_BASIC) == 0;
}

bool has_values(const matvar_t& variable) {
  return variable.class_type != MAT_C_STRUCT && variable.class_type != MAT_C_OBJECT &&
         variable.class_type != MAT_C_FUNCTION && variable.class_type != MAT_C_OPAQUE &&
         variable.class_type != MAT_C_EMPTY;
}

// Bytes of the variable in a MATLAB 5 file, about.
double size_of(const matvar_t* variable) {
  if (variable == nullptr) return 8;
  double count = 1;
  for (int k = 0; k < variable->rank; ++k) count *= static_cast<double>(variable->dims[k]);
  double bytes = 64;
  if (variable->class_type != MAT_C_CELL)
    return bytes + count * static_cast<double>(Mat_SizeOfClass(variable->class_type));
  const auto* cells = static_cast<matvar_t* const*>(variable->data);
  for (double k = 0; k < count && cells != nullptr; ++k)
    bytes += size_of(cells[static_cast<std::size_t>(k)]);
  return bytes;
}

// Runs in the process of its own.
int convert_mat73(const std::string& from, const std::string& to, double file_size) {
  if (!sizes_are_possible(from, file_size)) return overpromised;
  mat_t* source = Mat_Open(from.c_str(), MAT_ACC_RDONLY);
  mat_t* target = Mat_CreateVer(to.c_str(), nullptr, MAT_FT_MAT5);
  if (source == nullptr || target == nullptr) return unreadable;
  while (matvar_t* variable = Mat_VarReadNextInfo(source)) {
    if (variable->name == nullptr || !has_values(*variable)) continue;
    if (size_of(variable) > largest_variable) return too_large;
    if (Mat_VarReadDataAll(source, variable) != 0) return unreadable;
    if (size_of(variable) > largest_variable) return too_large;
    if (Mat_VarWrite(target, variable, MAT_COMPRESSION_NONE) != 0) return unreadable;
    Mat_VarFree(variable);
  }
  return Mat_Close(target) == 0 ? converted : unreadable;
}

[[noreturn]] void run_conversion(const std::string& from, const std::string& to, double file_size) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const auto seconds = static_cast<rlim_t>(10 + file_size / 1e6);
  const rlimit processor{seconds, seconds};
  setrlimit(RLIMIT_CPU, &processor);
  for (const int number : {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE})
    signal(number, SIG_DFL);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  int code = unreadable;
  try {
    code = convert_mat73(from, to, file_size);
  } catch (...) {
  }
  _exit(code);
}

MemoryFile read_mat73(const std::string& path, double file_size) {
  MemoryFile plain;
  const std::string to = plain.path();
  const Hdf5Session session;  // no other thread is within HDF5 when the process divides
  const pid_t child = fork();
  if (child < 0) throw std::bad_alloc();
  if (child == 0) run_conversion(path, to, file_size);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : unreadable;
  if (code == overpromised)
    fail(path,
         "the file is damaged: an array promises more than the file can hold. Get a new copy.");
  if (code == too_large) fail(path, "a variable has more than 2 GB. Divide it, or write CSV.");
  if (code != converted)
    fail(path, "the MATLAB 7.3 file cannot be read; it is damaged or unusual. Save it with -v7.");
  return plain;
}

}  // namespace

MatSource::MatSource(const std::string& path) : path_(path) {
  const bool is_gzip =
      ByteInput(path).is_gzip();  // and the usual messages when it cannot be opened
  if (is_gzip)
    fail(path, "this is a gzip file, but MATLAB files are compressed inside. Decompress it first.");
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0)
    fail(path, fmt::format("cannot be opened: {}.", std::strerror(errno)));
  file_size_ = static_cast<double>(status.st_size);
  std::array<char, mat_header_size> header{};
  const ssize_t count = pread(file, header.data(), header.size(), 0);
  if (count == 0) fail(path, "the file is empty. Give a MATLAB file.");
  const std::string_view order(header.data() + mat_header_size - 2, 2);
  const bool is_mat =
      count == static_cast<ssize_t>(mat_header_size) && (order == "IM" || order == "MI");
  if (!is_mat) {
    fail(path,
         "this is no MATLAB file of version 5 or 7.3. Save it in MATLAB with -v7, or check the "
         "name.");
  }
  const bool swap = order == "MI";
  const auto version = static_cast<unsigned char>(header[mat_header_size - (swap ? 4 : 3)]);
  if (version == 2) {
    plain_.emplace(read_mat73(path, file_size_));
    check_mat5(plain_->descriptor(), path);
    return;
  }
  if (version != 1)
    fail(path,
         fmt::format("has version {} of the MATLAB format, which is not known. Save it with -v7.",
                     version));
  const Mat5Inflater inflater(file, status.st_size, swap, path);
  if (inflater.has_compressed()) plain_.emplace(inflater.inflate());
  check_mat5(plain_ ? plain_->descriptor() : static_cast<int>(file), path);
}

}  // namespace coterie::detail
