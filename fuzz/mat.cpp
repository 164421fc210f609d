// MATLAB 5 files, from the check of their structure through libmatio, which runs in this process as it does in the program.
//
// MATLAB 7.3 files are left out. They are read by a process of their own, which may crash and be stopped as it likes: to start one for
// every input would be slow and show nothing. tests/formats_test.py has some of them.
#include "coterie/io/input_file.hpp"
#include "coterie/io/mat5_check.hpp"
#include "coterie/io/mat_source.hpp"
#include "coterie/io/memory_file.hpp"
#include "samples.hpp"

namespace coterie::fuzz {
namespace {

bool is_mat73(Bytes file) {
  if (file.size() < detail::mat_header_size) return false;
  const bool swap = file[detail::mat_header_size - 2] == 'M';
  return file[detail::mat_header_size - (swap ? 4 : 3)] == 2;
}

void fuzz_mat(Bytes bytes) {
  Choices choices(bytes);
  const std::uint8_t flags = choices.byte();
  const Bytes contents = choices.rest();
  detail::MemoryFile file;
  file.append(contents);
  if (contents.size() >= detail::mat_header_size)  // which the program looks at before
    accepts([&] { detail::check_mat5(file.descriptor(), "file.mat"); });
  if (is_mat73(contents)) return;
  TableOptions options;
  options.label_required = (flags & 1) == 0;
  if ((flags & 2) != 0) options.label = "L";
  if ((flags & 4) != 0) options.task = "group";
  if ((flags & 8) != 0) options.drop = {"f2"};
  if ((flags & 16) != 0) options.features = {"f2", "f1"};
  std::vector<detail::InputFile> files;
  files.push_back({file.path(), "a", (flags & 32) != 0, nullptr});
  if ((flags & 64) != 0) files.push_back({file.path(), "b", true, nullptr});
  accepts([&] { check_samples(detail::read_mat_files(files, options)); });
}

const Target mat_target("mat", fuzz_mat);

}  // namespace
}  // namespace coterie::fuzz
