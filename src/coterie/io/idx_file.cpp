#include "coterie/io/idx_file.hpp"

#include <algorithm>
#include <filesystem>
#include <regex>

namespace coterie::detail {

const IdxType* find_idx_type(std::uint8_t code) {
  const auto* found = std::ranges::find(idx_types, code, &IdxType::code);
  return found == std::end(idx_types) ? nullptr : found;
}

std::optional<IdxName> parse_idx_name(const std::string& path) {
  static const std::regex form(
      R"((.*?)(images)?([-.])idx(?:([1-9])(?:-(ubyte|byte|short|int|float|double))?)?(\.gz)?)");
  const std::filesystem::path whole(path);
  const std::string name = whole.filename().string();
  std::smatch part;
  if (name.size() > 255 || !std::regex_match(name, part, form)) return {};
  IdxName out;
  out.stem = path.substr(0, path.size() - name.size()) + part[1].str();
  out.has_images = part[2].matched;
  out.separator = part[3].str();
  if (part[4].matched) out.dimensions = part[4].str()[0] - '0';
  if (part[5].matched) out.type = std::ranges::find(idx_types, part[5].str(), &IdxType::name);
  out.gz = part[6].str();
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
  if (name.type != nullptr) text += "-" + std::string(type->name);
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
