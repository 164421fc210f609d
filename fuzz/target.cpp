#include "target.hpp"

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "coterie/io/text.hpp"

namespace coterie::fuzz {
namespace {

constexpr std::size_t longest_message = 1 << 16;

std::vector<Target>& known_targets() {
  static std::vector<Target> list;
  return list;
}

struct ScratchFolder {
  ScratchFolder()
      : path((std::filesystem::temp_directory_path() / "coterie-fuzz-XXXXXX").string()) {
    require(mkdtemp(path.data()) != nullptr, "there is a folder for temporary files");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

}  // namespace

Target::Target(std::string_view its_name, void (*its_run)(Bytes)) : name(its_name), run(its_run) {
  known_targets().push_back(*this);
}

const std::vector<Target>& targets() { return known_targets(); }

void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "finding: this does not hold: %.*s\n", static_cast<int>(what.size()),
               what.data());
  std::abort();
}

void check_message(std::string_view text, bool strict) {
  require(!text.empty() && text.size() < longest_message, "an error has a text of sensible length");
  if (!strict || detail::describe_bad_name(text).empty()) return;
  std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  require(false, "the text of an error is printable UTF-8");
}

std::vector<std::string> split_lines(Bytes bytes, std::size_t count) {
  std::vector<std::string> lines(count);
  for (std::string& line : lines) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return lines;
}

const std::string& scratch_folder() {
  static const ScratchFolder folder;
  return folder.path;
}

std::string write_scratch(const std::string& name, Bytes bytes) {
  std::string path = scratch_folder() + "/" + name;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  require(file.good(), "temporary files can be written");
  return path;
}

}  // namespace coterie::fuzz
