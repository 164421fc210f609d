#include "coterie/io/hdf5_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace coterie::detail {

static_assert(std::endian::native == std::endian::little, "values are copied as they stand");

namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kNowhere = ~std::uint64_t{0};  // the undefined address
constexpr std::uint64_t kLargestHeader = 1 << 16;      // bytes of a block of an object header
constexpr std::size_t kMostBlocks = 16;                // of one object header
constexpr std::size_t kMostLinks = 128;                // of one group
constexpr int kDeepest = 3;                 // groups within each other: /first_stage/pooled/tasks
constexpr std::size_t kMostObjects = 2000;  // of a file; a model within a model has some seventy

// Types of header messages.
enum Message : std::uint8_t {
  kNothing = 0x00,
  kDataspace = 0x01,
  kLinkInfo = 0x02,
  kDatatype = 0x03,
  kFillValue = 0x05,
  kLink = 0x06,
  kLayout = 0x08,
  kGroupInfo = 0x0a,
  kContinuation = 0x10
};

// Datatypes as they are stored, without the version in the upper half of the first byte.
constexpr std::string_view kReal =
    "\x01\x20\x3f\x00\x08\x00\x00\x00\x00\x00\x40\x00\x34\x0b\x00\x34\xff\x03\x00\x00"sv;
constexpr std::string_view kInteger = "\x00\x08\x00\x00\x08\x00\x00\x00\x00\x00\x40\x00"sv;
constexpr std::string_view kText =
    "\x03\x11\x00\x00"sv;  // padded with zeros, UTF-8; the length follows

[[noreturn]] void fail(std::string_view what) {
  throw InputError(fmt::format("its HDF5 structure has {}", what));
}

void require(bool holds, std::string_view otherwise) {
  if (!holds) fail(otherwise);
}

// Reads forwards through bytes, never past their end.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : left_(bytes) {}

  std::string_view take(std::uint64_t count) {
    require(count <= left_.size(), "a part that runs past its end");
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, take(bytes).data(), bytes);
    return value;
  }
  std::size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
};

using Messages =
    std::vector<std::pair<std::uint8_t, std::string_view>>;  // type and body of messages

}  // namespace

class Hdf5Parser {
 public:
  using Array = Hdf5Reader::Array;

  explicit Hdf5Parser(std::string_view file) {
    require(file.size() >= kUserBlock, "no beginning");
    file_ = file.substr(kUserBlock);
  }

  std::map<std::string, Array> parse() const {
    Contents contents;
    for (const auto& [group, address] : links(header(root_address())))
      read_group("/" + group, header(address), 1, contents);
    return std::move(contents.arrays);
  }

 private:
  struct Contents {
    std::map<std::string, Array> arrays;
    std::size_t bytes = 0, objects = 0;
  };

  // The datasets of a group, and of the groups within it: a model may hold models.
  void read_group(const std::string& path, const Messages& group, int depth,
                  Contents& contents) const {
    for (const auto& [name, address] : links(group)) {
      require(++contents.objects <= kMostObjects, "too many objects");  // links may go in circles
      const Messages member = header(address);
      if (std::ranges::any_of(member,
                              [](const auto& message) { return message.first == kLinkInfo; })) {
        require(depth < kDeepest, "groups within groups within groups");
        read_group(path + "/" + name, member, depth + 1, contents);
        continue;
      }
      const Array found = array(member);
      require(found.bytes.size() <= file_.size() - contents.bytes,
              "datasets that share their values");
      contents.bytes += found.bytes.size();
      contents.arrays.emplace(path + "/" + name, found);
    }
  }

  // Addresses count from the end of the user block.
  Cursor at(std::uint64_t address) const {
    require(address <= file_.size(), "an address outside the file");
    return Cursor(file_.substr(address));
  }

  std::uint64_t root_address() const {
    Cursor cursor = at(0);
    require(cursor.take(8) == "\x89HDF\r\n\x1a\n"sv, "no HDF5 signature");
    require(cursor.take(4) == "\x02\x08\x08\x00"sv, "an unknown superblock");  // version 2
    require(cursor.number(8) == kUserBlock, "a wrong base address");
    require(cursor.number(8) == kNowhere, "an extended superblock");
    require(cursor.number(8) == kUserBlock + file_.size(), "a wrong size");
    return cursor.number(8);
  }

