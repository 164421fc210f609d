#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "coterie/io/byte_output.hpp"
#include "coterie/io/npy_file.hpp"
#include "coterie/io/write_table.hpp"

namespace coterie {
namespace {

void append_low_first(std::string& bytes, std::uint64_t bits, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) bytes += static_cast<char>(bits >> (8 * k) & 0xff);
}
void append_low_first(std::string& bytes, double value) {
  append_low_first(bytes, std::bit_cast<std::uint64_t>(value), 8);
}

// Version 1.0; the values begin at a multiple of 64, as NumPy has it.
std::string npy_header(const std::string& descr, const std::string& shape) {
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  text.append(63 - (detail::npy_magic.size() + 4 + text.size()) % 64, ' ') += '\n';
  std::string bytes(detail::npy_magic);
  bytes += '\1';
  bytes += '\0';
  append_low_first(bytes, text.size(), 2);
  return bytes + text;
}

std::vector<std::uint32_t> characters_of(std::string_view utf8) {
  std::vector<std::uint32_t> out;
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      out.push_back(byte);
    else if (byte >= 0xc0)  // the first of 2, 3 or 4
      out.push_back(byte & (byte < 0xe0 ? 0x1fU : byte < 0xf0 ? 0x0fU : 0x07U));
    else
      out.back() = out.back() << 6 | (byte & 0x3fU);
  }
  return out;
}

struct Encoded {
  std::string type;                 // NumPy's name of it
  std::vector<std::string> values;  // the bytes of every name
};

// Names that are all finite numbers as NumPy would write them; else nothing.
template <typename Number>
std::optional<Encoded> as_numbers(const std::vector<std::string>& names, const char* type) {
  Encoded out{type, {}};
  for (const std::string& name : names) {
    Number number{};
    const char* const end = name.data() + name.size();
    const auto [after, problem] = std::from_chars(name.data(), end, number);
    if (problem != std::errc{} || after != end || fmt::format("{}", number) != name ||
        name.ends_with("nan") || name.ends_with("inf"))
      return {};
    append_low_first(out.values.emplace_back(), std::bit_cast<std::uint64_t>(number), 8);
  }
  return out;
}

Encoded as_text(const std::vector<std::string>& names) {
  std::size_t longest = 1;
  std::vector<std::vector<std::uint32_t>> texts;
  for (const std::string& name : names) {
    texts.push_back(characters_of(name));
    longest = std::max(longest, texts.back().size());
  }
  Encoded out{fmt::format("<U{}", longest), {}};
  for (std::vector<std::uint32_t>& text : texts) {
    text.resize(longest, 0);
    out.values.emplace_back();
    for (const std::uint32_t c : text) append_low_first(out.values.back(), c, 4);
  }
  return out;
}

// A value for every row: whole numbers, numbers, or texts, whichever keeps the names as they are.
void write_names(const std::string& path, const std::vector<std::string>& names,
                 const std::vector<Index>& codes) {
  std::optional<Encoded> encoded = as_numbers<std::int64_t>(names, "<i8");
  if (!encoded) encoded = as_numbers<double>(names, "<f8");
  if (!encoded) encoded = as_text(names);
  detail::write_bytes(path, [&](const ByteSink& sink) {
    sink(npy_header(encoded->type, fmt::format("{},", codes.size())));
    for (const Index code : codes) sink(encoded->values[static_cast<std::size_t>(code)]);
  });
}

}  // namespace

std::vector<std::string> write_npy(const Samples& samples, const std::string& path) {
  const std::string labels = detail::npy_beside(path, "labels"),
                    tasks = detail::npy_beside(path, "tasks");
  for (const bool of_labels :
       {true, false}) {  // what is left from other data would be read as its own
    const std::string what = of_labels ? "labels" : "tasks";
    if (!(of_labels ? samples.label : samples.task).empty()) continue;
    if (const std::string old = detail::find_npy_beside(path, what); !old.empty())
      throw InputError(fmt::format(
          "{} would be read as the {} of {}, which has none. Remove it, or choose another name.",
          old, what, path));
  }
  detail::write_bytes(path, [&](const ByteSink& sink) {
    sink(npy_header("<f8", fmt::format("{}, {}", samples.X.rows(), samples.X.cols())));
    std::string bytes;
    for (Index i = 0; i < samples.X.rows(); ++i) {
      bytes.clear();
      for (Index j = 0; j < samples.X.cols(); ++j) append_low_first(bytes, samples.X(i, j));
      sink(bytes);
    }
  });
  std::vector<std::string> files = {path};
  if (!samples.label.empty()) {
    write_names(labels, samples.labels, samples.label);
    files.push_back(labels);
  }
  if (!samples.task.empty()) {
    write_names(tasks, samples.tasks, samples.task);
    files.push_back(tasks);
  }
  return files;
}

}  // namespace coterie
