#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "coterie/io/byte_output.hpp"
#include "coterie/io/idx_file.hpp"
#include "coterie/io/text.hpp"
#include "coterie/io/write_table.hpp"

namespace coterie {
namespace {

using detail::IdxName;
using detail::IdxType;

constexpr const IdxType *ubyte = &detail::idx_types[0], *int32 = &detail::idx_types[3],
                        *float64 = &detail::idx_types[5];

void append_high_first(std::string& bytes, std::uint64_t bits, std::size_t size) {
  for (std::size_t k = size; k-- > 0;) bytes += static_cast<char>(bits >> (8 * k) & 0xff);
}

// Values of one of the three types above.
void append_high_first(std::string& bytes, double value, const IdxType& type) {
  if (&type == float64) return append_high_first(bytes, std::bit_cast<std::uint64_t>(value), 8);
  append_high_first(bytes, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)), type.size);
}

std::string idx_header(const IdxType& type, const std::vector<Index>& shape) {
  std::string bytes(2, '\0');
  bytes += static_cast<char>(type.code);
  bytes += static_cast<char>(shape.size());
  for (const Index n : shape) append_high_first(bytes, static_cast<std::uint64_t>(n), 4);
  return bytes;
}

bool is_ubyte(double value) {
  return value >= 0 && value <= 255 && value == std::floor(value) && !std::signbit(value);
}

std::vector<double> label_values(const Samples& samples, const std::string& path) {
  std::vector<double> values;
  for (const std::string& name : samples.labels) {
    double value = 0;
    const bool whole = detail::parse_number(name, value) && value == std::floor(value) &&
                       std::abs(value) <= 2147483647;
    if (!whole) {
      throw InputError(
          fmt::format("{}: the label {} is no whole number that an IDX file can hold. Number the "
                      "classes, or write CSV or .mat.",
                      path, detail::show(name)));
    }
    values.push_back(value);
  }
  return values;
}

// The type of the images: ubyte if that keeps every value, or else double. A name that says otherwise is an error.
const IdxType& type_for(const Samples& samples, const std::vector<Index>& rows, const IdxName& name,
                        const std::string& path) {
  if (name.type != nullptr && name.type != ubyte && name.type != float64) {
    throw InputError(
        fmt::format("{}: the name says {}; images are written as ubyte or double. Change the name, "
                    "or let it end in .idx.",
                    path, name.type->name));
  }
  if (name.type == float64) return *float64;
  for (const Index i : rows) {
    for (Index j = 0; j < samples.X.cols(); ++j) {
      if (is_ubyte(samples.X(i, j))) continue;
      if (name.type == nullptr) return *float64;
      throw InputError(
          fmt::format("{}: the name says ubyte, but feature '{}' of row {} is {}, no whole number "
                      "from 0 to 255. "
                      "Let the name end in -double or .idx.",
                      path, samples.features[j], i + 1, samples.X(i, j)));
    }
  }
  return *ubyte;
}

// Rows and columns of an image, where the name asks for them: a square if there is one.
std::vector<Index> shape_for(Index n, Index d, const IdxName& name, const std::string& path) {
  if (name.dimensions != 0 && name.dimensions != 2 && name.dimensions != 3) {
    throw InputError(fmt::format(
        "{}: the name says {} dimensions; images are written with 2 (idx2) or 3 (idx3).", path,
        name.dimensions));
  }
  if (name.dimensions != 3) return {n, d};
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(d))));
  return side * side == d ? std::vector<Index>{n, side, side} : std::vector<Index>{n, 1, d};
}

}  // namespace

std::vector<std::string> write_idx(const Samples& samples, const std::string& path,
                                   std::optional<Index> task) {
  const std::optional<IdxName> name = detail::parse_idx_name(path);
  if (!name) {
    throw InputError(fmt::format(
        "{}: the name of an IDX file ends in .idx or is like train-images-idx3-ubyte.", path));
  }
  if (!task && samples.tasks.size() > 1) {
    throw InputError(
        fmt::format("{}: the data has {} tasks, but an IDX file holds one. Write a file per task.",
                    path, samples.tasks.size()));
  }
  std::vector<Index> rows;
  for (Index i = 0; i < samples.X.rows(); ++i) {
    if (!task || samples.task[i] == *task) rows.push_back(i);
  }
  const std::vector<double> values = label_values(samples, path);
  const IdxType& type = type_for(samples, rows, *name, path);
  const std::vector<Index> shape = shape_for(std::ssize(rows), samples.X.cols(), *name, path);

  detail::write_bytes(path, [&](const ByteSink& sink) {
    std::string bytes = idx_header(type, shape);
    for (const Index i : rows) {
      for (Index j = 0; j < samples.X.cols(); ++j) append_high_first(bytes, samples.X(i, j), type);
      sink(bytes);
      bytes.clear();
    }
  });
  if (samples.label.empty()) return {path};

  bool small = true;
  for (const double value : values) small = small && is_ubyte(value);
  const IdxType& label_type = small ? *ubyte : *int32;
  const std::string labels = name->labels(&label_type);
  detail::write_bytes(labels, [&](const ByteSink& sink) {
    std::string bytes = idx_header(label_type, {std::ssize(rows)});
    for (const Index i : rows) append_high_first(bytes, values[samples.label[i]], label_type);
    sink(bytes);
  });
  return {path, labels};
}

}  // namespace coterie
