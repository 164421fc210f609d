// IDX files: two zero bytes, a type, the number of dimensions, the dimensions (32 bits), then the values, row by row; all numbers
// big-endian. The first dimension counts samples. Internal to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "coterie/math/types.hpp"

namespace coterie::detail {

struct IdxType {
  std::uint8_t code;
  std::size_t size;  // bytes of a value
  std::string_view name;
};

inline constexpr IdxType idx_types[] = {{0x08, 1, "ubyte"}, {0x09, 1, "byte"},
                                        {0x0b, 2, "short"}, {0x0c, 4, "int"},
                                        {0x0d, 4, "float"}, {0x0e, 8, "double"}};

const IdxType* find_idx_type(std::uint8_t code);  // nullptr: there is none

// What the name of a file of images says: mnist/train-images-idx3-ubyte.gz, train-images.idx3-ubyte, digits.idx, digits.idx.gz.
struct IdxName {
  std::string stem;               // mnist/train- or digits
  bool has_images = false;        // the word
  std::string separator;          // before idx
  int dimensions = 0;             // 0: not said
  const IdxType* type = nullptr;  // nullptr: not said
  std::string gz;                 // ".gz" or nothing

  std::string data_set() const;                          // train or digits
  std::string images_of(const std::string& task) const;  // the name with the task in it
  std::string labels(
      const IdxType* label_type) const;  // mnist/train-labels-idx1-ubyte.gz, digits-labels.idx
};
std::optional<IdxName> parse_idx_name(const std::string& path);

// Whether the bytes begin an IDX file.
bool looks_like_idx(std::string_view bytes);

}  // namespace coterie::detail
