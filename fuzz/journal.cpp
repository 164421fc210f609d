// Journals of long runs. The last byte, even: the bytes are the file. Odd: they stand behind the beginning of a file of the same run.
#include "coterie/io/journal.hpp"

#include <fstream>
#include <iterator>

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
  const bool behind = choices.byte() % 2 == 1;
  accepts([&] {
    check_journal(write_scratch(
        "journal", !behind ? std::string(choices.rest()) : begin + std::string(choices.rest())));
  });
}

const Target journal_target("journal", fuzz_journal);

}  // namespace
}  // namespace coterie::fuzz
