#include "coterie/io/idx_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace coterie::detail {

const IdxType* find_idx_type(std::uint8_t code) {
  const auto* found = std::ranges::find(idx_types, code, &IdxType::code);
  return found == std::end(idx_types) ? nullptr : found;
}

// From the end: .gz, the type, the number of dimensions, idx, a separator, images.
std::optional<IdxName> parse_idx_name(const std::string& path) {
  IdxName out;
  std::string_view rest = path;
  const auto take = [&rest](std::string_view ending) {
    const bool there = rest.ends_with(ending);
    if (there) rest.remove_suffix(ending.size());
    return there;
  };
  if (take(".gz")) out.gz = ".gz";
  for (const IdxType& type : idx_types) {
    if (out.type == nullptr && take(fmt::format("-{}", type.name))) out.type = &type;
  }
  if (!rest.empty() && rest.back() >= '1' && rest.back() <= '9') {
    out.dimensions = rest.back() - '0';
    rest.remove_suffix(1);
  }
  if (!take("idx") || (out.type != nullptr && out.dimensions == 0)) return {};
  for (const char* separator : {"-", "."}) {
    if (out.separator.empty() && take(separator)) out.separator = separator;
  }
  if (out.separator.empty()) return {};
  out.has_images = take("images");
  out.stem = rest;
  return out;
}

std::string IdxName::data_set() const {
  std::string name = std::filesystem::path(stem).filename().string();
  while (has_images && !name.empty() &&
         (name.ends_with('-') || name.ends_with('_') || name.ends_with('.')))
    name.pop_back();
  return name.empty() ? "images" : name;
}

namespace {

std::string ending(const IdxName& name, int dimensions, const IdxType* type) {
  std::string text = name.separator + "idx";
  if (name.dimensions > 0) text += std::to_string(dimensions);
  if (name.type != nullptr) text += fmt::format("-{}", type->name);
  return text + name.gz;
}

}  // namespace

std::string IdxName::images_of(const std::string& task) const {
  return stem + (has_images ? task + "-images" : "-" + task) + ending(*this, dimensions, type);
}

std::string IdxName::labels(const IdxType* label_type) const {
  return stem + (has_images ? "labels" : "-labels") + ending(*this, 1, label_type);
}

bool looks_like_idx(std::string_view bytes) {
  return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[3] >= 1 && bytes[3] <= 16 &&
         find_idx_type(static_cast<std::uint8_t>(bytes[2])) != nullptr;
}

}  // namespace coterie::detail
