// NumPy's .npy files, plain or gzip: an array of numbers or texts behind a header. Internal to this room.
//
//   \x93NUMPY, two bytes of version, the length of the header, then a dictionary in Python's words:
//   {'descr': '<f8', 'fortran_order': False, 'shape': (150, 4), }
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coterie/io/byte_input.hpp"
#include "coterie/io/text.hpp"
#include "coterie/math/types.hpp"

namespace coterie::detail {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

bool is_npy_name(const std::string& path);  // .npy or .npy.gz

// The file of labels or tasks that belongs to an array: X-labels.npy beside X.npy.
std::string npy_beside(const std::string& path, std::string_view what);
std::string find_npy_beside(const std::string& path,
                            std::string_view what);  // "": there is none, plain or gzip

class NpyReader {
 public:
  // Reads the header and checks it against the size of the file. Throws InputError "path: byte 27: what was found. What to do."
  explicit NpyReader(const std::string& path);

  const std::vector<Index>& shape() const { return shape_; }
  const std::string& path() const { return input_.path(); }
  std::string describe() const;  // "a 150 x 4 array of type '<f8'"

  // Rows of finite numbers, of an array of two dimensions. `memory`: bytes that they may take.
  Matrix numbers(double memory);
  // How many values it has, of an array with one dimension, or with one row or column.
  Index length() const;
  // Appends the codes of its values, numbers as text; all are printable.
  void names(Dictionary& dictionary, std::vector<Index>& codes, double memory);

  [[noreturn]] void fail(const std::string& message) const { input_.fail(message); }

 private:
  struct Type {
    char kind = 0;         // 'f', 'i', 'u', 'b' numbers, 'U', 'S' texts
    std::size_t size = 0;  // bytes of a value
    bool big = false;      // the first byte counts most
    bool is_text() const { return kind == 'U' || kind == 'S'; }
  };
  class Header;

  void read_header();
  void check_size();
  void read_values(std::vector<unsigned char>& bytes);  // as many as fit
  void check_end();
  std::string name_of(const unsigned char* value) const;

  ByteInput input_;
  double header_bytes_ = 0;  // the magic included
  std::string descr_;
  Type type_;
  bool fortran_order_ = false;
  std::vector<Index> shape_;
};

}  // namespace coterie::detail
