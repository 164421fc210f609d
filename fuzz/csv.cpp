// CSV and TSV tables. The last byte: options, one file or two, plain or through a written copy.
#include "coterie/io/input_file.hpp"
#include "coterie/io/memory_file.hpp"
#include "samples.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_csv(Bytes bytes) {
  Choices choices(bytes);
  const std::uint8_t flags = choices.byte();
  const TableOptions options = choose_options(flags, choices.rest());
  detail::MemoryFile file;
  file.append(choices.rest());
  std::vector<detail::InputFile> files(1, {file.path(), "", false, nullptr});
  if ((flags & 64) != 0) {
    files[0].task = "a";
    files.push_back({file.path(), "b", true, nullptr});
  }
  accepts([&] {
    const Samples samples = detail::read_csv_files(files, options);
    check_samples(samples);
    if ((flags & 128) != 0) check_csv_round_trip(samples);
  });
}

const Target csv_target("csv", fuzz_csv);

}  // namespace
}  // namespace coterie::fuzz
