#include "coterie/io/mat5_check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "coterie/io/mat_source.hpp"
#include "coterie/io/text.hpp"
#include "coterie/math/types.hpp"

namespace coterie::detail {
namespace {

// Types of elements and classes of arrays: MAT-File Format, MathWorks, tables 1-1 and 1-3.
enum Type : std::uint32_t { int8 = 1, int32 = 5, uint32 = 6, float64 = 9, matrix = 14, utf8 = 16 };
enum Class : std::uint32_t {
  cell = 1,
  structure = 2,
  object = 3,
  text = 4,
  sparse = 5,
  first_number = 6,
  last_number = 15,
  function = 16,
  opaque = 17
};
constexpr std::array<std::uint64_t, 19> bytes_of_type = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8,
                                                         0, 0, 8, 8, 0, 0, 1, 2, 4};
constexpr int deepest = 32;

struct Element {
  std::uint32_t type;
  std::uint64_t begin, size, next;  // `next` is where the element after it begins
};

class Mat5Check {
 public:
  Mat5Check(int descriptor, const std::string& path)
      : descriptor_(descriptor),
        path_(path),
        size_(static_cast<std::uint64_t>(lseek(descriptor, 0, SEEK_END))) {}

  void run() {
    std::array<char, 2> order{};
    read(mat_header_size - 2, order.data(), 2);
    swap_ = order[0] == 'M';
    for (std::uint64_t at = mat_header_size; at < size_;) {
      name_.clear();
      const Element element = element_at(at, size_);
      if (element.type != matrix) fail("something else stands where a variable should be");
      check_array(element, 0);
      at = element.next;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format(
        "{}: the file is damaged or unusual: {}{}. Get a new copy, or save it with -v7.", path_,
        name_.empty() ? "" : fmt::format("in variable {}, ", show(name_)), what));
  }

  void read(std::uint64_t at, char* to, std::size_t size) const {
    if (pread(descriptor_, to, size, static_cast<off_t>(at)) != static_cast<ssize_t>(size))
      fail("it ends too early");
  }

  std::uint32_t word(std::uint64_t at) const {
    std::uint32_t value = 0;
    read(at, reinterpret_cast<char*>(&value), 4);
    return swap_ ? __builtin_bswap32(value) : value;
  }

  // Elements of at most 4 bytes may be packed into their tag; others are padded to a multiple of 8.
  Element element_at(std::uint64_t at, std::uint64_t end) const {
    if (end < at + 8) fail("it ends too early");
    const std::uint32_t first = word(at);
    Element element{first, at + 8, 0, 0};
    if (first >> 16 != 0) {
      element = {first & 0xffff, at + 4, first >> 16, at + 8};
      if (element.size > 4) fail("a short element has more than 4 bytes");
      return element;
    }
    element.size = word(at + 4);
    if (element.size > end - element.begin) fail("it ends too early");
    element.next = std::min(end, element.begin + (element.size + 7) / 8 * 8);
    return element;
  }

  Element expect(std::uint64_t at, std::uint64_t end, std::uint32_t type, const char* what) const {
    const Element element = element_at(at, end);
    if (element.type != type) fail(fmt::format("{} not where it should be", what));
    return element;
  }

  // Writers differ in whether the indices of a sparse matrix have a sign.
  Element expect_indices(std::uint64_t at, std::uint64_t end, const char* what) const {
    return expect(at, end, element_at(at, end).type == uint32 ? uint32 : int32, what);
  }

  std::uint64_t values_in(const Element& element) const {
    const std::uint64_t size =
        element.type < bytes_of_type.size() ? bytes_of_type[element.type] : 0;
    if (size == 0 || element.size % size != 0) fail("there are values of an unknown type");
    return element.size / size;
  }