  // Messages of an object header of version 2, which may go on in other blocks.
  Messages header(std::uint64_t address) const {
    Cursor cursor = at(address);
    require(cursor.take(5) == "OHDR\x02"sv, "an unknown object header");
    const std::uint64_t flags = cursor.number(1);  // 0 to 3: nothing but the width of the length
    require(flags < 4, "an unknown object header");
    const std::uint64_t length = cursor.number(std::size_t{1} << flags);
    require(length <= kLargestHeader, "too large an object header");
    std::vector<std::string_view> blocks = {cursor.take(length)};
    Messages messages;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      Cursor block(blocks[b]);
      while (block.left() >= 4) {
        const auto type = static_cast<std::uint8_t>(block.number(1));
        const std::uint64_t size = block.number(2);
        require((block.number(1) & 2) == 0, "a shared message");
        const std::string_view body = block.take(size);
        if (type == kContinuation) {
          require(blocks.size() < kMostBlocks, "too large an object header");
          blocks.push_back(continuation(body));
        } else if (type != kNothing) {
          messages.emplace_back(type, body);
        }
      }
    }
    return messages;
  }

  std::string_view continuation(std::string_view body) const {
    Cursor cursor(body);
    Cursor block = at(cursor.number(8));
    const std::uint64_t length = cursor.number(8);
    require(length >= 8 && length <= kLargestHeader, "an object header of impossible length");
    require(block.take(4) == "OCHK"sv, "an unknown object header");
    return block.take(length - 8);  // without signature and checksum
  }

  // Names and addresses of a group's members; names are all different.
  std::map<std::string, std::uint64_t> links(const Messages& messages) const {
    std::map<std::string, std::uint64_t> members;
    for (const auto& [type, body] : messages) {
      Cursor cursor(body);
      if (type == kLinkInfo) {
        require(cursor.take(2) == "\x00\x00"sv && cursor.number(8) == kNowhere, "an unknown group");
      } else if (type == kLink) {
        require(cursor.number(1) == 1, "an unknown link");
        const std::uint64_t flags = cursor.number(1);
        require(flags < 4, "a link that is not plain");  // as in headers; soft links have more
        const std::string_view name = cursor.take(cursor.number(std::size_t{1} << flags));
        require(members.size() < kMostLinks, "too many links");
        require(members.emplace(name, cursor.number(8)).second, "a link twice");
      } else {
        require(type == kGroupInfo, "something that is no group where one should be");
      }
    }
    return members;
  }

  Array array(const Messages& messages) const {
    std::map<std::uint8_t, std::string_view> bodies;
    for (const auto& [type, body] : messages) {
      require(type == kDataspace || type == kDatatype || type == kFillValue || type == kLayout,
              "a dataset with more than plain values");
      require(bodies.emplace(type, body).second, "a dataset described twice");
    }
    require(bodies.contains(kDataspace) && bodies.contains(kDatatype) && bodies.contains(kLayout),
            "an incomplete dataset");
    Array result;
    read_type(bodies[kDatatype], result);
    const std::uint64_t count = read_shape(bodies[kDataspace], result);
    read_values(bodies[kLayout], count, result);
    return result;
  }

  void read_type(std::string_view body, Array& array) const {
    require(!body.empty(), "an unknown type of data");
    std::string type(body);
    const int version = static_cast<unsigned char>(type[0]) >> 4;
    require(version >= 1 && version <= 3, "an unknown type of data");  // alike for these types
    type[0] = static_cast<char>(type[0] & 0x0f);
    array.element = 8;
    if (type == kReal) {
      array.type = Array::Type::real;
    } else if (type == kInteger) {
      array.type = Array::Type::integer;
    } else {
      require(type.size() == 8 && type.starts_with(kText), "an unknown type of data");
      array.type = Array::Type::text;
      array.element = Cursor(body.substr(4)).number(4);
      require(array.element >= kSmallestText, "texts that are too short");
    }
  }

  // Returns the number of elements.
  std::uint64_t read_shape(std::string_view body, Array& array) const {
    Cursor cursor(body);
    require(cursor.number(1) == 2, "an unknown shape of data");
    const std::uint64_t rank = cursor.number(1), has_limits = cursor.number(1);
    const std::uint64_t kind = cursor.number(1);  // 0: one value; 1: an array
    require(rank <= 2 && has_limits <= 1 && kind == (rank > 0 ? 1 : 0), "an unknown shape of data");
    std::uint64_t count = 1;
    for (std::uint64_t i = 0; i < rank; ++i) {
      const std::uint64_t extent = cursor.number(8);
      require(extent <= file_.size(), "a dataset larger than the file");
      require(extent == 0 || count <= file_.size() / extent, "a dataset larger than the file");
      count *= extent;
      array.shape.push_back(extent);
    }
    return count;
  }

  void read_values(std::string_view body, std::uint64_t count, Array& array) const {
    Cursor cursor(body);
    require(cursor.take(2) == "\x03\x01"sv, "a dataset that is not contiguous");
    const std::uint64_t address = cursor.number(8), size = cursor.number(8);
    require(count <= file_.size() / array.element, "a dataset larger than the file");
    require(size == count * array.element, "a dataset of the wrong size");
    if (size > 0) array.bytes = at(address).take(size);
  }

  std::string_view file_;  // what follows the user block
};

Hdf5Reader::Hdf5Reader(std::string_view file) : arrays_(Hdf5Parser(file).parse()) {}

const Hdf5Reader::Array& Hdf5Reader::find(const std::string& path, Array::Type type,
                                          std::size_t rank) const {
  const auto found = arrays_.find(path);
  if (found == arrays_.end()) throw InputError(fmt::format("{} is missing", path));
  if (found->second.type != type || found->second.shape.size() != rank)
    throw InputError(fmt::format("{} is not of the right type and rank", path));
  return found->second;
}

