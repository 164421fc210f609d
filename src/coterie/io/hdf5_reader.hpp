// The arrays in an HDF5 file of the plain form that hdf5_writer.hpp makes. Internal to this room.
//
// A model may come from anyone, and the HDF5 library is not made for hostile files: of 6000 files with one to three bytes of
// metadata altered and the checksums made to match, version 1.10.8 crashed on 52 and hung on 5. So model files never reach it.
// What we write is a small part of the format (HDF5 File Format Specification 2.0, III.A-IV.A), and this reader takes that part only:
//
//   superblock 2 -> root group -> groups (at most three deep) -> contiguous datasets of doubles, 64-bit integers or texts of fixed length, little-endian
//
// Every address and length is checked against the file, and all arrays together are no larger than it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie::detail {

inline constexpr std::size_t kUserBlock = 512;   // bytes in front of the file that are not HDF5's
inline constexpr std::size_t kSmallestText = 8;  // bytes of a text in a file, at least

// Whatever goes wrong is an InputError that says what is wrong but not where: the caller names the file.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(std::string_view file);  // which must outlive the reader
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;

  bool has(const std::string& path) const;

  // A single value.
  double real(const std::string& path) const;
  Index integer(const std::string& path) const;
  std::string text(const std::string& path) const;

  // The length of a list or the rows of a matrix, and lists of a given length.
  Index length(const std::string& path) const;
  Vector reals(const std::string& path, Index length) const;
  std::vector<Index> integers(const std::string& path, Index length) const;
  std::vector<std::string> texts(const std::string& path, Index length) const;

  Matrix matrix(const std::string& path) const;

  // What a file of another layout would hold: an array under another name; arrays joined along their first side, a single value being a
  // list of one; and a list. Those that are not there are left out.
  void rename(const std::string& from, const std::string& to);
  void join(const std::vector<std::string>& parts, const std::string& to);
  void put(const std::string& path, const std::vector<Index>& values);
  void put(const std::string& path, const Vector& values);

 private:
  struct Array {
    enum class Type { real, integer, text };
    Type type = Type::real;
    std::size_t element = 0;           // bytes
    std::vector<std::uint64_t> shape;  // its product times `element` is bytes.size()
    std::string_view bytes;
  };
  friend class Hdf5Parser;
  const Array& find(const std::string& path, Array::Type type, std::size_t rank) const;

  void put(const std::string& path, Array array, std::string bytes);

  std::map<std::string, Array> arrays_;  // by path
  std::deque<std::string> made_;         // bytes that are not in the file
};

}  // namespace coterie::detail
