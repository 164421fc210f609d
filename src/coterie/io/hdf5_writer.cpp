#include "coterie/io/hdf5_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "coterie/io/atomic_file.hpp"
#include "coterie/io/hdf5_reader.hpp"

namespace coterie::detail {
namespace {

constexpr std::size_t kGrowth = std::size_t{1} << 20;  // bytes by which the image grows
constexpr unsigned kLinks = 64;         // links that a group keeps in its header, more than we make
constexpr std::size_t kEndOfFile = 28;  // place of the file's size in superblock 2

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

template <typename T>
T checked(T result) {
  if (result < 0)
    throw OutputError("the HDF5 library could not build the file, probably for lack of memory.");
  return result;
}

// Groups, the root among them: no times, links in the header and room for some.
void set_group_properties(hid_t properties) {
  checked(H5Pset_obj_track_times(properties, false));
  checked(H5Pset_link_phase_change(properties, kLinks, 0));
  checked(H5Pset_est_link_info(properties, 16, 16));
}

}  // namespace

Hdf5Handle::Hdf5Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(checked(id)), closer_(closer) {}

Hdf5Handle::~Hdf5Handle() {
  if (id_ >= 0) closer_(id_);
}

void Hdf5Handle::close() {
  const hid_t id = id_;
  id_ = -1;
  checked(closer_(id));
}

Hdf5Session::Hdf5Session() : lock_(library_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Session::~Hdf5Session() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }

// New memory is zero, so that gaps in the file do not vary.
void* Hdf5Writer::resize(void* data, std::size_t size, H5FD_file_image_op_t, void* image) {
  Image& kept = *static_cast<Image*>(image);
  void* moved = std::realloc(data, std::max<std::size_t>(size, 1));
  if (moved == nullptr) return nullptr;
  kept.data = static_cast<char*>(moved);
  if (size > kept.size) std::memset(kept.data + kept.size, 0, size - kept.size);
  kept.size = size;
  return moved;
}

// The image is taken from the driver's own memory after the file is closed. H5Fget_file_image would be the way, but in HDF5 1.10
// it alters a byte of superblock 2 and leaves its checksum as it was, so that no reader accepts the file.
Hdf5Handle Hdf5Writer::create_file(Image& image) {
  const Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  checked(H5Pset_userblock(creation, kUserBlock));
  set_group_properties(creation);

  H5FD_file_image_callbacks_t callbacks = {};
  callbacks.image_realloc = resize;
  callbacks.image_free = [](void*, H5FD_file_image_op_t, void*) -> herr_t { return 0; };
  callbacks.udata_copy = [](void* data) { return data; };
  callbacks.udata_free = [](void*) -> herr_t { return 0; };
  callbacks.udata = &image;
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  checked(H5Pset_fapl_core(access, kGrowth, false));
  checked(H5Pset_file_image_callbacks(access, &callbacks));
  checked(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18));
  return {H5Fcreate("model", H5F_ACC_TRUNC, creation, access), H5Fclose};
}

Hdf5Writer::Image::~Image() { std::free(data); }

Hdf5Writer::Hdf5Writer() : file_(create_file(image_)) {}

void Hdf5Writer::add_group(const std::string& path) {
  const Hdf5Handle properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  set_group_properties(properties);
  Hdf5Handle(H5Gcreate2(file_, path.c_str(), H5P_DEFAULT, properties, H5P_DEFAULT), H5Gclose)
      .close();
}

void Hdf5Writer::add_array(const std::string& path, hid_t file_type, hid_t memory_type,
                           const std::vector<hsize_t>& shape, const void* values) {
  const Hdf5Handle space(
      H5Screate_simple(static_cast<int>(shape.size()), shape.data(), shape.data()), H5Sclose);
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  checked(H5Pset_obj_track_times(properties, false));
  checked(H5Pset_layout(properties, H5D_CONTIGUOUS));
  checked(H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER));
  Hdf5Handle dataset(
      H5Dcreate2(file_, path.c_str(), file_type, space, H5P_DEFAULT, properties, H5P_DEFAULT),
      H5Dclose);
  const bool empty = std::find(shape.begin(), shape.end(), hsize_t{0}) != shape.end();
  if (!empty) checked(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  dataset.close();
}

void Hdf5Writer::add_texts(const std::string& path, const std::vector<hsize_t>& shape,
                           const std::string* values, std::size_t count) {
  std::size_t length = kSmallestText;
  for (std::size_t i = 0; i < count; ++i) length = std::max(length, values[i].size());
  length = (length + 7) / 8 * 8;  // keeps the numbers that follow aligned
  std::string padded(length * count, '\0');
  for (std::size_t i = 0; i < count; ++i) values[i].copy(padded.data() + i * length, length);
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  checked(H5Tset_size(type, length));
  checked(H5Tset_cset(type, H5T_CSET_UTF8));
  checked(H5Tset_strpad(type, H5T_STR_NULLPAD));
  add_array(path, type, type, shape, padded.data());
}

void Hdf5Writer::add(const std::string& path, double value) {
  add_array(path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {}, &value);
}

void Hdf5Writer::add(const std::string& path, Index value) {
  static_assert(sizeof(Index) == sizeof(std::int64_t));
  add_array(path, H5T_STD_I64LE, H5T_NATIVE_INT64, {}, &value);
}

void Hdf5Writer::add(const std::string& path, const std::string& value) {
  add_texts(path, {}, &value, 1);
}

void Hdf5Writer::add(const std::string& path, const Vector& values) {
  add_array(path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {static_cast<hsize_t>(values.size())},
            values.data());
}

void Hdf5Writer::add(const std::string& path, const Matrix& values) {
  add_array(path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
            {static_cast<hsize_t>(values.rows()), static_cast<hsize_t>(values.cols())},
            values.data());
}

void Hdf5Writer::add(const std::string& path, const std::vector<Index>& values) {
  add_array(path, H5T_STD_I64LE, H5T_NATIVE_INT64, {values.size()}, values.data());
}

void Hdf5Writer::add(const std::string& path, const std::vector<std::string>& values) {
  add_texts(path, {values.size()}, values.data(), values.size());
}

std::string Hdf5Writer::finish() {
  file_.close();
  std::uint64_t size = 0;
  if (image_.size >= kUserBlock + kEndOfFile + sizeof size)
    std::memcpy(&size, image_.data + kUserBlock + kEndOfFile, sizeof size);
  if (size <= kUserBlock || size > image_.size)
    throw OutputError("the HDF5 library built a file of an unknown form.");
  return {image_.data, size};
}

}  // namespace coterie::detail
