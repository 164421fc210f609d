// Journals. The last byte, of 3: the bytes are the file; they stand behind the beginning of a file of the same run; they are the records
// of a path, a byte for a number, with a checksum that is right.
#include "coterie/io/journal.hpp"

#include <fstream>
#include <iterator>
#include <limits>

#include "path_journal.hpp"
#include "target.hpp"

namespace coterie::fuzz {
namespace {

constexpr std::string_view run_text = R"({"command":"path"})";

std::string file_contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string beginning() {
  const std::string path = write_scratch("journal-begin", "");
  const Journal journal(path, run_text, false);
  return file_contents(path);
}

// Small numbers as they are, others from a list, or eight bytes as they stand.
std::string numbers(Bytes bytes) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  static const double odd[] = {
      -1,           0.5,  1e9,    3e9,      1e300,     -1e300,
      4294967296.0, 1e18, 1.8e19, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
  std::string out;
  while (!bytes.empty()) {
    const auto first = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    double value = first;
    if (first == 255) {
      out += bytes.substr(0, 8);
      bytes.remove_prefix(std::min<std::size_t>(8, bytes.size()));
      continue;
    }
    if (first >= 240) value = odd[first % std::size(odd)];
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return out;
}

// What was kept is there again, and so is what is added.
void check_journal(const std::string& path) {
  std::vector<std::string> records;
  {
    Journal journal(path, run_text, true);
    records = journal.records();
    journal.append("one more");
  }
  records.emplace_back("one more");
  require(Journal(path, run_text, true).records() == records, "a journal keeps its records");
}

void fuzz_journal(Bytes bytes) {
  static const std::string begin = beginning();
  Choices choices(bytes);
  const int kind = choices.byte() % 3;
  accepts([&] {
    if (kind == 2)
      app::decode_path({numbers(choices.rest())});
    else
      check_journal(write_scratch("journal", kind == 0 ? std::string(choices.rest())
                                                       : begin + std::string(choices.rest())));
  });
}

const Target journal_target("journal", fuzz_journal);

}  // namespace
}  // namespace coterie::fuzz
