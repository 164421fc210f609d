// Records of interrupted paths, behind checksums that are right: a byte for a number, the last byte for how many records there are.
#include "coterie/io/path_journal.hpp"

#include <limits>

#include "coterie/mtmkl/problem.hpp"
#include "target.hpp"

namespace coterie::fuzz {
namespace {

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
    if (first == 255) {
      const Bytes eight = bytes.substr(0, 8);
      out += eight;
      bytes.remove_prefix(eight.size());
      continue;
    }
    const double value = first >= 240 ? odd[first % std::size(odd)] : first;
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return out;
}

void fuzz_path_journal(Bytes bytes) {
  static const PathShape shape{{Vector::Ones(3), Vector::Constant(2, 4)}, complete_graph(2), 2, 2};
  Choices choices(bytes);
  const std::size_t records = 1 + choices.byte() % 3;
  const std::string path = write_scratch("path-journal", "");
  {
    Journal journal(path, "run", false);
    for (std::size_t k = 0; k < records; ++k)
      journal.append(numbers(choices.rest().substr(choices.rest().size() * k / records,
                                                   choices.rest().size() / records)));
  }
  accepts([&] {
    const Journal journal(path, "run", true);
    const KnownPath known = decode_path(journal, shape);
    require(known.points.size() + known.resamples.size() <= records, "records are not made up");
    for (const auto& [lambda, point] : known.points) {
      require(point.lambda == lambda && point.fit.theta.rows() == 2, "points fit the problem");
      require(std::ssize(point.fit.alpha) == 2 && point.fit.nu.rows() == 1,
              "points fit the problem");
    }
  });
}

const Target path_journal_target("path_journal", fuzz_path_journal);

}  // namespace
}  // namespace coterie::fuzz
