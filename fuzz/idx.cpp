// IDX images with labels behind them, plain or gzip. The last byte: options; the one before: how much of the rest is the labels' file.
#include <algorithm>

#include "coterie/io/input_file.hpp"
#include "coterie/io/memory_file.hpp"
#include "samples.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_idx(Bytes bytes) {
  Choices choices(bytes);
  const std::uint8_t flags = choices.byte();
  const std::size_t wanted = choices.byte();
  const Bytes both = choices.rest();
  const std::size_t length = std::min(wanted, both.size());
  detail::MemoryFile images, labels;
  images.append(both.substr(0, both.size() - length));
  labels.append(both.substr(both.size() - length));
  TableOptions options;
  options.label_required = (flags & 1) != 0;
  if ((flags & 4) != 0) options.task = "task";
  if ((flags & 8) != 0) options.drop = {"f2"};
  if ((flags & 16) != 0) options.features = {"f3", "f1"};
  std::vector<detail::InputFile> files;
  files.push_back({images.path(), "a", (flags & 32) != 0, nullptr});
  if (length > 0) files.push_back({labels.path(), "b", false, nullptr});
  if ((flags & 64) != 0) files.push_back({images.path(), "c", true, nullptr});
  accepts([&] { check_samples(detail::read_idx_files(files, options)); });
}

const Target idx_target("idx", fuzz_idx);

}  // namespace
}  // namespace coterie::fuzz
