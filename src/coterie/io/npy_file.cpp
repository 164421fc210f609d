#include "coterie/io/npy_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>

#include "coterie/io/columns.hpp"
#include "coterie/io/line_reader.hpp"

namespace coterie::detail {
namespace {

constexpr std::size_t longest_header = 1 << 16;  // NumPy itself reads no more than 10000

std::string_view without(std::string_view text, std::string_view ending) {
  return text.ends_with(ending) ? text.substr(0, text.size() - ending.size()) : text;
}

template <typename Value>
Value decode(const unsigned char* from, bool big) {
  std::array<unsigned char, sizeof(Value)> bytes;
  std::memcpy(bytes.data(), from, sizeof(Value));
  if (big != (std::endian::native == std::endian::big)) std::ranges::reverse(bytes);
  return std::bit_cast<Value>(bytes);
}

// Calls f with a value of the type that the numbers have.
template <typename F>
void with_type(char kind, std::size_t size, const F& f) {
  if (kind == 'f') return size == 4 ? f(float{}) : f(double{});
  if (kind == 'i') {
    if (size == 1) return f(std::int8_t{});
    if (size == 2) return f(std::int16_t{});
    return size == 4 ? f(std::int32_t{}) : f(std::int64_t{});
  }
  if (size == 1) return f(std::uint8_t{});
  if (size == 2) return f(std::uint16_t{});
  return size == 4 ? f(std::uint32_t{}) : f(std::uint64_t{});
}

bool append_checked_utf8(std::string& text, std::uint32_t c) {
  const auto byte = [&](std::uint32_t bits) { text += static_cast<char>(bits); };
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return false;
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xc0 | c >> 6);
    byte(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    byte(0xe0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3f));
    byte(0x80 | (c & 0x3f));
  } else {
    byte(0xf0 | c >> 18);
    byte(0x80 | (c >> 12 & 0x3f));
    byte(0x80 | (c >> 6 & 0x3f));
    byte(0x80 | (c & 0x3f));
  }
  return true;
}

}  // namespace

bool is_npy_name(const std::string& path) { return without(path, ".gz").ends_with(".npy"); }

std::string npy_beside(const std::string& path, std::string_view what) {
  const std::string_view plain = without(path, ".gz");
  return fmt::format("{}-{}.npy{}", without(plain, ".npy"), what, path.substr(plain.size()));
}

std::string find_npy_beside(const std::string& path, std::string_view what) {
  const std::string usual = npy_beside(path, what);
  const std::string other =
      usual.ends_with(".gz") ? std::string(without(usual, ".gz")) : usual + ".gz";
  std::error_code ignored;
  for (const std::string& file : {usual, other})
    if (std::filesystem::exists(file, ignored)) return file;
  return {};
}

// The dictionary: three keys, in any order.
class NpyReader::Header {
 public:
  Header(NpyReader& reader, std::string_view text, std::size_t offset)
      : reader_(reader), text_(text), offset_(offset) {}

  void read() {
    expect('{');
    while (!next_is('}')) {
      const std::size_t place = at_;
      const std::string_view key = text("a key");
      expect(':');
      if (std::ranges::find(seen_, key) != seen_.end())
        fail_at(place, fmt::format("the key {} is there twice", show(key)));
      seen_.emplace_back(key);
      if (key == "descr")
        read_type();
      else if (key == "fortran_order")
        reader_.fortran_order_ = read_bool();
      else if (key == "shape")
        read_shape();
      else
        fail_at(place,
                fmt::format("the key {} is none of 'descr', 'fortran_order', 'shape'", show(key)));
      if (!next_is('}')) expect(',');
    }
    ++at_;
    skip_spaces();
    if (at_ < text_.size()) fail("there is more behind the dictionary");
    for (const std::string_view key : {"descr", "fortran_order", "shape"})
      if (std::ranges::find(seen_, key) == seen_.end())
        fail(fmt::format("the key '{}' is missing", key));
  }

