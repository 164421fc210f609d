#include "samples.hpp"

#include <algorithm>

#include "coterie/io/text.hpp"
#include "coterie/io/write_table.hpp"

namespace coterie::fuzz {
namespace {

// One that a user can type and see.
std::string word(Bytes line, std::size_t number) {
  for (; number > 0 && !line.empty(); --number)
    line.remove_prefix(std::min(line.find_first_of(",\t "), line.size() - 1) + 1);
  line = line.substr(0, line.find_first_of(",\t\r "));
  return detail::describe_bad_name(line).empty() ? std::string(line) : "f2";
}

void check_codes(const std::vector<Index>& codes, const std::vector<std::string>& names,
                 Index rows) {
  require(codes.empty() || std::ssize(codes) == rows, "there is a code for every row");
  for (const Index code : codes)
    require(code >= 0 && code < std::ssize(names), "codes stand for names");
  for (const std::string& name : names)
    require(detail::describe_bad_name(name).empty(), "names are printable");
}

}  // namespace

TableOptions choose_options(std::uint8_t flags, Bytes file) {
  const Bytes line = file.substr(0, file.find('\n'));
  TableOptions options;
  if (line.empty()) return options;
  if ((flags & 1) != 0) options.label_required = false;
  if ((flags & 2) != 0) options.label = word(line, 0);
  if ((flags & 4) != 0) options.task = word(line, 1);
  if ((flags & 8) != 0) options.drop = {word(line, 2)};
  if ((flags & 16) != 0) options.features = {word(line, 3), word(line, 1)};
  if ((flags & 32) != 0) options.features.emplace_back("f3");
  return options;
}

void check_samples(const Samples& samples) {
  const Index rows = samples.X.rows();
  require(rows > 0 && samples.X.cols() > 0, "there are rows and features");
  require(std::ssize(samples.features) == samples.X.cols(), "every feature has a name");
  require(samples.X.allFinite(), "numbers are finite");
  check_codes(samples.label, samples.labels, rows);
  check_codes(samples.task, samples.tasks, rows);
  for (const std::string& name : samples.features)
    require(detail::describe_bad_name(name).empty(), "names are printable");
}

void check_csv_round_trip(const Samples& samples) {
  const std::string path = scratch_folder() + "/again.csv";
  if (!accepts([&] { write_csv(samples, path); })) return;
  TableOptions options;
  options.label_required = !samples.label.empty();
  const Samples again = read_samples({path}, options);
  require(again == samples, "samples are the same after they were written and read");
}

}  // namespace coterie::fuzz