namespace {

// Both ways of a copy may be empty and have no address.
void copy(std::string_view bytes, void* to) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

std::string unpadded(std::string_view text) {
  const std::size_t last = text.find_last_not_of('\0');
  return std::string(text.substr(0, last == text.npos ? 0 : last + 1));
}

void check_length(const std::string& path, std::uint64_t found, Index expected) {
  if (found != static_cast<std::uint64_t>(expected))
    throw InputError(fmt::format("{} has {} values, not {}", path, found, expected));
}

}  // namespace

bool Hdf5Reader::has(const std::string& path) const { return arrays_.contains(path); }

double Hdf5Reader::real(const std::string& path) const {
  double value = 0;
  copy(find(path, Array::Type::real, 0).bytes, &value);
  return value;
}

Index Hdf5Reader::integer(const std::string& path) const {
  Index value = 0;
  copy(find(path, Array::Type::integer, 0).bytes, &value);
  return value;
}

std::string Hdf5Reader::text(const std::string& path) const {
  return unpadded(find(path, Array::Type::text, 0).bytes);
}

Index Hdf5Reader::length(const std::string& path) const {
  const auto found = arrays_.find(path);
  if (found == arrays_.end()) throw InputError(fmt::format("{} is missing", path));
  if (found->second.shape.empty()) throw InputError(fmt::format("{} is not a list", path));
  return static_cast<Index>(found->second.shape[0]);
}

Vector Hdf5Reader::reals(const std::string& path, Index length) const {
  const Array& array = find(path, Array::Type::real, 1);
  check_length(path, array.shape[0], length);
  Vector values(length);
  copy(array.bytes, values.data());
  return values;
}

std::vector<Index> Hdf5Reader::integers(const std::string& path, Index length) const {
  const Array& array = find(path, Array::Type::integer, 1);
  check_length(path, array.shape[0], length);
  std::vector<Index> values(static_cast<std::size_t>(length));
  copy(array.bytes, values.data());
  return values;
}

std::vector<std::string> Hdf5Reader::texts(const std::string& path, Index length) const {
  const Array& array = find(path, Array::Type::text, 1);
  check_length(path, array.shape[0], length);
  std::vector<std::string> values;
  values.reserve(array.shape[0]);
  for (std::size_t i = 0; i < array.bytes.size(); i += array.element)
    values.push_back(unpadded(array.bytes.substr(i, array.element)));
  return values;
}

Matrix Hdf5Reader::matrix(const std::string& path) const {
  const Array& array = find(path, Array::Type::real, 2);
  Matrix values(static_cast<Index>(array.shape[0]), static_cast<Index>(array.shape[1]));
  copy(array.bytes, values.data());
  return values;
}

void Hdf5Reader::rename(const std::string& from, const std::string& to) {
  auto node = arrays_.extract(from);
  if (node.empty()) return;
  node.key() = to;
  arrays_.insert(std::move(node));
}

void Hdf5Reader::join(const std::vector<std::string>& parts, const std::string& to) {
  std::vector<Array> found;
  for (const std::string& path : parts)
    if (const auto place = arrays_.find(path); place != arrays_.end())
      found.push_back(place->second);
  if (found.empty()) return;
  Array joined = found.front();
  joined.shape.resize(std::max<std::size_t>(joined.shape.size(), 1), 1);
  joined.shape[0] = 0;
  for (const Array& part : found) joined.element = std::max(joined.element, part.element);
  std::string bytes;
  for (const Array& part : found) {
    const bool fits = part.type == joined.type &&
                      std::max<std::size_t>(part.shape.size(), 1) == joined.shape.size() &&
                      (part.shape.size() < 2 || part.shape[1] == joined.shape[1]);
    if (!fits) throw InputError(fmt::format("{} and {} do not fit together", parts.front(), to));
    joined.shape[0] += part.shape.empty() ? 1 : part.shape[0];
    for (std::size_t i = 0; i < part.bytes.size(); i += part.element) {
      bytes += part.bytes.substr(i, part.element);
      bytes.append(joined.element - part.element, '\0');
    }
  }
  put(to, std::move(joined), std::move(bytes));
}

void Hdf5Reader::put(const std::string& path, const std::vector<Index>& values) {
  std::string bytes(8 * values.size(), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  put(path, {Array::Type::integer, 8, {values.size()}, {}}, std::move(bytes));
}

void Hdf5Reader::put(const std::string& path, const Vector& values) {
  const auto count = static_cast<std::size_t>(values.size());
  std::string bytes(8 * count, '\0');
  if (count > 0) std::memcpy(bytes.data(), values.data(), bytes.size());
  put(path, {Array::Type::real, 8, {count}, {}}, std::move(bytes));
}

void Hdf5Reader::put(const std::string& path, Array array, std::string bytes) {
  array.bytes = made_.emplace_back(std::move(bytes));
  arrays_[path] = std::move(array);
}

}  // namespace coterie::detail
