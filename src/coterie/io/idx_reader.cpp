// IDX files of images and labels (idx_file.hpp). Sizes are checked against the file before anything is allocated.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "coterie/io/byte_input.hpp"
#include "coterie/io/columns.hpp"
#include "coterie/io/idx_file.hpp"
#include "coterie/io/input_file.hpp"
#include "coterie/io/row_buffer.hpp"
#include "coterie/io/text.hpp"

namespace coterie::detail {
namespace {

template <typename Value, typename Bits>
double decode(const unsigned char* bytes) {
  Bits bits = 0;
  for (std::size_t k = 0; k < sizeof(Bits); ++k) bits = static_cast<Bits>(bits << 8 | bytes[k]);
  return static_cast<double>(std::bit_cast<Value>(bits));
}

double decode(const IdxType& type, const unsigned char* bytes) {
  switch (type.code) {
    case 0x08:
      return *bytes;
    case 0x09:
      return static_cast<signed char>(*bytes);
    case 0x0b:
      return decode<std::int16_t, std::uint16_t>(bytes);
    case 0x0c:
      return decode<std::int32_t, std::uint32_t>(bytes);
    case 0x0d:
      return decode<float, std::uint32_t>(bytes);
    default:
      return decode<double, std::uint64_t>(bytes);
  }
}

// An open file behind its header. Its values come item by item.
class IdxReader {
 public:
  explicit IdxReader(const std::string& path) : input_(path) {
    unsigned char magic[4] = {};
    const std::size_t count = input_.read(magic, 4);
    if (count == 0) input_.fail("the file is empty. Give an IDX file.");
    type_ = find_idx_type(magic[2]);
    if (count < 4 || magic[0] != 0 || magic[1] != 0 || type_ == nullptr || magic[3] == 0) {
      input_.fail(fmt::format(
          "this is no IDX file: it starts with the bytes {:02x}, where two zeros, a type and the "
          "number of dimensions should be. Check the name.",
          fmt::join(magic, magic + count, " ")));
    }
    for (int k = 0; k < magic[3]; ++k) {
      unsigned char size[4];
      if (input_.read(size, 4) < 4)
        input_.fail("ends within its header. It was cut off; get a whole copy.");
      shape_.push_back(static_cast<Index>(decode<std::uint32_t, std::uint32_t>(size)));
    }
    check_size();
  }

  bool holds_labels() const { return shape_.size() == 1; }
  Index items() const { return shape_[0]; }
  Index item_size() const { return item_size_; }
  bool is_gzip() const { return input_.is_gzip(); }
  const std::string& path() const { return input_.path(); }
  double fraction_read() const { return input_.fraction_read(); }
  [[noreturn]] void fail(const std::string& message) const { input_.fail(message); }

  void read_item(double* values) {
    if (input_.read(bytes_.data(), bytes_.size()) < bytes_.size()) {
      input_.fail(fmt::format(
          "ends too early: the header promises {}. It was cut off; get a whole copy.", promise()));
    }
    for (Index j = 0; j < item_size_; ++j)
      values[j] = decode(*type_, bytes_.data() + j * type_->size);
  }

  void check_end() {
    char more = 0;
    if (input_.read(&more, 1) != 0) {
      input_.fail(fmt::format(
          "there is more behind the {} that the header promises. Check where the file is from.",
          promise()));
    }
  }

 private:
  std::string promise() const {
    return fmt::format("{} values of type {}", fmt::join(shape_, " x "), type_->name);
  }

  void check_size() {
    double count = 1;
    for (const Index n : shape_) count *= static_cast<double>(n);
    if (std::ranges::find(shape_, 0) != shape_.end())  // else `count` may be infinity times 0
      input_.fail(fmt::format("holds no values: its size is {}.", fmt::join(shape_, " x ")));
    const double bytes =
        4.0 + 4.0 * static_cast<double>(shape_.size()) + count * static_cast<double>(type_->size);
    const double room = input_.size() * (input_.is_gzip() ? largest_deflate_ratio : 1);
    if (bytes > room) {
      input_.fail(
          fmt::format("the header promises {}, but the file has only {} bytes{}. It was cut off or "
                      "damaged; get a whole copy.",
                      promise(), input_.size(), input_.is_gzip() ? " of gzip" : ""));
    }
    item_size_ = 1;  // no overflow: the whole is below 2^63
    for (std::size_t k = 1; k < shape_.size(); ++k) item_size_ *= shape_[k];
    if (item_size_ > std::numeric_limits<int>::max())
      input_.fail(fmt::format("an image of {} values is too large.", item_size_));
    bytes_.resize(static_cast<std::size_t>(item_size_) * type_->size);
  }