  void check_array(const Element& array, int depth) {
    if (array.size == 0) return;  // an empty one
    if (depth > deepest) fail(fmt::format("cells nest deeper than {} levels", deepest));
    const std::uint64_t end = array.begin + array.size;
    const Element flags = expect(array.begin, end, uint32, "the description of an array is");
    if (flags.size != 8) fail("the flags of an array have a wrong size");
    const std::uint32_t kind = word(flags.begin) & 0xff;
    const bool is_complex = (word(flags.begin) & 0x0800) != 0,
               is_logical = (word(flags.begin) & 0x0200) != 0;
    if (kind == opaque) {  // libmatio reads no more than the name
      element_at(flags.next, end);
      return;
    }

    const Element dimensions = expect(flags.next, end, int32, "the size of an array is");
    if (dimensions.size < 8 || dimensions.size % 4 != 0 || dimensions.size > std::uint64_t{4} * 32)
      fail("the number of dimensions is wrong");
    std::vector<std::uint64_t> shape;
    std::uint64_t count = 1;
    for (std::uint64_t k = 0; k < dimensions.size; k += 4) {
      shape.push_back(word(dimensions.begin + k));
      if (shape.back() > 0x7fffffff || __builtin_mul_overflow(count, shape.back(), &count))
        fail("an array has impossible dimensions");
    }
    const Element name = expect(dimensions.next, end, int8, "the name of an array is");
    if (depth == 0) {
      name_.resize(std::min<std::uint64_t>(name.size, 64));
      read(name.begin, name_.data(), name_.size());
    }
    const std::string promise = fmt::format("{}", fmt::join(shape, " x "));
    if (kind == cell || kind == function) {  // a function is an array, too, that libmatio goes into
      check_arrays(name.next, end, count, depth, promise);
    } else if (kind == structure || kind == object) {
      const std::uint64_t at =
          kind == object ? expect(name.next, end, int8, "the name of a class is").next : name.next;
      const Element length = expect(at, end, int32, "the list of a struct's fields is");
      const std::uint64_t field = length.size == 4 ? word(length.begin) : 0;
      const Element fields = expect(length.next, end, int8, "the list of a struct's fields is");
      if (field == 0 ? fields.size != 0 : fields.size % field != 0)
        fail("the names of a struct's fields are damaged");
      const std::uint64_t number = field == 0 ? 0 : fields.size / field;
      std::uint64_t arrays = 0;
      if (__builtin_mul_overflow(count, number, &arrays)) fail("a struct has too many fields");
      check_arrays(fields.next, end, arrays, depth, promise);
    } else if (kind == sparse) {
      check_sparse(name.next, end, shape, is_complex, is_logical);
    } else if (kind == text || (kind >= first_number && kind <= last_number)) {
      std::uint64_t at = name.next;
      for (int part = 0; part <= (is_complex ? 1 : 0); ++part) {
        const Element values = element_at(at, end);
        const std::uint64_t found = values_in(values);
        // Characters may take several bytes in UTF-8.
        if (kind == text && values.type == utf8 ? found < count : found != count)
          fail(fmt::format("{} values are promised, but there are {}", promise, found));
        at = values.next;
      }
    } else {
      fail(fmt::format("there is an array of the unknown class {}", kind));
    }
  }

  // The arrays of a cell or struct, one after the other.
  void check_arrays(std::uint64_t at, std::uint64_t end, std::uint64_t count, int depth,
                    const std::string& promise) {
    if (count > (end - at) / 8)
      fail(fmt::format("{} arrays are promised, but it ends before", promise));
    for (std::uint64_t k = 0; k < count; ++k) {
      const Element array = expect(at, end, matrix, "an array of a cell is");
      check_array(array, depth + 1);
      at = array.next;
    }
  }

  void check_sparse(std::uint64_t at, std::uint64_t end, const std::vector<std::uint64_t>& shape,
                    bool is_complex, bool is_logical) const {
    const Element rows = expect_indices(at, end, "the list of a sparse matrix's rows is");
    const Element columns =
        expect_indices(rows.next, end, "the list of a sparse matrix's columns is");
    if (shape.size() != 2 || columns.size != 4 * (shape[1] + 1))
      fail("the columns of a sparse matrix do not fit its size");
    const Element values = element_at(columns.next, end);
    // MATLAB says double for logical values, but writes a byte each; libmatio knows.
    const bool bytes = is_logical && values.type == float64;
    const std::uint64_t count = bytes ? values.size : values_in(values);
    if (is_complex && values_in(element_at(values.next, end)) != count)
      fail("the two parts of a complex matrix differ in size");
    std::uint32_t previous = word(columns.begin);
    if (previous != 0) fail("the columns of a sparse matrix do not begin at 0");
    for (std::uint64_t j = 1; j <= shape[1]; ++j) {
      const std::uint32_t next = word(columns.begin + 4 * j);
      if (next < previous || next > count || next > rows.size / 4)
        fail("the columns of a sparse matrix point outside it");
      previous = next;
    }
    if (bytes && previous > 0 && count >= 8 * std::uint64_t{previous})
      fail("logical values have 8 bytes each");
    for (std::uint32_t k = 0; k < previous; ++k) {
      if (word(rows.begin + 4 * std::uint64_t{k}) >= shape[0])
        fail("the rows of a sparse matrix point outside it");
    }
  }

  int descriptor_;
  const std::string& path_;
  std::uint64_t size_;
  bool swap_ = false;
  std::string name_;  // of the variable at hand
};

}  // namespace

void check_mat5(int descriptor, const std::string& path) { Mat5Check(descriptor, path).run(); }

}  // namespace coterie::detail
