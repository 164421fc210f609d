// Records of interrupted searches, behind checksums that are right: a byte for a number, the last byte for the score and for how many
// records there are.
#include "coterie/io/search_journal.hpp"

#include "records.hpp"

namespace coterie::fuzz {
namespace {

void fuzz_search_journal(Bytes bytes) {
  static const Grid grid = parse_grid({"0.5,2", "0,0.3max,inf", "1,2", "cosine"});
  Choices choices(bytes);
  const std::uint8_t last = choices.byte();
  const SearchShape shape{grid, last % 2 == 0 ? Score::accuracy : Score::log_loss, {2, 2, 3}};
  const std::size_t records = 1 + last / 2 % 3;
  const std::string path = write_scratch("search-journal", "");
  write_records(path, choices.rest(), records);
  accepts([&] {
    const Journal journal(path, "run", true);
    const std::map<RowKey, KnownRow> rows = decode_search(journal, shape);
    require(rows.size() <= records, "records are not made up");
    for (const auto& [key, row] : rows) {
      require(key.fold < 3 && key.point.C < 2 && key.point.lambda < 3 && key.point.norm < 2,
              "rows are of the grid");
      require(row.scores.values.cols() == (key.fold == 2 ? 3 : 2), "rows fit their fold");
      require(!row.scores.values.array().isInf().any(), "scores are numbers");
    }
  });
}

const Target search_journal_target("search_journal", fuzz_search_journal);

}  // namespace
}  // namespace coterie::fuzz