  ByteInput input_;
  const IdxType* type_ = nullptr;
  std::vector<Index> shape_;
  Index item_size_ = 1;
  std::vector<unsigned char> bytes_;  // of an item
};

// The labels of an images file by the usual name, whatever their type, plain or gzip. Nothing: there are none.
std::string labels_beside(const std::string& images) {
  const std::optional<IdxName> name = parse_idx_name(images);
  if (!name) return {};
  std::error_code ignored;
  std::string usual = name->labels(name->type);
  if (std::filesystem::exists(usual, ignored)) return usual;
  std::set<std::string> found;
  for (const IdxType& type : idx_types) {
    const std::string path = name->labels(&type);
    const std::string other =
        path.ends_with(".gz") ? path.substr(0, path.size() - 3) : path + ".gz";
    for (const std::string& candidate : {path, other}) {
      if (std::filesystem::exists(candidate, ignored)) found.insert(candidate);
    }
  }
  if (found.size() > 1) {
    throw InputError(
        fmt::format("{}: several files could be its labels: {}. Name the right one after it.",
                    images, fmt::join(found, ", ")));
  }
  return found.empty() ? "" : *found.begin();
}

struct IdxPair {
  InputFile images;
  std::string labels;  // nothing: there are none
};

// A file of one dimension holds the labels of the images named before it.
std::vector<IdxPair> pair_files(const std::vector<InputFile>& files, bool label_required) {
  std::vector<IdxPair> pairs;
  for (const InputFile& file : files) {
    if (!IdxReader(file.path).holds_labels()) {
      pairs.push_back({file, ""});
    } else if (!pairs.empty() && pairs.back().labels.empty()) {
      pairs.back().labels = file.path;
    } else {
      throw InputError(fmt::format(
          "{}: has one dimension, as labels do. Name the file of images, and its labels after it.",
          file.path));
    }
  }
  for (IdxPair& pair : pairs) {
    if (pair.labels.empty()) pair.labels = labels_beside(pair.images.path);
    if (pair.labels.empty() && label_required) {
      const std::optional<IdxName> name = parse_idx_name(pair.images.path);
      throw InputError(fmt::format(
          "{}: its labels are not beside it{}. Name the file of labels after it.", pair.images.path,
          name ? fmt::format(", as {}", name->labels(name->type)) : ""));
    }
    const std::optional<IdxName> name = parse_idx_name(pair.images.path);
    if (!pair.images.task_given && name) pair.images.task = name->data_set();
    if (!pair.images.task_given && pairs.size() == 1) pair.images.task.clear();
  }
  return pairs;
}

void read_labels(const std::string& path, const IdxReader& images, Dictionary& names,
                 std::vector<Index>& codes) {
  IdxReader reader(path);
  if (!reader.holds_labels() || reader.items() != images.items()) {
    reader.fail(fmt::format("holds {} {}, but {} holds {} images. Give the labels of these images.",
                            reader.items(), reader.holds_labels() ? "labels" : "images",
                            images.path(), images.items()));
  }
  for (Index i = 0; i < reader.items(); ++i) {
    double value = 0;
    reader.read_item(&value);
    if (!std::isfinite(value))
      reader.fail(fmt::format("label {} is {}. Correct it.", i + 1, value));
    codes.push_back(names.code(fmt::format("{}", value)));
  }
  reader.check_end();
}

}  // namespace

Samples read_idx_files(const std::vector<InputFile>& files, const TableOptions& options) {
  if (options.task) {
    throw InputError(
        fmt::format("{}: an IDX file has no task column '{}'. Name the task as in {}:name.",
                    files.front().path, *options.task, files.front().path));
  }
  const std::vector<IdxPair> pairs = pair_files(files, options.label_required);
  std::vector<InputFile> images;
  for (const IdxPair& pair : pairs) images.push_back(pair.images);
  check_file_tasks(images);

  Samples samples;
  Dictionary labels, tasks;
  std::unique_ptr<RowBuffer> rows;
  double images_in_all = 0;
  for (const IdxPair& pair : pairs) {
    IdxReader reader(pair.images.path);
    images_in_all += static_cast<double>(reader.items());
    check_table_memory(pair.images.path, reader.is_gzip(),
                       8 * images_in_all * static_cast<double>(reader.item_size() + 4),
                       pair.images.memory);
    if (!rows) rows = std::make_unique<RowBuffer>(reader.item_size());
    if (reader.item_size() != rows->columns()) {
      reader.fail(fmt::format(
          "its images have {} values, but those of {} have {}. All files need images of one size.",
          reader.item_size(), pairs.front().images.path, rows->columns()));
    }
    if (pair.labels.empty() != pairs.front().labels.empty()) {
      throw InputError(
          fmt::format("of {} and {} only one has labels. Give those of all files or of none.",
                      pairs.front().images.path, reader.path()));
    }
    if (!pair.labels.empty()) read_labels(pair.labels, reader, labels, samples.label);
    for (Index i = 0; i < reader.items(); ++i) {
      if (rows->is_full()) rows->grow(pairs.size() == 1 ? reader.fraction_read() : 0);
      double* row = rows->add_row();
      reader.read_item(row);
      for (Index j = 0; j < rows->columns(); ++j) {
        if (!std::isfinite(row[j]))
          reader.fail(
              fmt::format("value {} of image {} {}", j + 1, i + 1, describe_not_finite(row[j])));
      }
      if (!pair.images.task.empty()) samples.task.push_back(tasks.code(pair.images.task));
    }
    reader.check_end();
  }
  samples.X = rows->take();
  samples.features = numbered_features(samples.X.cols());
  finish_samples(samples, labels, tasks, files.front().path, options);
  return samples;
}

}  // namespace coterie::detail
