// The targets without libFuzzer, for any compiler: the short round of the tests, and a way to repeat a finding.
//
//   coterie_fuzz TARGET RUNS FILE-OR-FOLDER...
//
// runs the target on every file, then on RUNS random changes of them, which are the same every time.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "coterie/math/random.hpp"
#include "target.hpp"

namespace coterie::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t seed = 7;
constexpr std::size_t longest_input = 1 << 15;
constexpr Index most_changes = 5;  // of one input

std::vector<std::string> read_files(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<std::string> contents;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    require(stream.good(), "the file can be read");
    contents.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return contents;
}

// What files of bytes and texts break on: lengths of nothing and of everything, signs, ends of lines, numbers that are none.
std::string odd_piece(Random& random) {
  static const std::vector<std::string> pieces = {std::string(1, '\0'),
                                                  std::string(4, '\0'),
                                                  std::string(8, '\xff'),
                                                  std::string("\0\0\0\x80", 4),
                                                  "\n",
                                                  "\r\n",
                                                  ",",
                                                  ":",
                                                  "\"",
                                                  " ",
                                                  "-",
                                                  "nan",
                                                  "inf",
                                                  "1e999",
                                                  "-0",
                                                  "18446744073709551616",
                                                  "\xc3\xa4",
                                                  "\xc3"};
  return pieces[static_cast<std::size_t>(random.below(std::ssize(pieces)))];
}

void change(std::string& bytes, const std::string& other, Random& random) {
  const auto place = [&](const std::string& text) {
    return static_cast<std::size_t>(random.below(std::ssize(text) + 1));
  };
  const std::size_t at = place(bytes), count = static_cast<std::size_t>(random.below(16));
  switch (random.below(6)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(random.below(256));
      break;
    case 2:
      bytes.erase(at, count);
      break;
    case 3:
      bytes.insert(at, odd_piece(random));
      break;
    case 4:
      bytes.insert(at, bytes.substr(place(bytes), count));
      break;
    default: {
      const std::size_t from = place(other);
      bytes.replace(at, count, other.substr(from, 1 + 4 * count));
    }
  }
  if (bytes.size() > longest_input) bytes.resize(longest_input);
}

int run(const std::string& name, Index runs, const std::vector<std::string>& paths) {
  const auto target = std::ranges::find(targets(), name, &Target::name);
  if (target == targets().end()) {
    std::fprintf(stderr, "error: there is no target %s\n", name.c_str());
    return 2;
  }
  const std::vector<std::string> files = read_files(paths);
  require(!files.empty(), "there are files to begin with");
  for (const std::string& file : files) target->run(file);
  Random random(seed);
  const auto any = [&] { return files[static_cast<std::size_t>(random.below(std::ssize(files)))]; };
  for (Index i = 0; i < runs; ++i) {
    std::string bytes = any();
    const std::string other = any();
    for (Index k = random.below(most_changes); k >= 0; --k) change(bytes, other, random);
    write_scratch("last-input", bytes);  // what to look at when the next line does not return
    target->run(bytes);
  }
  std::printf("%s: %zu files and %td changes of them\n", name.c_str(), files.size(), runs);
  return 0;
}

}  // namespace
}  // namespace coterie::fuzz

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  coterie::Index runs = -1;
  if (arguments.size() >= 3)
    std::from_chars(arguments[1].data(), arguments[1].data() + arguments[1].size(), runs);
  if (runs < 0) {
    std::fprintf(stderr, "usage: coterie_fuzz TARGET RUNS FILE-OR-FOLDER...\ntargets:");
    for (const auto& target : coterie::fuzz::targets())
      std::fprintf(stderr, " %.*s", static_cast<int>(target.name.size()), target.name.data());
    std::fprintf(stderr, "\n");
    return 2;
  }
  return coterie::fuzz::run(arguments[0], runs, {arguments.begin() + 2, arguments.end()});
}
