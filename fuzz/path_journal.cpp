// Records of interrupted paths, behind checksums that are right: a byte for a number, the last byte for how many records there are.
#include "coterie/io/path_journal.hpp"

#include "coterie/mtmkl/problem.hpp"
#include "records.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_path_journal(Bytes bytes) {
  static const PathShape shape{{Vector::Ones(3), Vector::Constant(2, 4)}, complete_graph(2), 2, 2};
  Choices choices(bytes);
  const std::size_t records = 1 + choices.byte() % 3;
  const std::string path = write_scratch("path-journal", "");
  write_records(path, choices.rest(), records);
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
