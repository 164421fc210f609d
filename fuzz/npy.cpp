// NumPy's arrays, plain or gzip: features with labels and tasks in files of their own, and matrices. The last byte: options; the two before:
// how much of the rest is the file of labels, and how much of it that of tasks.
#include <algorithm>

#include "coterie/io/input_file.hpp"
#include "coterie/io/npy_file.hpp"
#include "samples.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_npy(Bytes bytes) {
  Choices choices(bytes);
  const std::uint8_t flags = choices.byte();
  const std::size_t of_labels = choices.byte(), of_tasks = choices.byte();
  Bytes rest = choices.rest();
  const auto cut = [&rest](std::size_t wanted) {
    const std::size_t length = std::min(wanted, rest.size());
    const Bytes end = rest.substr(rest.size() - length);
    rest.remove_suffix(length);
    return end;
  };
  TableOptions options;
  options.label_required = (flags & 1) != 0;
  if (of_tasks > 0) options.task = write_scratch("t.npy", cut(of_tasks));
  if (of_labels > 0) options.label = write_scratch("y.npy", cut(of_labels));
  if ((flags & 2) != 0) options.drop = {"f2"};
  if ((flags & 4) != 0) options.features = {"f3", "f1"};
  const std::string path = write_scratch("X.npy", rest);
  std::vector<detail::InputFile> files = {{path, "a", (flags & 8) != 0, nullptr, 1e8}};
  if ((flags & 16) != 0) files.push_back({path, "c", true, nullptr, 1e8});
  accepts([&] { check_samples(detail::read_npy_files(files, options)); });
  accepts([&] {
    const Matrix K = detail::NpyReader(path).numbers(1e8);
    require(K.size() > 0 && K.allFinite(), "a matrix has values, all finite");
  });
}

const Target npy_target("npy", fuzz_npy);

}  // namespace
}  // namespace coterie::fuzz