 private:
  [[noreturn]] void fail_at(std::size_t place, const std::string& what) const {
    reader_.fail(fmt::format("byte {}: {} in the header. Write the file anew with numpy.save.",
                             offset_ + place + 1, what));
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(at_, what); }
  std::string found() const { return at_ < text_.size() ? show(text_.substr(at_, 12)) : "its end"; }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool next_is(char c) {
    skip_spaces();
    return at_ < text_.size() && text_[at_] == c;
  }
  void expect(char c) {
    if (!next_is(c)) fail(fmt::format("'{}' is expected, but {} follows", c, found()));
    ++at_;
  }
  bool take(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string_view text(std::string_view what) {
    if (!next_is('\'') && !next_is('"'))
      fail(fmt::format("{} in quotes is expected, but {} follows", what, found()));
    const char quote = text_[at_];
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a quote has no end");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  bool read_bool() {
    if (take("True")) return true;
    if (!take("False")) fail(fmt::format("True or False is expected, but {} follows", found()));
    return false;
  }

  void read_shape() {
    expect('(');
    while (!next_is(')')) {
      Index n = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), n);
      if (problem != std::errc{} || n < 0)
        fail(fmt::format("a size is expected, but {} follows", found()));
      at_ += static_cast<std::size_t>(end - begin);
      take("L");  // Python 2
      reader_.shape_.push_back(n);
      if (!next_is(')')) expect(',');
    }
    ++at_;
  }

  void read_type() {
    if (next_is('['))
      reader_.fail(
          "holds records of several fields. Save the features as one array of numbers, and labels "
          "and tasks as arrays of their own.");
    reader_.descr_ = text("a type");
    const std::string_view descr = reader_.descr_;
    Type& type = reader_.type_;
    std::size_t count = 0;
    const bool shaped = descr.size() > 2 && std::string_view("<>|=").find(descr[0]) != descr.npos;
    if (shaped) {
      const char* const last = descr.data() + descr.size();
      const auto [end, problem] = std::from_chars(descr.data() + 2, last, count);
      if (problem == std::errc{} && end == last && count <= most_characters) type.kind = descr[1];
    }
    const auto is_size = [&](std::initializer_list<std::size_t> sizes) {
      return std::ranges::find(sizes, count) != sizes.end();
    };
    bool known = false;
    if (type.kind == 'f') known = is_size({4, 8});
    if (type.kind == 'i' || type.kind == 'u') known = is_size({1, 2, 4, 8});
    if (type.kind == 'b') known = count == 1;
    if (type.is_text()) known = count > 0;
    type.size = type.kind == 'U' ? 4 * count : count;
    const bool one_byte = type.kind == 'S' || type.size == 1;
    if (!known || (descr[0] == '|' && !one_byte)) fail_type();
    type.big = descr[0] == '>' || (descr[0] == '=' && std::endian::native == std::endian::big);
  }

  [[noreturn]] void fail_type() const {
    const std::string_view descr = reader_.descr_;
    reader_.fail(
        descr.ends_with('O')
            ? std::string("holds Python objects. Save numbers or texts, such as y.astype(str).")
            : fmt::format("holds values of type {}, which cannot be read. Save numbers or texts, "
                          "such as X.astype(float).",
                          show(descr)));
  }

  static constexpr std::size_t most_characters = 1 << 30;
  NpyReader& reader_;
  std::string_view text_;
  std::size_t offset_, at_ = 0;
  std::vector<std::string_view> seen_;
};

NpyReader::NpyReader(const std::string& path) : input_(path) {
  read_header();
  check_size();
}

void NpyReader::read_header() {
  unsigned char start[12] = {};
  const std::size_t count = input_.read(start, 8);
  const std::string_view bytes(reinterpret_cast<const char*>(start), count);
  if (count == 0) input_.fail("the file is empty. Give a .npy file.");
  if (bytes.starts_with("PK\3\4"))
    input_.fail("this is an .npz archive. Save its arrays one by one, with numpy.save.");
  if (!bytes.starts_with(npy_magic))
    input_.fail(
        fmt::format("this is no .npy file: it starts with {}. Check the name.", show(bytes)));
  const int version = start[6];
  if (count == 8 && (version < 1 || version > 3 || start[7] != 0))
    input_.fail(
        fmt::format("byte 7: version {}.{} of the .npy format is not known, only 1.0, 2.0 and 3.0. "
                    "Write the file anew with numpy.save.",
                    version, start[7]));
  const std::size_t width = version == 1 ? 2 : 4;
  const std::string cut = "ends within its header. It was cut off; get a whole copy.";
  if (count < 8 || input_.read(start + 8, width) < width) input_.fail(cut);
  std::size_t length = 0;
  for (std::size_t k = width; k-- > 0;) length = length << 8 | start[8 + k];
  if (length > longest_header)
    input_.fail(fmt::format(
        "byte 9: the header would have {} bytes; no array of numbers or texts needs more than {}. "
        "Write the file anew with numpy.save.",
        length, longest_header));
  std::string text(length, '\0');
  if (input_.read(text.data(), length) < length) input_.fail(cut);
  header_bytes_ = static_cast<double>(8 + width + length);
  Header(*this, text, 8 + width).read();
}

void NpyReader::check_size() {
  if (std::ranges::find(shape_, 0) != shape_.end())  // else the product may be infinity times 0
    input_.fail(fmt::format("holds no values: it is {}.", describe()));
  double bytes = header_bytes_, count = 1;
  for (const Index n : shape_) count *= static_cast<double>(n);
  bytes += count * static_cast<double>(type_.size);
  const double room = input_.size() * (input_.is_gzip() ? largest_deflate_ratio : 1);
  if (bytes > room)
    input_.fail(fmt::format(
        "its header promises {}, but the file has only {} bytes{}. It was cut off or is damaged; "
        "get a whole copy.",
        describe(), input_.size(), input_.is_gzip() ? ", compressed" : ""));
}

