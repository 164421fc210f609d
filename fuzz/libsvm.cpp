// LIBSVM files. The last byte: options, one file or two.
#include "coterie/io/input_file.hpp"
#include "coterie/io/memory_file.hpp"
#include "samples.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_libsvm(Bytes bytes) {
  Choices choices(bytes);
  const std::uint8_t flags = choices.byte();
  TableOptions options;
  if ((flags & 4) != 0) options.task = "task";
  if ((flags & 8) != 0) options.drop = {"f2"};
  if ((flags & 16) != 0) options.features = {"f3", "f1", "f7"};
  if ((flags & 32) != 0) options.features.emplace_back("f999999999");
  detail::MemoryFile file;
  file.append(choices.rest());
  std::vector<detail::InputFile> files(1, {file.path(), "", false, nullptr});
  if ((flags & 64) != 0) {
    files[0].task = "a";
    files.push_back({file.path(), "b", true, nullptr});
  }
  accepts([&] { check_samples(detail::read_libsvm_files(files, options)); });
}

const Target libsvm_target("libsvm", fuzz_libsvm);

}  // namespace
}  // namespace coterie::fuzz
