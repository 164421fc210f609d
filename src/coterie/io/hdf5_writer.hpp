// An HDF5 file built in memory, the same bytes for the same values. Internal to this room.
//
// Only the plainest parts of HDF5 are used, so that every reader of HDF5 1.8 or later takes the file and hdf5_reader.hpp can stay
// small: superblock 2, groups with their links in the object header, contiguous datasets of rank 0 to 2, no attributes, filters, times.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <vector>

#include "coterie/math/types.hpp"

namespace coterie::detail {

// Owns an HDF5 object. Construction from a failed call throws OutputError.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*closer)(hid_t));
  ~Hdf5Handle();
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  operator hid_t() const { return id_; }
  void close();  // throws OutputError, where the destructor is silent

 private:
  hid_t id_;
  herr_t (*closer_)(hid_t);
};

// HDF5's C library is not safe for threads: while one of these lives, other threads of this process that use one wait. Nor does
// the library print its errors then.
class Hdf5Session {
 public:
  Hdf5Session();
  ~Hdf5Session();
  Hdf5Session(const Hdf5Session&) = delete;
  Hdf5Session& operator=(const Hdf5Session&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

// Paths are "/group/name"; the group comes first. Throws OutputError when HDF5 fails, for lack of memory.
class Hdf5Writer {
 public:
  Hdf5Writer();

  void add_group(const std::string& path);
  void add(const std::string& path, double value);
  void add(const std::string& path, Index value);
  void add(const std::string& path, const std::string& value);
  void add(const std::string& path, const Vector& values);
  void add(const std::string& path, const Matrix& values);
  void add(const std::string& path, const std::vector<Index>& values);
  void add(const std::string& path, const std::vector<std::string>& values);

  // The file, with a user block of zeros. Nothing can be added after this.
  std::string finish();

 private:
  // The memory that HDF5 sees as a file.
  struct Image {
    char* data = nullptr;
    std::size_t size = 0;
    Image() = default;
    ~Image();
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;
  };
  static void* resize(void* data, std::size_t size, H5FD_file_image_op_t operation, void* image);
  static Hdf5Handle create_file(Image& image);

  void add_array(const std::string& path, hid_t file_type, hid_t memory_type,
                 const std::vector<hsize_t>& shape, const void* values);
  void add_texts(const std::string& path, const std::vector<hsize_t>& shape,
                 const std::string* values, std::size_t count);

  // Released in the opposite order: the file, its memory, the library.
  Hdf5Session session_;
  Image image_;
  Hdf5Handle file_;
};

}  // namespace coterie::detail