std::string NpyReader::describe() const {
  const std::string what = shape_.empty() ? "a single value"
                           : shape_.size() == 1
                               ? fmt::format("an array of {} values", shape_[0])
                               : fmt::format("a {} array", fmt::join(shape_, " x "));
  return fmt::format("{} of type '{}'", what, descr_);
}

void NpyReader::read_values(std::vector<unsigned char>& bytes) {
  if (input_.read(bytes.data(), bytes.size()) < bytes.size())
    input_.fail(fmt::format(
        "ends too early: its header promises {}. It was cut off; get a whole copy.", describe()));
}

void NpyReader::check_end() {
  char more = 0;
  if (input_.read(&more, 1) != 0)
    input_.fail(fmt::format("there is more behind {}. Save one array per file.", describe()));
}

Matrix NpyReader::numbers(double memory) {
  if (type_.is_text())
    input_.fail(fmt::format("is {}, which holds texts. Give an array of numbers.", describe()));
  if (shape_.size() != 2)
    input_.fail(
        fmt::format("is {}. Give one of two dimensions: rows and columns, as of "
                    "X.reshape(len(X), -1).",
                    describe()));
  const Index rows = shape_[0], columns = shape_[1];
  check_table_memory(path(), input_.is_gzip(),
                     8 * static_cast<double>(rows) * (static_cast<double>(columns) + 4), memory);
  Matrix X(rows, columns);
  // What lies together in the file: a row, or a column.
  const Index lines = fortran_order_ ? columns : rows, length = fortran_order_ ? rows : columns;
  std::vector<unsigned char> bytes(static_cast<std::size_t>(length) * type_.size);
  for (Index line = 0; line < lines; ++line) {
    read_values(bytes);
    double* out = X.data() + (fortran_order_ ? line : line * columns);
    const Index step = fortran_order_ ? columns : 1;
    with_type(type_.kind, type_.size, [&](auto zero) {
      using Value = decltype(zero);
      const unsigned char* from = bytes.data();
      for (Index k = 0; k < length; ++k, from += sizeof(Value))
        out[k * step] = static_cast<double>(decode<Value>(from, type_.big));
    });
    for (Index k = 0; k < length; ++k) {
      double& value = out[k * step];
      if (type_.kind == 'b') value = value != 0 ? 1 : 0;
      if (!std::isfinite(value))
        input_.fail(fmt::format("row {}, column {} {}", (fortran_order_ ? k : line) + 1,
                                (fortran_order_ ? line : k) + 1, describe_not_finite(value)));
    }
  }
  check_end();
  return X;
}

std::string NpyReader::name_of(const unsigned char* value) const {
  std::string name;
  if (type_.kind == 'S') {
    name.assign(reinterpret_cast<const char*>(value), type_.size);
  } else if (type_.kind == 'U') {
    for (std::size_t k = 0; k < type_.size; k += 4)
      if (!append_checked_utf8(name, decode<std::uint32_t>(value + k, type_.big))) return "\xff";
  } else {
    with_type(type_.kind, type_.size, [&](auto zero) {
      using Value = decltype(zero);
      const Value number = decode<Value>(value, type_.big);
      name = type_.kind == 'b' ? (number != Value{} ? "1" : "0")
                               : fmt::format("{}", number == Value{} ? Value{} : number);  // no -0
    });
  }
  while (name.ends_with('\0')) name.pop_back();  // texts of one array have one length
  return name;
}

Index NpyReader::length() const {
  Index count = 1;
  for (const Index n : shape_) {
    if (n == 1) continue;
    if (count > 1)
      input_.fail(fmt::format("is {}. Give one of one dimension, as of y.ravel().", describe()));
    count = n;
  }
  return count;
}

void NpyReader::names(Dictionary& dictionary, std::vector<Index>& codes, double memory) {
  const Index count = length();
  std::vector<unsigned char> bytes(type_.size);
  for (Index i = 0; i < count; ++i) {
    read_values(bytes);
    const std::string name = name_of(bytes.data());
    const std::string problem =
        type_.kind == 'f' && (name.ends_with("nan") || name.ends_with("inf"))
            ? fmt::format("is {}", name)
            : describe_bad_name(name);
    if (!problem.empty()) input_.fail(fmt::format("value {} {}. Correct it.", i + 1, problem));
    codes.push_back(dictionary.code(name));
    if ((i + 1) % 1024 == 0 || i + 1 == count)
      check_table_memory(path(), input_.is_gzip(),
                         dictionary.bytes() + 8 * static_cast<double>(codes.size()), memory);
  }
  check_end();
}

}  // namespace coterie::detail
