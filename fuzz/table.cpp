// Data files through the front door, which tells formats apart by their contents.
#include "coterie/io/memory_file.hpp"
#include "samples.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_table(Bytes bytes) {
  if (bytes.starts_with("MATLAB")) return;  // mat.cpp
  Choices choices(bytes);
  const std::uint8_t flags = choices.byte();
  const TableOptions options = choose_options(flags & 0x3f, choices.rest());
  const Casting casting = (flags & 64) != 0 ? Casting::one_vs_one : Casting::binary;
  detail::MemoryFile file;
  file.append(choices.rest());
  accepts([&] {
    Samples samples = read_samples({file.path()}, options);
    check_samples(samples);
    if (samples.labels.size() > 8 || samples.tasks.size() > 8) return;
    check_dataset(cast_into_tasks(std::move(samples), casting));
  });
}

const Target table_target("table", fuzz_table);

}  // namespace
}  // namespace coterie::fuzz
